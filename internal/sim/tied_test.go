//go:build linux && (amd64 || arm64) && !race

package sim

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// canTie says that this build can tie a process to its seed, if the system lets it.
const canTie = true

// runTied runs a command in which all chance comes from a seed, and nothing depends on real time.
// Two things in the Go runtime would differ each time.
//
// First, the runtime seeds its own random numbers, which order maps, selects and simultaneous
// timers, with 16 bytes that the kernel leaves beside the arguments. The process is stopped at its
// start, and bytes from the seed are written there.
//
// Second, the runtime interrupts a goroutine that has run for ten real milliseconds; on a busy
// machine that can be any goroutine. The thread that interrupts is the first that the runtime
// starts, and its other duties do not matter here. It is stopped until the process ends.
func runTied(cmd *exec.Cmd, seed uint64) error {
	runtime.LockOSThread() // the one that starts it is the one that holds it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: %w", errUntied, err)
	}
	monitor, err := tie(cmd.Process.Pid, newDice(seed, "runtime"))
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return fmt.Errorf("%w: %w", errUntied, err)
	}
	for status := syscall.WaitStatus(0); ; {
		_, err := syscall.Wait4(monitor, &status, syscall.WALL, nil)
		if err != syscall.EINTR && !(err == nil && status.Stopped()) {
			return cmd.Wait()
		}
	}
}

// tie writes the seed into a process that is about to start, stops the first thread that it starts,
// and lets the process go on.
func tie(pid int, d *dice) (monitor int, err error) {
	if err := stopped(pid); err != nil {
		return 0, err
	}
	at, err := randomBytes(pid)
	if err != nil {
		return 0, err
	}
	seed := binary.LittleEndian.AppendUint64(nil, d.next()|1) // one that is 0 is not taken
	seed = binary.LittleEndian.AppendUint64(seed, d.next()|1)
	if _, err := syscall.PtracePokeData(pid, at, seed); err != nil {
		return 0, fmt.Errorf("write the seed: %w", err)
	}
	if err := syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACECLONE); err != nil {
		return 0, fmt.Errorf("ask to be told of threads: %w", err)
	}
	if err := syscall.PtraceCont(pid, 0); err != nil {
		return 0, fmt.Errorf("let it begin: %w", err)
	}
	if err := stopped(pid); err != nil {
		return 0, err
	}
	thread, err := syscall.PtraceGetEventMsg(pid)
	if err != nil {
		return 0, fmt.Errorf("ask which thread it started: %w", err)
	}
	return int(thread), syscall.PtraceDetach(pid)
}

// stopped waits until a process stands still.
func stopped(pid int) error {
	for status := syscall.WaitStatus(0); ; {
		switch _, err := syscall.Wait4(pid, &status, syscall.WALL, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return fmt.Errorf("wait for process %d: %w", pid, err)
		case !status.Stopped():
			return fmt.Errorf("process %d has ended", pid)
		default:
			return nil
		}
	}
}

// randomBytes returns where the kernel left random bytes for a process.
func randomBytes(pid int) (uintptr, error) {
	const random = 25 // AT_RANDOM
	aux, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return 0, err
	}
	for ; len(aux) >= 16; aux = aux[16:] {
		if binary.LittleEndian.Uint64(aux) == random {
			return uintptr(binary.LittleEndian.Uint64(aux[8:])), nil
		}
	}
	return 0, fmt.Errorf("process %d was given no random bytes", pid)
}
