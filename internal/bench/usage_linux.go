package bench

import (
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// canMeasure reports whether memory and CPU of another process can be read here.
const canMeasure = true

// memoryOf returns what a process has in memory now, and the most it had, in bytes.
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

// cpuOf returns the CPU time that a process has used, in steps of 10 ms.
func cpuOf(pid int) (time.Duration, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	s, err := p.Stat()
	return seconds(s.CPUTime()), err
}

// cpuOfTree returns the CPU time that a process and its children have used. Children that have ended
// count.
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

// cpuOfAll returns two CPU times since some time in the past: of all programs of the machine, with what
// the machine's host gave to others instead, and of this process with its children that have ended.
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

// sleepUntil waits more exactly than time.Sleep, whose timers may fire a millisecond late in a process
// that is otherwise idle.
func sleepUntil(at time.Time) {
	for left := time.Until(at); left > 0; left = time.Until(at) {
		ts := syscall.NsecToTimespec(int64(left))
		syscall.Nanosleep(&ts, nil) // woken early: goes round again
	}
}
