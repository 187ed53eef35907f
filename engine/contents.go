package engine

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/store"
)

const (
	// Tasks whose contents are read at once: as many as have chunkContent bytes, by
	// what those before them had, so that large bodies do not pile up.
	minChunk     = 64
	chunkContent = 1 << 20

	maxContent = 16 << 20 // bytes of tasks' contents read ahead of their attempts
)

// contents are what the tasks in hand say, as far as it is in memory. An item has its task's
// content from when its turn is near until its attempt has ended.
type contents struct {
	store    store.Store
	log      *slog.Logger
	clock    *clock
	leases   *leases
	agenda   *agenda
	dispatch *dispatch.D[*item]
	sole     bool
	most     int // that are read at once

	bytes    atomic.Int64 // in hand
	usual    atomic.Int64 // bytes of a task's content, of those read last
	saidSlow atomic.Int64 // when the log said last that the store reads too slowly, Unix ns
}

func newContents(e *Engine) *contents {
	return &contents{store: e.store, log: e.log, clock: e.clock, leases: e.leases, agenda: e.agenda, dispatch: e.dispatch, sole: e.sole, most: e.limits.Chunk}
}

// read reads the content of items, as far as the budget for it allows. Items whose
// task changed meanwhile, or is another node's until its look, are dropped.
func (c *contents) read(ctx context.Context, items []*item) {
	entries := make([]store.Entry, 0, len(items))
	at := make([]*item, 0, len(items))
	for _, it := range items {
		if it.task != nil {
			continue
		}
		if c.bytes.Load() < maxContent || !c.dispatch.Known(uint64(it.Line)) {
			entries = append(entries, it.Entry)
			at = append(at, it)
		}
	}
	if len(entries) == 0 {
		return
	}
	read := time.Now()
	tasks, err := c.store.Load(ctx, entries)
	if err != nil {
		if ctx.Err() == nil {
			c.log.Error("due tasks cannot be read", "err", err)
		}
		return
	}
	var bytes, held int64
	now := c.clock.now()
	for i, it := range at {
		if tasks[i] == nil || notYet(tasks[i], now) {
			c.agenda.drop(tasks[i] != nil, it)
			continue
		}
		c.hold(it, tasks[i], read)
		bytes, held = bytes+it.bytes, held+1
	}
	if held > 0 {
		c.usual.Store(bytes / held)
	}
}

// chunk is how many tasks' contents to read at once.
func (c *contents) chunk() int {
	return min(max(chunkContent/int(max(c.usual.Load(), 1)), minChunk), c.most)
}

// readOne reads one item's content. It is false, and the item is dropped, if the task
// changed meanwhile, is another node's until its look, or cannot be read.
func (c *contents) readOne(ctx context.Context, it *item) bool {
	read := time.Now()
	tasks, err := c.store.Load(ctx, []store.Entry{it.Entry})
	switch {
	case err != nil:
		if ctx.Err() == nil {
			c.log.Error("a due task cannot be read", "task", it.ID, "err", err)
		}
		c.agenda.drop(true, it)
		return false
	case tasks[0] == nil || notYet(tasks[0], c.clock.now()):
		c.agenda.drop(tasks[0] != nil, it)
		return false
	}
	c.hold(it, tasks[0], read)
	return true
}

// hold gives an item its content, which was read after a moment, and counts it until the
// item is attempted.
func (c *contents) hold(it *item, t *bellman.Task, read time.Time) {
	it.task, it.known = t, read
	c.count(it)
}

// count counts an item's content until the item is attempted.
func (c *contents) count(it *item) {
	it.bytes = contentBytes(it.task)
	c.bytes.Add(it.bytes)
}

// release ends what count began.
func (c *contents) release(it *item) {
	c.bytes.Add(-it.bytes)
	it.bytes = 0
}

// contentBytes is about what a task takes in memory.
func contentBytes(t *bellman.Task) int64 { return int64(len(t.Body)+len(t.URL)) + 512 }

// No attempt starts from content that the store has not confirmed within the last
// confirmedFor. A task may be cancelled, completed or rescheduled at any node while it waits
// in this node's line. A hint usually says so within milliseconds, and any hint may be lost.
// So a lost hint delays such a change by confirmedFor at most.
//
// The time counts from before the read or the commit was sent: what the store said was true
// at some moment after that, however long the answer took.
const (
	confirmAgain = time.Second             // older content is read again when the task's turn has come
	confirmedFor = 1800 * time.Millisecond // older content starts no attempt
)

// confirmed reports whether an item has its content, and the store has confirmed it within
// a while before now. A store that is this process's alone changes only by what the hand is
// told, so there all content is. What was confirmed before the machine was paused is not:
// the monotonic clock stood still meanwhile.
func (c *contents) confirmed(it *item, now time.Time, within time.Duration) bool {
	return it.task != nil && (c.sole || now.Sub(it.known) <= within && !it.known.Before(c.leases.resumedAt()))
}

// confirm asks the store whether the task of an item in flight is as it is in hand. If not,
// or if the store does not say, it drops the item, and is false.
func (c *contents) confirm(ctx context.Context, it *item) bool {
	read := time.Now()
	tasks, err := c.store.Load(ctx, []store.Entry{it.Entry})
	if err != nil || tasks[0] == nil {
		if err != nil && ctx.Err() == nil {
			c.log.Error("a due task cannot be read", "task", it.ID, "err", err)
		}
		c.agenda.drop(true, it)
		return false
	}
	c.agenda.mu.Lock()
	defer c.agenda.mu.Unlock()
	it.known = read
	return true
}

// saySlow is how often the log says that the store is too slow.
const saySlow = 10 * time.Second

// slowReads says in the log, now and then, that attempts wait for a store that takes too
// long to say what their tasks are.
func (c *contents) slowReads() {
	now := time.Now().UnixNano()
	if last := c.saidSlow.Load(); now-last > int64(saySlow) && c.saidSlow.CompareAndSwap(last, now) {
		c.log.Warn("attempts wait: the store takes too long to read their tasks", "most", confirmedFor)
	}
}
