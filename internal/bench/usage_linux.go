package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// canMeasure says whether memory and CPU of another process can be read here.
const canMeasure = true

// memoryOf returns what a process has in memory now, and the most it had, in bytes.
func memoryOf(pid int) (now, peak int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "VmRSS" && name != "VmHWM" {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/%d/status: %s: %w", pid, name, err)
		}
		if name == "VmRSS" {
			now = kib << 10
		} else {
			peak = kib << 10
		}
	}
	return now, peak, nil
}

// cpuOf returns the CPU time that a process has used, in steps of 10 ms.
func cpuOf(pid int) (time.Duration, error) {
	s, err := statOf(pid)
	return s.own, err
}

// cpuOfTree returns the CPU time that a process and its children have used, also
// those that have ended.
func cpuOfTree(pid int) (time.Duration, error) {
	s, err := statOf(pid)
	if err != nil {
		return 0, err
	}
	sum := s.own + s.ended
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		child, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // no process
		}
		if s, err := statOf(child); err == nil && s.parent == pid { // else it has just ended
			sum += s.own + s.ended
		}
	}
	return sum, nil
}

// A stat is what Linux says of a process.
type stat struct {
	parent     int
	own, ended time.Duration // CPU time, and that of children that ended
}

func statOf(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	// The name, in brackets, may hold anything; ppid is field 4 of
	// proc_pid_stat(5); utime, stime, cutime and cstime are 14 to 17, in ticks, a
	// hundred a second on every Linux of ours.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("/proc/%d/stat has %d fields after the name", pid, len(fields))
	}
	var values [5]int64
	for i, field := range []int{1, 11, 12, 13, 14} {
		if values[i], err = strconv.ParseInt(fields[field], 10, 64); err != nil {
			return stat{}, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
	}
	const tick = 10 * time.Millisecond
	return stat{parent: int(values[0]), own: time.Duration(values[1]+values[2]) * tick, ended: time.Duration(values[3]+values[4]) * tick}, nil
}

// cpuOfAll returns the CPU time that all programs of the machine have used, and
// what the machine's host gave to others instead, since some time in the past;
// and of that what is ours, with processes of ours that have ended.
func cpuOfAll() (all, ours time.Duration, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	// cpu user nice system idle iowait irq softirq steal …, in ticks: proc_stat(5).
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	for _, i := range []int{1, 2, 3, 8} {
		ticks, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/stat: %w", err)
		}
		all += time.Duration(ticks) * 10 * time.Millisecond
	}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			return 0, 0, err
		}
		ours += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return all, ours, nil
}

// sleepUntil waits more exactly than time.Sleep, whose timers may fire a
// millisecond late in a process that is otherwise idle.
func sleepUntil(at time.Time) {
	for {
		left := time.Until(at)
		if left <= 0 {
			return
		}
		ts := syscall.NsecToTimespec(int64(left))
		syscall.Nanosleep(&ts, nil) // woken early: goes round again
	}
}
