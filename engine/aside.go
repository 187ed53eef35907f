package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/store"
)

// What has to wait long for its line is set aside: its look is moved to when the
// line may have room, so that a merchant with a million overdue tasks does not
// fill the memory, nor the page that the loader reads.
const (
	longWait  = 2 * time.Second        // is set aside
	shortWait = 250 * time.Millisecond // is set aside when others wait behind it
	minAside  = time.Second

	fullAtLeast = 500 * time.Millisecond // a line has no room for so long before its tasks are set aside
	maxAside    = 5 * time.Minute
)

// setAside moves a due task's look, on disk. Its due time stays what the
// schedule said.
func (l *loader) setAside(ctx context.Context, it *item, now time.Time) {
	if it.task == nil {
		l.fetchOne(ctx, it)
	}
	if it.task == nil || !l.hand.setAside(it) {
		return
	}
	to := it.task.Status
	to.VisibleAt = roundUp(l.asideUntil(it.Line, now))
	to.Updated = now
	l.release(it)
	if l.early != nowhere {
		l.again[it.ID] = true
	}
	l.layAside(it, to, nil)
}

// layAside writes what becomes of a task that is not attempted now, and was taken out of
// its line (hand.setAside). An attempt of it that was announced before its last owner died
// is logged. Of one
// that goes to another shard its next owner logs it.
func (e *Engine) layAside(it *item, to bellman.Status, waits *waiting) {
	t := it.task
	f := &flight{item: it, task: t, aside: true, waits: waits}
	f.change = store.Change{ID: t.ID, Version: t.Version, To: to, Of: t}
	if to.Shard == t.Shard {
		if t.InDoubt() {
			if f.change.Attempt = e.lostAttempt(t); f.change.Attempt != nil {
				f.change.To.Attempts++
			}
		}
		f.change.To.Phase = bellman.Deferred
	}
	e.asides.Add(1)
	e.keep(f)
}

// asideUntil says when a line's next task that is set aside should be looked at:
// one after the other at the pace of the line, not all at once.
func (l *loader) asideUntil(line store.Line, now time.Time) time.Time {
	wait := min(l.dispatch.Wait(now.UnixNano(), uint64(line)), maxAside)
	until := later(l.aside[line], now.Add(max(min(wait, maxAside/2), minAside)))
	until = until.Add(wait / time.Duration(l.limits.Line))
	l.aside[line] = until
	if limit := now.Add(maxAside); until.After(limit) {
		return limit.Add(-time.Duration(rand.Int64N(int64(maxAside / 2))))
	}
	return until
}

// readEarly takes the next page of what was set aside in hand, after a pause
// ended: it goes on at once, not at its look. Lines that are still paused are
// left alone.
func (l *loader) readEarly(ctx context.Context, now time.Time) (more bool, err error) {
	if l.early == nowhere {
		return false, nil
	}
	from, to := l.early, now.Add(maxAside+time.Second).UnixMilli()
	l.hand.beginRead(0)
	l.page, err = l.store.Due(ctx, l.leases.shards(), from, to, l.limits.Page, l.page[:0])
	if err != nil {
		l.hand.endReadEarly(nil, now.UnixMilli(), nil)
		return false, err
	}
	switch {
	case len(l.page) == l.limits.Page:
		last := l.page[l.limits.Page-1]
		l.early, more = store.Position{VisibleAt: last.VisibleAt, ID: last.ID}, true
	case l.unsettled: // something was being set aside while this was read
		l.early, l.unsettled = store.Position{VisibleAt: l.resumed}, l.asides.Load() > 0
	default:
		l.early = nowhere
	}
	paused := make(map[store.Line]bool)
	for i := range l.page {
		line := l.page[i].Line
		if _, ok := paused[line]; !ok {
			paused[line] = l.dispatch.Wait(now.UnixNano(), uint64(line)) == dispatch.Forever
		}
	}
	l.page = slices.DeleteFunc(l.page, func(en store.Entry) bool { return l.again[en.ID] })
	l.take(l.hand.endReadEarly(l.page, now.UnixMilli(), paused))
	if l.early == nowhere {
		clear(l.again)
	}
	return more, nil
}

// comeBack makes the loader bring back what was set aside.
func (e *Engine) comeBack() {
	e.resumedAt.Store(e.clock.now().UnixMilli())
	e.kickLoader()
}
