package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/commit"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

// A committer writes outcomes of attempts and requests of callers in two lanes, and then updates
// the agenda, the watchers and the other nodes.
type committer struct {
	store    store.Store
	log      *slog.Logger
	clock    *clock.Clock
	leases   *cluster.Member
	agenda   *agenda
	ticker   *ticker
	watch    *watch
	after    afterCommit
	patience context.Context // ends when a stop gives up waiting for the store

	mostChanged int // tasks in one hint

	todo     commit.Work       // work that must finish before a stop is over
	outcomes *commit.Lane[*op] // attempts, and changes that need a lease
	asked    *commit.Lane[*op] // new tasks and changes by callers; the same lane if the store is this process's alone

	added          atomic.Int64     // tasks added since the start
	attempted      atomic.Int64     // attempts recorded since the start
	deferrals      atomic.Int64     // tasks being deferred
	follows        atomic.Int64     // follow-up tasks refused since the start
	refusedFollows figures.Refusals // the latest of them
	unrecorded     atomic.Bool      // a stop gave up the outcome of an attempt
	fullAt         atomic.Int64     // Unix ms of the last add that a full store rejected; 0: the log says that there is room
	fullSince      atomic.Int64     // Unix ms of the first of them; valid while fullAt is not 0
}

// room logs when a full store begins to reject new tasks, and when it has accepted them again for a
// minute: a store that is nearly full does both in turn.
func (c *committer) room(now int64, err error) {
	if errors.Is(err, bellman.ErrFull) {
		if c.fullAt.Load() == 0 {
			c.fullSince.Store(now) // before fullAt, which makes it valid
		}
		if c.fullAt.Swap(now) == 0 {
			c.log.Error("the store is full: new tasks are rejected", "err", err)
		}
		return
	}
	at := c.fullAt.Load()
	if at != 0 && now-at > time.Minute.Milliseconds() && c.fullAt.CompareAndSwap(at, 0) {
		c.log.Info("the store is no longer full")
	}
}

// full returns since when a full store has rejected new tasks; zero: it has not.
func (c *committer) full() time.Time {
	if c.fullAt.Load() == 0 {
		return time.Time{}
	}
	return time.UnixMilli(c.fullSince.Load())
}

// rejected returns how many outcomes the store rejects while it accepts others.
func (c *committer) rejected() int {
	n := c.outcomes.Apart()
	if c.asked != c.outcomes {
		n += c.asked.Apart()
	}
	return n
}

// afterCommit is the rest of the engine, as far as it goes on after a commit.
type afterCommit interface {
	bring(due []*item, now time.Time) // due tasks go to their lines
	passTurn(c chain, p passing)      // the turn in a chain may pass to another task
	reconcile(f *flight)              // the task of an attempt was changed meanwhile: merge both
	reread()                          // the loader reads again what the agenda has missed
	committed()                       // the numbers of tasks that wait have changed
	writable(well bool)               // the store accepts commits, or does not
	goOn()                            // fewer outcomes wait to be recorded
}

// run runs the lanes until they are closed.
func (c *committer) run(ctx context.Context, keep *sync.WaitGroup) {
	keep.Go(func() { c.outcomes.Run(ctx) })
	if c.asked != c.outcomes {
		keep.Go(func() { c.asked.Run(ctx) })
	}
}

func (c *committer) close() {
	c.outcomes.Close()
	c.asked.Close()
}

// recordable drops the outcomes of attempts whose shard was lost: its new owner makes those
// attempts again. An attempt that was handed over is recorded without a lease, so it is first
// merged with the task as the store has it: after a fail-over of the database an old version may
// exist again.
func (c *committer) recordable(ops []*op) []*op {
	kept := ops[:0]
	lost := 0
	for _, o := range ops {
		switch {
		case o.flight != nil && !o.flight.item.handedOver && !c.leases.Holds(o.flight.task.Shard):
			if o.flight.deferral {
				c.deferrals.Add(-1)
			} else {
				lost++
			}
			c.agenda.reload(o.flight.item)
		case o.flight != nil && o.flight.item.handedOver && !o.flight.merged:
			c.todo.Expect()
			go c.after.reconcile(o.flight)
		case o.own && !c.leases.Holds(o.change.To.Shard):
			o.Done(bellman.ErrFenced)
		default:
			kept = append(kept, o)
		}
	}
	if lost > 0 {
		c.log.Warn("outcomes of attempts are not recorded: their shards were lost while they were in flight", "attempts", lost)
	}
	clear(ops[len(kept):])
	return kept
}

// do commits a request and waits for the result. A change that needs a lease goes to the lane of
// outcomes.
func (c *committer) do(ctx context.Context, o *op) error {
	o.done = make(chan error, 1)
	lane := c.asked
	if o.own {
		lane = c.outcomes
	}
	return lane.Do(ctx, o, o.done)
}

// uncommitted returns how many rows wait for a commit.
func (c *committer) uncommitted() int {
	n := c.outcomes.Waiting()
	if c.asked != c.outcomes {
		n += c.asked.Waiting()
	}
	return n
}

// keep puts a flight into the lane of outcomes. If the lane is closed, the task stays due on disk.
func (c *committer) keep(f *flight) {
	if err := c.outcomes.Put(&op{flight: f}); err != nil {
		c.giveUp(f)
	}
}

// giveUp drops a flight whose outcome may not be recorded because the node stops: the attempt is
// made again.
func (c *committer) giveUp(f *flight) {
	if !f.deferral {
		c.unrecorded.Store(true)
	}
	c.agenda.drop(f.item)
}

// effects are what one transaction means to the rest of the engine. They are gathered row by row.
type effects struct {
	*committer
	since  *asOf
	now    int64               // Unix ms
	due    []*item             // go to their lines
	wake   int64               // the first due time, Unix ms
	others map[uint16]*stretch // news for the owners of other shards
}

// committed reports a transaction to the agenda, the watchers, the other nodes, and the callers
// that wait.
func (c *committer) committed(b *batch, ops []*op) {
	now := c.clock.Now()
	e := effects{committer: c, since: b.since, now: now.UnixMilli(), wake: noTime, others: make(map[uint16]*stretch)}
	adds, changes := b.Adds, b.Changes
	for _, o := range ops {
		for i := range o.adds {
			o.adds[i] = adds[i]
			e.add(&o.adds[i])
		}
		adds = adds[len(o.adds):]
		switch {
		case o.flight != nil:
			o.flight.change, changes = changes[0], changes[1:]
			e.landed(o.flight)
		case o.change != nil:
			*o.change, changes = changes[0], changes[1:]
			e.changed(o)
		}
	}
	if len(e.due) > 0 {
		c.after.bring(e.due, now)
	}
	c.ticker.wakeBefore(e.wake)
	c.after.committed()
	c.tellOwners(e.others)
	for _, o := range ops {
		var err error
		if o.change != nil {
			err = o.change.Err
		}
		o.Done(err)
	}
}

// bring notes an item that is due; nil: none.
func (e *effects) bring(it *item) {
	if it != nil {
		e.due = append(e.due, it)
	}
}

// add accounts for a new task.
func (e *effects) add(n *store.Add) {
	e.room(e.now, n.Err)
	if n.Err != nil || !n.Existing.IsZero() {
		return
	}
	e.watch.added(n.Task)
	if n.Task.State.Ended() { // a handler's record
		return
	}
	if n.Task.Supersedes && e.agenda.owns(n.Task.Shard) {
		e.after.passTurn(chainOf(n.Task), passing{superseded: true})
	}
	e.added.Add(1)
	e.note(e.others, &n.Task.Status)
	e.bring(e.agenda.put(n.Task, e.since, e.now))
	e.wake = min(e.wake, n.Task.VisibleAt.UnixMilli())
}

// written accounts for what a committed change brings, whoever made it: its follow-up tasks, and
// when the task is due again.
func (e *effects) written(change *store.Change) {
	for i := range change.Follow {
		f := &change.Follow[i]
		e.add(f)
		if f.Err != nil {
			e.followed(change, f)
		}
	}
	if !change.To.State.Ended() {
		e.wake = min(e.wake, change.To.VisibleAt.UnixMilli())
	}
}

// landed accounts for the outcome of an attempt, or for a deferral.
func (e *effects) landed(f *flight) {
	if f.change.Err == nil {
		e.written(&f.change)
		e.note(e.others, &f.change.To)
		if f.item.handedOver {
			e.noteOld(e.others, f.change.ID, f.change.To.Shard)
		}
	}
	e.bring(e.land(f, e.since, e.now))
}

// changed accounts for the change of a caller.
func (e *effects) changed(o *op) {
	change := o.change
	if change.Err != nil {
		return
	}
	e.written(change)
	ended := change.To.State.Ended() && !o.task.State.Ended()
	o.task.Status = change.To
	e.watch.changed(o.task, ended)
	if ended && o.task.OrderingKey != "" {
		e.after.passTurn(chainOf(o.task), passing{})
	}
	e.note(e.others, &o.task.Status)
	e.noteOld(e.others, o.task.ID, o.task.Shard)
	e.bring(e.agenda.replace(o.task, e.since, e.now))
	if o.handsOver != nil && change.To.VisibleAt.UnixMilli() > e.now { // otherwise it came too late, and the attempt is waited for
		e.agenda.handOver(o.handsOver)
	}
}

// followed handles a follow-up task that the store did not add. If its key exists with the same
// content, it counts as added.
func (c *committer) followed(change *store.Change, a *store.Add) {
	attrs := []any{"task", change.ID, "queue", a.Task.Queue, "key", a.Task.Key}
	switch {
	case errors.Is(a.Err, bellman.ErrKeyTaken):
		c.log.Warn("a follow-up task was not added: its key exists with other content", append(attrs, "existing", a.Existing)...)
	case errors.Is(a.Err, bellman.ErrAliasTaken):
		c.log.Warn("a follow-up task was not added: another task has its alias", append(attrs, "alias", a.Task.Alias(), "existing", a.Existing)...)
	case a.Err != nil:
		c.leftOut(change.ID, a.Task.Queue, a.Err.Error())
		c.log.Error("follow-up task cannot be added", append(attrs, "err", a.Err)...)
	}
}

// leftOut counts a follow-up task of a task that is not added to a queue.
func (c *committer) leftOut(of bellman.ID, queue, why string) {
	c.follows.Add(1)
	c.refusedFollows.Note(queue, of.String(), why, c.clock.Now())
}

// land ends a flight after its commit: it removes the item from the agenda, and adds the task again
// if it is still pending. After a conflict with another change it starts reconcile, and the flight
// goes on.
func (c *committer) land(f *flight, since *asOf, now int64) (due *item) {
	if f.deferral {
		c.deferrals.Add(-1)
	}
	switch err := f.change.Err; {
	case err == nil:
		if !f.deferral {
			c.watch.attempted(f)
			c.attempted.Add(1)
		}
		due = c.agenda.land(f.item, f.task, &f.change.To, since, now)
		c.passOn(f)
	case f.deferral: // not deferred after all: read it again
		c.agenda.reload(f.item)
	case errors.Is(err, bellman.ErrConflict):
		c.todo.Expect()
		go c.after.reconcile(f)
	default:
		c.log.Error("an attempt cannot be recorded", "task", f.task.ID, traceID(f.task), "attempt", f.attempt.Number, "err", err)
		if isShelf(f.item.VisibleAt) {
			c.agenda.reload(f.item)
		} else {
			c.agenda.drop(f.item) // a deep sweep finds the task
		}
	}
	return due
}

// passOn passes the turn in the chain of a flight, if another task may have it now.
func (c *committer) passOn(f *flight) {
	switch {
	case f.task.OrderingKey == "":
	case f.change.To.State.Ended():
		c.after.passTurn(chainOf(f.task), passing{})
	case !f.behind.IsZero(): // that task may have ended before this deferral was committed
		c.after.passTurn(chainOf(f.task), passing{unless: f.behind})
	}
}

// unread reports whether an error leaves the content of the store unknown.
func unread(err error) bool { return err != nil && !errors.Is(err, bellman.ErrNotFound) }

// readAgain reads a task and retries until the store answers or a stop gives up.
func (c *committer) readAgain(ctx context.Context, id bellman.ID) (t *bellman.Task, err error) {
	sleep.Retry(c.patience, func() bool {
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		t, err = c.store.Task(within, id)
		return !unread(err) || errors.Is(err, bellman.ErrClosed)
	})
	return t, err
}

// sort separates outcomes that a transaction of unknown outcome has committed from those that it
// has not. It returns those to commit again.
func (c *committer) sort(ctx context.Context, ops []*op) (again []*op) {
	for _, o := range ops {
		f, since := o.flight, c.agenda.moment()
		t, err := c.readAgain(ctx, f.change.ID)
		if unread(err) {
			c.giveUp(f)
			continue
		}
		if err == nil && t.Version == f.change.Version+1 && t.Attempts == f.change.To.Attempts && t.VisibleAt.Equal(f.change.To.VisibleAt) {
			f.change.To = t.Status
			f.change.Err = nil
			c.agenda.missAll(appendVisibleAts(nil, f.change.Follow)) // the loader finds them
			if due := c.land(f, since, c.clock.Now().UnixMilli()); due != nil {
				c.after.bring([]*item{due}, c.clock.Now())
			}
			continue
		}
		again = append(again, o) // the commit finds a conflict, if there is one
	}
	return again
}

// A stretch is the news for the owner of a shard: the range of VisibleAt of some tasks, in Unix ms,
// and tasks that the owner may still have in memory as they were. since is noTime if there is no
// range.
type stretch struct {
	since, until int64
	changed      []bellman.ID
}

// stretchOf returns the stretch of a shard; nil: the shard is this node's.
func (c *committer) stretchOf(shard uint16, others map[uint16]*stretch) *stretch {
	if c.agenda.owns(shard) {
		return nil
	}
	s := others[shard]
	if s == nil {
		s = &stretch{since: noTime}
		others[shard] = s
	}
	return s
}

// note records a changed task of another node's shard.
func (c *committer) note(others map[uint16]*stretch, st *bellman.Status) {
	if st.State.Ended() {
		return
	}
	if s := c.stretchOf(st.Shard, others); s != nil {
		visibleAt := st.VisibleAt.UnixMilli()
		s.since, s.until = min(s.since, visibleAt), max(s.until, visibleAt)
	}
}

// noteOld records that another node, the owner, may still have a task in memory as it was.
func (c *committer) noteOld(others map[uint16]*stretch, id bellman.ID, shard uint16) {
	if s := c.stretchOf(shard, others); s != nil {
		s.changed = append(s.changed, id)
	}
}

// tellOwners sends hints about changed tasks to the owners of their shards.
func (c *committer) tellOwners(others map[uint16]*stretch) {
	for shard, s := range others {
		h := cluster.Hint{Changed: s.changed[:min(len(s.changed), c.mostChanged)]}
		if s.since != noTime {
			h.Added, h.Since, h.Until = []uint16{shard}, s.since, s.until
		}
		c.leases.Tell(c.leases.Addr(shard), h)
	}
}

// A commit of unknown outcome may have written a request. The caller gets ErrUnknown, and the
// agenda does not have the tasks. So the loader goes back to where they would be: otherwise a
// written task would wait for the next deep sweep, and a changed task would be attempted as it was.

// unsure returns the VisibleAt, in Unix ms, of pending tasks that ops add or change, and the ids of
// the changed tasks.
func unsure(ops []*op) (visibleAts []int64, changed []bellman.ID) {
	for _, o := range ops {
		visibleAts = appendVisibleAts(visibleAts, o.adds)
		if o.change == nil {
			continue
		}
		changed = append(changed, o.change.ID)
		if !o.change.To.State.Ended() {
			visibleAts = append(visibleAts, o.change.To.VisibleAt.UnixMilli())
		}
		visibleAts = appendVisibleAts(visibleAts, o.change.Follow)
	}
	return visibleAts, changed
}

// appendVisibleAts appends the VisibleAt of the pending tasks among adds, in Unix ms.
func appendVisibleAts(visibleAts []int64, adds []store.Add) []int64 {
	for i := range adds {
		if t := adds[i].Task; !t.State.Ended() {
			visibleAts = append(visibleAts, t.VisibleAt.UnixMilli())
		}
	}
	return visibleAts
}

// readAgainFrom moves the loader back to these VisibleAts, and drops the changed tasks from memory.
func (c *committer) readAgainFrom(visibleAts []int64, changed []bellman.ID) {
	if len(visibleAts) == 0 && len(changed) == 0 {
		return
	}
	c.agenda.renew(changed)
	c.agenda.missAll(visibleAts)
	c.after.reread()
}
