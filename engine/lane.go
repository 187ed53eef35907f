package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
)

// A lane is group commit: one goroutine that takes whatever operations are
// waiting, commits them in one transaction, and says so. The next batch gathers
// meanwhile. What somebody waits for is committed at once, and all else with it;
// outcomes that nobody waits for gather for a moment.
type lane struct {
	mu      sync.Mutex
	room    sync.Cond // signalled when the queue became shorter
	queue   []*op
	weight  int  // operations in queue
	pressed int  // ops in queue that somebody waits for
	open    int  // ops put or expected, and not yet dealt with
	flushed bool // nothing gathers any more
	closed  bool
	sick    error // why nothing can be written for the time being; only outcomes of attempts are queued then
	wake    chan struct{}
	batch   int // operations in one transaction

	// gather is how long outcomes that nobody waits for are kept at most, after a
	// transaction with such outcomes, so that the next has more of them. A transaction
	// costs a server as much as a hundred outcomes; a death repeats the attempts of so
	// much longer. A node that has a part of the shards takes longer for as many: a
	// database has as many transactions of all nodes as of one.
	gather time.Duration
	took   time.Time // when outcomes were taken last that nobody waited for

	unwell atomic.Bool // sick is not nil
}

// ailing reports whether nothing can be written for the time being.
func (l *lane) ailing() bool { return l.unwell.Load() }

const (
	maxBatch       = 512     // operations in one transaction, but for one larger request, and unless the store says otherwise
	maxBatchBytes  = 8 << 20 // of bodies, likewise
	maxUncommitted = 8192    // attempts wait with their outcome above this

	// gatherServer is lane.gather for stores that are servers, where one node has all
	// shards; gatherMost is the most that it may become.
	gatherServer = 20 * time.Millisecond
	gatherMost   = 100 * time.Millisecond
)

// An op is a part of a transaction that belongs together: one request's tasks,
// the outcome of one attempt, or one change by hand.
type op struct {
	adds   []bellman.Add
	flight *flight         // the outcome of an attempt, or a task set aside
	change *bellman.Change // by hand
	task   *bellman.Task   // that change is of
	own    bool            // the change is made only while the task's shard is this node's
	park   *item           // that change parks
	docs   []bellman.Doc
	audits []bellman.Audit
	done   chan error // told the outcome; nil: nobody waits
}

func (o *op) weight() int { return max(len(o.adds), 1) }

// presses reports whether somebody waits for what o does: who asked for it, or what
// follows from an attempt. Nothing of that changes while o is queued.
func (o *op) presses() bool {
	f := o.flight
	if f == nil {
		return true
	}
	to := &f.change.To
	soon := !to.State.Ended() && to.Look.Sub(to.Updated) < 2*gatherMost
	return soon || len(f.change.Follow) > 0 || f.task.OrderingKey != "" || f.item.urgent
}

// bytes is about how large what o adds is.
func (o *op) bytes() (n int) {
	for i := range o.adds {
		n += len(o.adds[i].Task.Body)
	}
	return n
}

func newLane() *lane {
	l := &lane{wake: make(chan struct{}, 1), batch: maxBatch}
	l.room.L = &l.mu
	return l
}

// add commits the tasks of one request; their Err and Existing are set when it
// returns nil.
func (l *lane) add(ctx context.Context, adds []bellman.Add) error {
	if len(adds) == 0 {
		return nil
	}
	return l.do(ctx, &op{adds: adds})
}

// do commits an op and waits for its outcome.
func (l *lane) do(ctx context.Context, o *op) error {
	o.done = make(chan error, 1)
	if err := l.put(o); err != nil {
		return err
	}
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pace sets gather for a part of all shards, which is not 0.
func (l *lane) pace(part float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gather = min(time.Duration(float64(gatherServer)/part), gatherMost)
}

// put queues an op. The error says why nothing is written; the outcome of an
// attempt is refused only by a lane that is closed.
func (l *lane) put(o *op) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for o.flight != nil && l.weight >= maxUncommitted && !l.closed {
		l.room.Wait()
	}
	switch {
	case l.closed:
		return bellman.ErrClosed
	case l.sick != nil && o.flight == nil:
		return l.sick
	}
	l.queue = append(l.queue, o)
	l.weight += o.weight()
	l.open++
	presses := o.presses()
	if presses {
		l.pressed++
	}
	if presses || len(l.queue) == 1 || len(l.queue) == l.batch {
		l.rouse()
	}
	return nil
}

// rouse makes take look again.
func (l *lane) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// ail refuses what waits in the queue, but for outcomes of attempts, and what
// comes, until it is told otherwise with nil.
func (l *lane) ail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sick = err
	l.unwell.Store(err != nil)
	if err == nil {
		return
	}
	kept := l.queue[:0]
	for _, o := range l.queue {
		if o.flight != nil {
			kept = append(kept, o)
			continue
		}
		l.weight -= o.weight()
		l.pressed--
		l.open--
		o.done <- err
	}
	clear(l.queue[len(kept):])
	l.queue = kept
	l.room.Broadcast()
}

// take appends the next batch's ops to buf. It waits for the first one, and for others
// as long as nobody waits for them; it returns none when the lane is closed and empty.
func (l *lane) take(buf []*op) []*op {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		wait := l.untilReady()
		if wait <= 0 {
			break
		}
		l.mu.Unlock()
		await(l.wake, wait)
		l.mu.Lock()
	}
	now, weight, bytes, n := time.Now(), 0, 0, 0
	for ; n < len(l.queue); n++ {
		o := l.queue[n]
		if n > 0 && (weight+o.weight() > l.batch || bytes+o.bytes() > maxBatchBytes) {
			break
		}
		weight, bytes = weight+o.weight(), bytes+o.bytes()
		if o.presses() {
			l.pressed--
		} else {
			l.took = now
		}
	}
	buf = append(buf, l.queue[:n]...)
	rest := copy(l.queue, l.queue[n:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
	l.weight -= weight
	l.room.Broadcast()
	return buf
}

// untilReady is how long the queue should gather yet, unless something presses.
func (l *lane) untilReady() time.Duration {
	switch {
	case l.closed, l.pressed > 0, l.flushed && len(l.queue) > 0, l.weight >= l.batch:
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

// expect notes that somebody is about to put another op, until finish.
func (l *lane) expect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
}

// finish notes that ops were dealt with.
func (l *lane) finish(ops int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open -= ops
	l.room.Broadcast()
}

// flush waits until everything put so far, and meanwhile, was dealt with. Nothing
// gathers any more.
func (l *lane) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushed = true
	l.rouse()
	for l.open > 0 {
		l.room.Wait()
	}
}

// close ends the lane when what is queued has been committed.
func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.room.Broadcast()
	l.rouse()
}

// uncommitted returns how many operations wait.
func (l *lane) uncommitted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.weight
}

// commitAll is the lane's goroutine: it returns when the lane is closed and
// empty. ctx must outlive it: what was done is written, however the engine ends.
func (e *Engine) commitAll(ctx context.Context) {
	var ops []*op
	var b batch
	for {
		ops = e.lane.take(ops[:0])
		if len(ops) == 0 {
			return
		}
		n := len(ops)
		for again := ops; len(again) > 0; {
			e.watch.commits(time.Now())
			again = e.commit(ctx, &b, again)
		}
		e.watch.idle()
		e.lane.finish(n)
	}
}

// commit writes ops as one transaction and tells everybody concerned. It
// returns what must be tried again, after the pause that the trouble calls for.
func (e *Engine) commit(ctx context.Context, b *batch, ops []*op) (again []*op) {
	if ops = e.recordable(ops); len(ops) == 0 {
		if e.lane.ailing() {
			e.recovered()
		}
		return nil
	}
	b.build(ops, e.leases)
	b.since = e.hand.taken()
	began := time.Now()
	err := e.store.Commit(ctx, &b.Batch)
	if err != nil {
		if again = e.trouble(ctx, b, ops, err); len(again) == 0 && e.lane.ailing() {
			e.recovered()
		}
		return again
	}
	b.pause = 0
	if e.lane.ailing() {
		e.recovered()
	}
	e.watch.committed(b.weight, time.Since(began))
	e.committed(b, ops)
	return nil
}

// A batch is a bellman.Batch under construction, kept for its memory.
type batch struct {
	bellman.Batch
	weight int
	since  uint64        // what the hand's takes was when it was sent
	pause  time.Duration // after the last try that failed; 0 after one that did not
}

func (b *batch) build(ops []*op, leases *leases) {
	clear(b.Adds)
	clear(b.Changes)
	b.Adds, b.Changes, b.Docs, b.Audits = b.Adds[:0], b.Changes[:0], b.Docs[:0], b.Audits[:0]
	b.weight = 0
	for _, o := range ops {
		b.weight += o.weight()
		b.Adds = append(b.Adds, o.adds...)
		if o.flight != nil {
			o.flight.change.Ordering = o.flight.task.Ordering()
			b.Changes = append(b.Changes, o.flight.change)
		}
		if o.change != nil {
			o.change.Ordering = o.task.Ordering()
			b.Changes = append(b.Changes, *o.change)
		}
		b.Docs = append(b.Docs, o.docs...)
		b.Audits = append(b.Audits, o.audits...)
	}
	b.Leases = leases.of(ops, b.Leases[:0])
}
