package commit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/locks"
)

// An Op is a part of a transaction that belongs together: one request's tasks, the outcome of
// one attempt, or one change by hand. What its methods but Done return does not change while it
// is in a lane.
type Op interface {
	comparable
	Weight() int    // how many rows it writes, at least 1
	Bytes() int     // about how large its tasks' bodies are
	Presses() bool  // somebody waits for what it does; all else gathers for a moment
	Happened() bool // it is the outcome of an attempt: it is kept until it is written
	OnlyAdds() bool // it adds tasks, and a store that has no room for them may have room for all else
	Done(err error) // says what became of it; not called where Happened, unless the lane gives it up
}

// A Host is what a lane works for: its engine. Methods are called by one goroutine.
type Host[O Op] interface {
	// Admit returns those of ops that may still be written, in the memory of ops, and sees to
	// the others.
	Admit(ops []O) []O

	// Write commits ops as one transaction, and tells everybody concerned if that succeeds. On an
	// error nothing was written, except after ErrUnknown.
	Write(ctx context.Context, ops []O) error

	// Fenced finds out, after ErrFenced, which shards were lost, so that Admit leaves out what is of
	// them. It is false if that cannot be found out.
	Fenced(ctx context.Context) bool

	// Settle finds out, after ErrUnknown, what the last Write has written, and returns those of
	// the outcomes among ops that are to be written again. After an error it is asked again.
	Settle(ctx context.Context, ops []O) (again []O, err error)

	// Health is told when the lane falls ill (err says why), and when it is well again (nil).
	Health(err error)

	// Moved is told when less waits than before, or a commit has ended.
	Moved()

	// Probe writes something that harms nobody, to find out whether the store takes anything.
	Probe(ctx context.Context) error

	// GiveUp is told of outcomes that are not written because a stop waits no longer.
	GiveUp(ops []O)

	// Apart is told of an outcome that the store does not take although it takes others. It is
	// tried again, alone, after a while.
	Apart(o O, err error, wait time.Duration)
}

// Options of a lane.
type Options struct {
	Batch int // rows in one transaction, but for one larger op
	Most  int // rows that wait, above which outcomes wait to be put

	// Gather is how long outcomes that nobody waits for are kept at most, after a transaction
	// with such outcomes, so that the next has more of them. A transaction costs a server as much
	// as a hundred outcomes; a death repeats the attempts of so much longer.
	Gather time.Duration

	// Patience ends when a stop waits no longer for a store that takes nothing.
	Patience context.Context
}

// MaxBytes bounds the bodies in one transaction, but for one larger op.
const MaxBytes = 8 << 20

// A Lane commits ops in groups, in the order in which they were put. Make one with New, and Run it. Its methods are
// safe for concurrent use.
type Lane[O Op] struct {
	o    Options
	host Host[O]
	work *Work

	mu      locks.Mutex
	room    sync.Cond // signalled when less waits
	queue   []O
	weight  int // rows of queue
	pressed int // ops of queue that press
	gather  time.Duration
	took    time.Time // when outcomes were taken last that nobody waited for
	flushed bool      // nothing gathers any more
	retry   bool      // what stands apart is to be tried now
	closed  bool
	hasty   bool  // a stop waits no longer: nothing waits for room
	ill     error // why nothing can be written for the time being; only outcomes are taken in then
	wake    chan struct{}

	apart []*apart[O] // of the goroutine of Run, but for its length
	aside atomic.Int64

	unwell   atomic.Bool  // ill is not nil
	happened atomic.Int64 // outcomes in queue
	base     time.Time    // on the monotonic clock
	writing  atomic.Int64 // when the present group was begun, ns after base; 0: there is none
	pause    time.Duration
}

// New returns a lane that works for host, and counts in work what is to be done.
func New[O Op](host Host[O], work *Work, o Options) *Lane[O] {
	l := &Lane[O]{o: o, host: host, work: work, gather: o.Gather, wake: make(chan struct{}, 1), base: time.Now().Add(-1)}
	locks.Name(&l.mu, "lane")
	locks.Name(&work.mu, "work")
	l.room.L = &l.mu
	context.AfterFunc(o.Patience, l.hurry)
	return l
}

// Do commits an op, and returns when its Done was called with what that says: done is where
// Done puts it.
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

// Put queues an op. The error says why nothing is written; an outcome is refused only by a lane
// that is closed, or that is full when a stop waits no longer. Outcomes wait for room.
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
		l.rouse()
	}
	return nil
}

// rouse makes take look again.
func (l *Lane[O]) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take appends the next group to buf. It waits for the first op, and for others as long as nobody
// waits for them. It returns none when an op that stands apart is to be tried again; over says that the lane is
// closed and empty.
func (l *Lane[O]) take(buf []O) (ops []O, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for ; ; now = time.Now() {
		wait := l.untilReady()
		if wait <= 0 {
			break
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
		await(l.wake, wait)
		l.mu.Lock()
	}
	weight, bytes, n := 0, 0, 0
	for ; n < len(l.queue); n++ {
		o := l.queue[n]
		if n > 0 && (weight+o.Weight() > l.o.Batch || bytes+o.Bytes() > MaxBytes) {
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

// untilReady is how long the queue should gather yet; 0: it should be taken.
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

// await waits for a signal, for so long at most.
func await(signal <-chan struct{}, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-signal:
	case <-timer.C:
	}
}

// sicken refuses what waits, but for outcomes, and what comes, until it is told otherwise with nil.
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

// Ill reports whether nothing can be written for the time being.
func (l *Lane[O]) Ill() bool { return l.unwell.Load() }

// Pace sets Options.Gather.
func (l *Lane[O]) Pace(gather time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gather = gather
}

// Behind reports whether so many outcomes wait that no more should come.
func (l *Lane[O]) Behind() bool { return l.happened.Load() >= int64(l.o.Most/2) }

// Writing is how long the present group has taken, with all its tries; 0: there is none.
func (l *Lane[O]) Writing() time.Duration {
	if began := l.writing.Load(); began != 0 {
		return time.Since(l.base) - time.Duration(began)
	}
	return 0
}

// Waiting returns how many rows wait.
func (l *Lane[O]) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.weight
}

// Apart returns how many outcomes the store does not take.
func (l *Lane[O]) Apart() int { return int(l.aside.Load()) }

// Hasten ends the gathering, for a stop: what waits is written at once from now on. What stands apart is tried now, and
// again soon.
func (l *Lane[O]) Hasten() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushed, l.retry = true, true
	l.rouse()
}

// stops reports whether Hasten was called.
func (l *Lane[O]) stops() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flushed
}

// Close ends Run when what is queued has been written, or given up.
func (l *Lane[O]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.room.Broadcast()
	l.rouse()
}

// hurry makes outcomes wait no longer for room.
func (l *Lane[O]) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hasty = true
	l.room.Broadcast()
	l.rouse()
}

// Work counts what is to be done before a stop is over: ops in lanes, and what is about to become one. The
// zero value is ready.
type Work struct {
	mu   locks.Mutex
	none chan struct{} // closed when nothing is open; nil: nobody waits
	open int
}

// Expect notes that there is one thing more to do.
func (w *Work) Expect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
}

// Finish notes that n things were done.
func (w *Work) Finish(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open -= n; w.open == 0 && w.none != nil {
		close(w.none)
		w.none = nil
	}
}

// Busy reports whether there is something to do.
func (w *Work) Busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open > 0
}

// Wait returns when there is nothing to do.
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
