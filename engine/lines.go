package engine

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
)

// lines bring due tasks to the lines of the dispatcher.
type lines struct {
	clock         *clock.Clock
	rules         *Rules
	agenda        *agenda
	contents      *contents
	dispatch      *dispatch.D[*item]
	unknownQueues *unknownQueues
}

// bring puts due items into their lines. Items whose line is full are dropped, and full is true: the
// loader must read them again.
func (l *lines) bring(ctx context.Context, due []*item, now time.Time) (full bool) {
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
		if !l.offer(ctx, it, now) {
			left = append(left, it)
		}
	}
	for _, it := range left {
		l.contents.release(it)
	}
	l.agenda.drop(true, left...)
	return len(left) > 0
}

// offer puts an item into its line. It returns false if the line is full.
func (l *lines) offer(ctx context.Context, it *item, now time.Time) bool {
	if !l.agenda.toLine(it) {
		l.contents.release(it)
		return true
	}
	pushed := l.push(it, now)
	for pushed == dispatch.Unknown {
		if it.task == nil {
			l.contents.readOne(ctx, it)
		}
		if it.task == nil {
			return true // gone meanwhile
		}
		l.open(it, now)
		pushed = l.push(it, now)
	}
	if pushed == dispatch.Kept {
		return true
	}
	l.agenda.hold(it)
	return false
}

func (l *lines) push(it *item, now time.Time) dispatch.Pushed {
	attempts := int(it.Attempts)
	if it.urgent {
		attempts = dispatch.Urgent
	}
	return l.dispatch.Push(now.UnixNano(), uint64(it.Line), it.Due*1e6, attempts, it)
}

// open registers the line of an item with the dispatcher.
func (l *lines) open(it *item, now time.Time) {
	q, ok := l.rules.queue(it.task.Queue)
	if !ok {
		l.unknownQueues.hold(it.task.Queue)
	}
	g := l.rules.route(it.task)
	l.dispatch.Open(now.UnixNano(), uint64(it.Line), l.rules.ofLine(q, it.task, &g))
}
