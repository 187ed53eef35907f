package rule_test

import (
	"syscall"
	"testing"
	"time"
)

// spent returns the processor time of this process: what judging a text costs,
// however busy the machine is.
func spent(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
