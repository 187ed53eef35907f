package rule_test

import (
	"syscall"
	"testing"
	"time"
)

// spent returns the processor time of this process. It shows the cost of a text on a busy machine
// too.
func spent(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
