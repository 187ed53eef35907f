package engine

import (
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/engine/internal/locks"
)

// workers are the goroutines that make attempts. One that has nothing to do is
// kept for the next attempt, up to maxIdle of them: the stack that an HTTP client
// needs is grown once, and not again for each attempt.
type workers struct {
	mu     locks.Mutex
	idle   []chan job // the one that was busy last is at the end
	closed bool
}

// A job is an attempt to begin with.
type job struct {
	ticket dispatch.Ticket
	item   *item
}

// maxIdle bounds the memory of idle workers: some 16 KiB each.
const maxIdle = 64

// do has a worker call work: one that is idle, or a new one.
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

// rest makes a worker wait for its next job; false: it is not needed.
func (w *workers) rest(next chan job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.idle) == maxIdle {
		return false
	}
	w.idle = append(w.idle, next)
	return true
}

// close ends the workers, each as soon as it has nothing to do.
func (w *workers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, next := range w.idle {
		close(next)
	}
	w.idle = nil
}
