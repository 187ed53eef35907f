package engine

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Idle workers are reused, and a bounded number of them is kept. All workers end after Close,
// including those that are still busy.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w workers
		var done atomic.Int64
		release := make(chan struct{})
		work := func(job) {
			<-release
			done.Add(1)
		}
		for range 3 * maxIdle {
			w.do(job{}, work)
		}
		synctest.Wait()
		for range 3 * maxIdle {
			release <- struct{}{}
		}
		synctest.Wait()
		if got := len(w.idle); got != maxIdle || done.Load() != 3*maxIdle {
			t.Fatalf("%d workers are idle after %d jobs; want %d after all %d", got, done.Load(), maxIdle, 3*maxIdle)
		}
		last := w.idle[maxIdle-1]
		w.do(job{}, work)
		synctest.Wait()
		if got := len(w.idle); got != maxIdle-1 {
			t.Errorf("%d workers are idle while one works; want %d", got, maxIdle-1)
		}
		release <- struct{}{}
		synctest.Wait()
		if got := w.idle[len(w.idle)-1]; got != last {
			t.Error("the job went to another worker than the one that was busy last")
		}
		w.do(job{}, work)
		w.close()
		close(release) // the bubble ends only when all workers have ended
	})
}
