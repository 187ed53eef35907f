package bench

import (
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// canMeasure reports whether memory and CPU time of another process can be read.
const canMeasure = true

// memoryOf returns the present and the largest memory of a process, in bytes.
func memoryOf(pid int) (now, peak int64, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0, err
	}
	s, err := p.NewStatus()
	return int64(s.VmRSS), int64(s.VmHWM), err
}

// seconds is a duration of so many seconds.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// cpuOf returns the CPU time of a process, in steps of 10 ms.
func cpuOf(pid int) (time.Duration, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	s, err := p.Stat()
	return seconds(s.CPUTime()), err
}

// cpuOfTree returns the CPU time of a process and its children, including those that have ended.
func cpuOfTree(pid int) (sum time.Duration, err error) {
	if _, err := procfs.NewProc(pid); err != nil {
		return 0, err
	}
	all, err := procfs.AllProcs()
	for _, p := range all {
		if s, err := p.Stat(); err == nil && (s.PID == pid || s.PPID == pid) { // else it has just ended
			sum += seconds(s.CPUTime()) + time.Duration(s.CUTime+s.CSTime)*10*time.Millisecond
		}
	}
	return sum, err
}

// writtenBy returns the bytes that a process and its children have sent to disks.
func writtenBy(pid int) (sum int64) {
	all, err := procfs.AllProcs()
	if err != nil {
		return 0
	}
	for _, p := range all {
		s, err := p.Stat()
		if err != nil || s.PID != pid && s.PPID != pid {
			continue
		}
		if io, err := p.IO(); err == nil { // else it has ended, or is another user's
			sum += int64(io.WriteBytes) - io.CancelledWriteBytes
		}
	}
	return sum
}

// cpuOfAll returns two CPU times since some time in the past: of all programs, including time that
// the host gave to other machines, and of this process with its ended children.
func cpuOfAll() (all, ours time.Duration, err error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, 0, err
	}
	s, err := fs.Stat()
	if err != nil {
		return 0, 0, err
	}
	all = seconds(s.CPUTotal.User + s.CPUTotal.Nice + s.CPUTotal.System + s.CPUTotal.Steal)
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			return 0, 0, err
		}
		ours += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return all, ours, nil
}

// cpuModel is the model of the first CPU; empty: unknown.
func cpuModel() string {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return ""
	}
	if all, err := fs.CPUInfo(); err == nil && len(all) > 0 {
		return all[0].ModelName
	}
	return ""
}

// sleepUntil is more exact than time.Sleep, whose timers may fire a millisecond late in an
// otherwise idle process.
func sleepUntil(at time.Time) {
	for left := time.Until(at); left > 0; left = time.Until(at) {
		ts := syscall.NsecToTimespec(int64(left))
		syscall.Nanosleep(&ts, nil) // may return early
	}
}
