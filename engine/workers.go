package engine

import (
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/engine/internal/locks"
)

// workers are the goroutines that make attempts. Up to maxIdle idle goroutines are kept: an HTTP
// client needs a large stack, which is then grown only once. With a thousand addresses about as
// many attempts are in flight.
type workers struct {
	mu     locks.Mutex
	idle   []chan job // the last one was busy most recently
	closed bool
}

// A job is the first attempt of a worker.
type job struct {
	ticket dispatch.Ticket
	item   *item
}

// maxIdle bounds the memory of idle workers, about 8 KiB each. The collector shrinks the stacks of
// those that stay idle.
const maxIdle = 1024

// do calls work in an idle worker, or in a new one.
func (w *workers) do(j job, work func(job)) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		next := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		next <- j
		return
	}
	w.mu.Unlock()
	go func() {
		next := make(chan job, 1)
		for ok := true; ok; j, ok = <-next {
			work(j)
			if !w.rest(next) {
				return
			}
		}
	}()
}

// rest makes a worker wait for its next job. It returns false if the worker should end.
func (w *workers) rest(next chan job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.idle) == maxIdle {
		return false
	}
	w.idle = append(w.idle, next)
	return true
}

// close ends each worker as soon as it is idle.
func (w *workers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, next := range w.idle {
		close(next)
	}
	w.idle = nil
}
