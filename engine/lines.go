package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/store"
)

// lines bring due tasks to the lines of the dispatcher.
type lines struct {
	rules         *Rules
	agenda        *agenda
	contents      *contents
	dispatch      *dispatch.D[*item]
	shelves       *shelves
	outside       *outside
	unknownQueues *unknownQueues
}

// bring puts due items into their lines, and drops items whose lines have no room. more means that
// the loader has something to read: the dropped items, or deferred tasks for which there is room.
func (l *lines) bring(ctx context.Context, due []*item, now time.Time) (more bool) {
	var left []*item
	for _, it := range due {
		if it.task != nil && it.bytes == 0 {
			if l.contents.bytes.Load() < maxContent {
				l.contents.count(it)
			} else {
				l.open(it, now)
				it.task = nil
			}
		}
		kept, low := l.offer(ctx, it, false, now)
		if !kept {
			left = append(left, it)
		}
		more = more || low
	}
	for _, it := range left {
		l.contents.release(it)
	}
	l.agenda.reload(left...)
	return more || len(left) > 0
}

// offer puts an item into its line. waited means that the loader holds it. kept is false if there
// is no place for it. low means that the line needs deferred tasks: its shelf can be read at once.
func (l *lines) offer(ctx context.Context, it *item, waited bool, now time.Time) (kept, low bool) {
	if !l.agenda.toLine(it) {
		l.contents.release(it)
		return true, false
	}
	pushed := l.push(it, waited, now)
	for pushed == dispatch.Unknown {
		if it.task == nil {
			l.contents.readOne(ctx, it)
		}
		if it.task == nil {
			return true, false // gone meanwhile
		}
		l.open(it, now)
		pushed = l.push(it, waited, now)
	}
	switch pushed {
	case dispatch.Kept:
		return true, false
	case dispatch.Low:
		return true, l.shelves.hurry(shelfOf(it.Line))
	}
	l.agenda.hold(it)
	return false, false
}

func (l *lines) push(it *item, waited bool, now time.Time) dispatch.Pushed {
	attempts := int(it.Attempts)
	if it.urgent {
		attempts = dispatch.Urgent
	}
	return l.dispatch.Push(now.UnixNano(), uint64(it.Line), it.Due*1e6, attempts, l.rank(&it.Entry, waited), it)
}

// rank returns the rank of a task in its line. The oldest tasks are those that were deferred, then
// those that the loader holds, then those that have just become due in memory.
func (l *lines) rank(en *store.Entry, waited bool) dispatch.Rank {
	switch {
	case isShelf(en.VisibleAt):
		return dispatch.Elder
	case l.shelves.has(shelfOf(en.Line)):
		return dispatch.Newer
	case waited:
		return dispatch.Elder
	case l.outside.has(en.Line):
		return dispatch.Newer
	}
	return dispatch.Alone
}

// outside says of which lines the loader holds due tasks, or has left some on disk. It counts them
// by the hash of the line: lines with the same hash count as one.
type outside [4096]atomic.Int32

func (o *outside) add(line store.Line, n int32) { o[line%store.Line(len(o))].Add(n) }

func (o *outside) has(line store.Line) bool { return o[line%store.Line(len(o))].Load() > 0 }

// open registers the line of an item with the dispatcher.
func (l *lines) open(it *item, now time.Time) {
	q, ok := l.rules.queue(it.task.Queue)
	if !ok {
		l.unknownQueues.hold(it.task.Queue)
	}
	g := l.rules.route(it.task)
	l.dispatch.Open(now.UnixNano(), uint64(it.Line), l.rules.ofLine(q, it.task, &g))
}
