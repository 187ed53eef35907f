package commit

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/internal/sleep"
)

// An Op is an indivisible part of a transaction: the tasks of one request, the outcome of one
// attempt, or one change by a caller. The results of all methods but Done stay the same while the
// op is in a lane.
type Op interface {
	comparable
	Weight() int    // number of rows, at least 1
	Bytes() int     // approximate size of its bodies and of the data of handlers
	Presses() bool  // somebody waits for it; other ops gather for a moment
	Happened() bool // it is the outcome of an attempt, and is kept until it is written
	OnlyAdds() bool // it only adds tasks; a full store may still accept other ops
	Done(err error) // receives the result; not called if Happened, unless the lane gives the op up
}

// A Host is the engine of a lane. Its methods are called by one goroutine.
type Host[O Op] interface {
	// Admit returns the ops that may still be written, in the memory of ops, and handles the
	// others.
	Admit(ops []O) []O

	// Write commits ops as one transaction and, if that succeeds, reports it to everybody
	// concerned. After an error nothing was written, except after ErrUnknown.
	Write(ctx context.Context, ops []O) error

	// Fenced reads, after ErrFenced, which shards were lost; Admit then rejects their ops. It
	// returns false if that cannot be read.
	Fenced(ctx context.Context) bool

	// Settle reads, after ErrUnknown, which outcomes the last Write has written, and returns those
	// to write again. After an error it is called again.
	Settle(ctx context.Context, ops []O) (again []O, err error)

	// Health is called when the lane cannot write any more (err says why), and when it can again
	// (nil).
	Health(err error)

	// Moved is called when fewer rows wait than before, or a commit has ended.
	Moved()

	// Probe writes something harmless, to learn whether the store accepts anything.
	Probe(ctx context.Context) error

	// GiveUp is called for outcomes that are not written because a stop gives up waiting.
	GiveUp(ops []O)

	// Apart is called for an outcome that the store rejects while it accepts others. The lane
	// retries it alone after wait.
	Apart(o O, err error, wait time.Duration)
}

// Options of a lane.
type Options struct {
	Batch int // rows of one transaction; a larger op is not split
	Most  int // waiting rows above which Put of an outcome blocks

	// Gather is how long outcomes that nobody waits for may gather after a transaction with such
	// outcomes. For a database server a transaction costs as much as a hundred outcomes. A crash
	// repeats the attempts of that time.
	Gather time.Duration

	// Patience ends when a stop gives up waiting for a store that accepts nothing.
	Patience context.Context
}

// maxBytes bounds the bodies and the data of one transaction; a larger op is not split.
const maxBytes = 8 << 20

// A Lane commits ops in groups, in the order of Put. Make it with New, then call Run. Its methods
// are safe for concurrent use.
type Lane[O Op] struct {
	o    Options
	host Host[O]
	work *Work

	mu      locks.Mutex
	room    sync.Cond // signalled when fewer rows wait
	queue   []O
	weight  int // rows of queue
	pressed int // ops of queue that press
	gather  time.Duration
	took    time.Time // when a group without waiting callers was last taken
	flushed bool      // gathering is over
	retry   bool      // isolated ops are to be retried now
	closed  bool
	hasty   bool        // a stop gives up waiting: Put does not block
	ill     error       // why nothing can be written at present; only outcomes are accepted then
	wake    sleep.Waker // makes take check its conditions again

	apart []*apart[O] // isolated ops, the next to retry first; owned by the goroutine of Run, except for the length
	aside atomic.Int64

	unwell   atomic.Bool  // ill is not nil
	happened atomic.Int64 // outcomes in queue
	base     time.Time    // on the monotonic clock
	writing  atomic.Int64 // when the present group began, ns after base; 0: none
	pause    time.Duration
}

// New returns a lane of host that counts its ops in work.
func New[O Op](host Host[O], work *Work, o Options) *Lane[O] {
	l := &Lane[O]{o: o, host: host, work: work, gather: o.Gather, wake: sleep.NewWaker(), base: time.Now().Add(-1)}
	locks.Name(&l.mu, "lane")
	locks.Name(&work.mu, "work")
	l.room.L = &l.mu
	context.AfterFunc(o.Patience, l.hurry)
	return l
}

// Do commits an op and returns its result, which Done sends to done.
func (l *Lane[O]) Do(ctx context.Context, o O, done <-chan error) error {
	if err := l.Put(o); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Put queues an op. The error says why it is rejected. An outcome is rejected only by a closed
// lane, or by a full lane when a stop gives up waiting; otherwise Put blocks until there is room.
func (l *Lane[O]) Put(o O) error {
	happened, presses, weight := o.Happened(), o.Presses(), o.Weight()
	l.mu.Lock()
	defer l.mu.Unlock()
	for happened && l.weight >= l.o.Most && !l.closed && !l.hasty {
		l.room.Wait()
	}
	switch {
	case l.closed, happened && l.weight >= l.o.Most:
		return bellman.ErrClosed
	case l.ill != nil && !happened:
		return l.ill
	}
	l.queue = append(l.queue, o)
	l.weight += weight
	l.work.Expect()
	if happened {
		l.happened.Add(1)
	}
	if presses {
		l.pressed++
	}
	if presses || len(l.queue) == 1 || len(l.queue) == l.o.Batch {
		l.wake.Wake()
	}
	return nil
}

// take appends the next group to buf. It waits for the first op, and gathers others while no caller
// waits. It returns no op when an isolated op is to be retried. over means that the lane is closed
// and empty.
func (l *Lane[O]) take(buf []O) (ops []O, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for yielded := false; ; now = time.Now() {
		wait := l.untilReady()
		if wait <= 0 && (yielded || l.closed) {
			break
		}
		if wait <= 0 {
			// On a busy machine others are about to put their ops, and one transaction costs less
			// than two.
			yielded = true
			l.mu.Unlock()
			runtime.Gosched()
			l.mu.Lock()
			continue
		}
		if l.retry {
			for _, a := range l.apart {
				a.again = now
			}
			l.retry = false
		}
		if len(l.apart) > 0 {
			again := l.apart[0].again.Sub(now)
			if again <= 0 || l.hasty {
				return buf, false
			}
			wait = min(wait, again)
		}
		l.mu.Unlock()
		sleep.UntilWoken(context.Background(), wait, l.wake)
		l.mu.Lock()
	}
	weight, bytes, n := 0, 0, 0
	for ; n < len(l.queue); n++ {
		o := l.queue[n]
		if n > 0 && (weight+o.Weight() > l.o.Batch || bytes+o.Bytes() > maxBytes) {
			break
		}
		weight, bytes = weight+o.Weight(), bytes+o.Bytes()
		if o.Happened() {
			l.happened.Add(-1)
		}
		if o.Presses() {
			l.pressed--
		} else {
			l.took = now
		}
	}
	buf = append(buf, l.queue[:n]...)
	l.queue = slices.Delete(l.queue, 0, n)
	l.weight -= weight
	l.room.Broadcast()
	return buf, n == 0
}

// untilReady returns how long the queue should still gather; 0: take it now.
func (l *Lane[O]) untilReady() time.Duration {
	switch {
	case l.closed && (len(l.queue) > 0 || len(l.apart) == 0):
		return 0
	case l.pressed > 0, l.flushed && len(l.queue) > 0, l.weight >= l.o.Batch:
		return 0
	case len(l.queue) == 0:
		return time.Hour
	}
	return l.gather - time.Since(l.took)
}

// sicken rejects waiting and new ops, except outcomes, until it is called with nil.
func (l *Lane[O]) sicken(err error) {
	if err == nil && !l.unwell.Load() {
		return
	}
	l.mu.Lock()
	was := l.ill
	l.ill = err
	l.unwell.Store(err != nil)
	var refused []O
	if err != nil {
		kept := l.queue[:0]
		for _, o := range l.queue {
			if o.Happened() {
				kept = append(kept, o)
				continue
			}
			l.weight -= o.Weight()
			if o.Presses() {
				l.pressed--
			}
			refused = append(refused, o)
		}
		clear(l.queue[len(kept):])
		l.queue = kept
		l.room.Broadcast()
	}
	l.mu.Unlock()
	for _, o := range refused {
		o.Done(err)
	}
	l.work.Finish(len(refused))
	if (was == nil) != (err == nil) {
		l.host.Health(err)
	}
}

// Ill reports whether the lane cannot write at present.
func (l *Lane[O]) Ill() bool { return l.unwell.Load() }

// Pace sets Options.Gather.
func (l *Lane[O]) Pace(gather time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gather = gather
}

// Behind reports whether so many outcomes wait that no more attempts should start.
func (l *Lane[O]) Behind() bool { return l.happened.Load() >= int64(l.o.Most/2) }

// Writing returns how long the present group has taken, with its retries; 0: none.
func (l *Lane[O]) Writing() time.Duration {
	if began := l.writing.Load(); began != 0 {
		return time.Since(l.base) - time.Duration(began)
	}
	return 0
}

// Waiting returns the number of waiting rows.
func (l *Lane[O]) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.weight
}

// Apart returns the number of isolated outcomes.
func (l *Lane[O]) Apart() int { return int(l.aside.Load()) }

// Hasten ends the gathering, for a stop: from now on groups are written at once, and isolated ops
// are retried now and at short intervals.
func (l *Lane[O]) Hasten() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushed, l.retry = true, true
	l.wake.Wake()
}

// stops reports whether Hasten was called.
func (l *Lane[O]) stops() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flushed
}

// Close ends Run when all queued ops have been written or given up.
func (l *Lane[O]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.room.Broadcast()
	l.wake.Wake()
}

// hurry makes Put stop blocking.
func (l *Lane[O]) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hasty = true
	l.room.Broadcast()
	l.wake.Wake()
}

// Work counts the work that must finish before a stop is over: ops in lanes, and work that will
// become ops. The zero value is ready.
type Work struct {
	mu   locks.Mutex
	none chan struct{} // closed when nothing is open; nil: nobody waits
	open int
}

// Expect adds one unit of work.
func (w *Work) Expect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
}

// Finish removes n units of work.
func (w *Work) Finish(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open -= n; w.open == 0 && w.none != nil {
		close(w.none)
		w.none = nil
	}
}

// Busy reports whether there is work.
func (w *Work) Busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open > 0
}

// Wait returns when there is no work.
func (w *Work) Wait() {
	w.mu.Lock()
	if w.open == 0 {
		w.mu.Unlock()
		return
	}
	if w.none == nil {
		w.none = make(chan struct{})
	}
	none := w.none
	w.mu.Unlock()
	<-none
}
