package engine

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/store"
)

const (
	// Contents are read in chunks of about chunkContent bytes, estimated by the last chunk, so that
	// large bodies do not fill the memory.
	minChunk     = 64
	chunkContent = 1 << 20

	maxContent = 16 << 20 // bytes of contents read ahead of their attempts
)

// contents reads the contents of tasks in the agenda. An item has its content from shortly before
// its turn until its attempt has ended.
type contents struct {
	store    store.Store
	log      *slog.Logger
	clock    *clock.Clock
	leases   *cluster.Member
	agenda   *agenda
	dispatch *dispatch.D[*item]
	most     int // tasks in one read

	bytes    atomic.Int64 // contents in memory
	usual    atomic.Int64 // average bytes of a task in the last read
	saidSlow atomic.Int64 // when the log last said that the store reads too slowly, Unix ns
}

// read reads the contents of items, as far as the budget allows. It drops items whose task changed,
// or must not be attempted before its VisibleAt.
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
	now := c.clock.Now()
	for i, it := range at {
		if tasks[i] == nil {
			c.agenda.drop(it)
			continue
		}
		if notYet(tasks[i], now) {
			c.agenda.reload(it)
			continue
		}
		c.hold(it, tasks[i], read)
		bytes, held = bytes+it.bytes, held+1
	}
	if held > 0 {
		c.usual.Store(bytes / held)
	}
}

// chunk returns how many contents to read at once.
func (c *contents) chunk() int {
	return min(max(chunkContent/int(max(c.usual.Load(), 1)), minChunk), c.most)
}

// readOne reads the content of one item. It drops the item and returns false if the task changed,
// must not be attempted before its VisibleAt, or cannot be read.
func (c *contents) readOne(ctx context.Context, it *item) bool {
	read := time.Now()
	tasks, err := c.store.Load(ctx, []store.Entry{it.Entry})
	switch {
	case err != nil:
		if ctx.Err() == nil {
			c.log.Error("a due task cannot be read", "task", it.ID, "err", err)
		}
		c.agenda.reload(it)
		return false
	case tasks[0] == nil:
		c.agenda.drop(it)
		return false
	case notYet(tasks[0], c.clock.Now()):
		c.agenda.reload(it)
		return false
	}
	c.hold(it, tasks[0], read)
	return true
}

// hold gives an item its content, which was read at a moment or later, and counts its bytes.
func (c *contents) hold(it *item, t *bellman.Task, read time.Time) {
	it.task, it.known = t, read
	c.count(it)
}

// count adds the bytes of an item's content.
func (c *contents) count(it *item) {
	it.bytes = contentBytes(it.task)
	c.bytes.Add(it.bytes)
}

// release subtracts the bytes of an item's content.
func (c *contents) release(it *item) {
	c.bytes.Add(-it.bytes)
	it.bytes = 0
}

// contentBytes estimates the memory of a task.
func contentBytes(t *bellman.Task) int64 { return int64(len(t.Body)+len(t.URL)+len(t.Data)) + 512 }

// No attempt starts from content that the store has not confirmed within the last confirmedFor.
// While a task waits in a line of this node, any node may cancel, complete or reschedule it. A hint
// usually reports that within milliseconds, but hints can be lost. So a lost hint delays such a
// change by confirmedFor at most.
//
// The time counts from before the read or the commit was sent: the answer was true at some moment
// after that.
const (
	confirmAgain = time.Second             // older content is read again when the task's turn comes
	confirmedFor = 1800 * time.Millisecond // older content starts no attempt
)

// confirmed reports whether an item has content that the store has confirmed within a while before
// now. With a store of this process alone all content is confirmed, because every change passes
// through the agenda. Content from before a pause of the machine is not confirmed: the monotonic
// clock stood still during the pause.
func (c *contents) confirmed(it *item, now time.Time, within time.Duration) bool {
	return it.task != nil && (c.leases.Sole() || now.Sub(it.known) <= within && !it.known.Before(c.leases.ResumedAt()))
}

// confirm asks the store whether the task of an item in flight is unchanged. If it changed, or the
// store does not answer, confirm drops the item and returns false.
func (c *contents) confirm(ctx context.Context, it *item) bool {
	read := time.Now()
	tasks, err := c.store.Load(ctx, []store.Entry{it.Entry})
	if err != nil || tasks[0] == nil {
		if err != nil && ctx.Err() == nil {
			c.log.Error("a due task cannot be read", "task", it.ID, "err", err)
		}
		c.agenda.reload(it)
		return false
	}
	it.known = read
	return true
}

// saySlow bounds how often the log says that the store is too slow.
const saySlow = 10 * time.Second

// slowReads logs, at most every saySlow, that attempts wait because the store reads too slowly.
func (c *contents) slowReads() {
	now := time.Now().UnixNano()
	if last := c.saidSlow.Load(); now-last > int64(saySlow) && c.saidSlow.CompareAndSwap(last, now) {
		c.log.Warn("attempts wait: the store takes too long to read their tasks", "most", confirmedFor)
	}
}
