package engine

import (
	"context"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

// rescans are ranges of the due index that the loader must read again: shards that this node
// claimed, and tasks that others added.
type rescans struct {
	mu    locks.Mutex
	won   []uint16
	spans []span
}

// A span is a range of the due index of some shards.
type span struct {
	shards []uint16
	at     store.Position // where to continue
	to     int64          // Unix ms, exclusive
}

// maxSpans bounds the waiting spans.
const maxSpans = 64

// all makes the loader read everything of these shards that is due now or soon.
func (f *rescans) all(shards []uint16) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.won = append(f.won, shards...)
}

// span makes the loader read tasks whose VisibleAt is from since to until.
func (f *rescans) span(shards []uint16, since, until int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := span{shards, store.Position{VisibleAt: since}, until + 1}
	for i := range f.spans {
		if s := &f.spans[i]; len(f.spans) == maxSpans || s.near(next) {
			s.shards = slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.shards, shards))))
			s.at.VisibleAt, s.to = min(s.at.VisibleAt, next.at.VisibleAt), max(s.to, next.to)
			return
		}
	}
	f.spans = append(f.spans, next)
}

// near reports whether two spans should be read as one.
func (s *span) near(t span) bool {
	const gap = 1000 // ms
	return s.at.VisibleAt <= t.to+gap && t.at.VisibleAt <= s.to+gap
}

func (f *rescans) take() (won []uint16, spans []span) {
	f.mu.Lock()
	defer f.mu.Unlock()
	won, spans, f.won, f.spans = f.won, f.spans, nil, nil
	return won, spans
}

// lookAgain turns requests into ranges to read, limited to what the loader has read already.
// Overdue parts are left to the cursor of overdue tasks.
func (l *loader) lookAgain(now time.Time) {
	won, spans := l.rescans.take()
	nowMs := now.UnixMilli()
	if len(won) > 0 {
		l.lookBack(0)
		l.searchShelves(won)
		spans = append(spans, span{shards: won, at: store.Position{VisibleAt: nowMs}, to: noTime})
	}
	for _, s := range spans {
		if s.shards = l.among(s.shards); len(s.shards) == 0 {
			continue
		}
		if s.at.VisibleAt < now.Add(-recentPast).UnixMilli() || s.at.VisibleAt <= nowMs && len(l.out) > 0 {
			l.lookBack(s.at.VisibleAt)
			s.at = store.Position{VisibleAt: nowMs}
		}
		if s.to = min(s.to, max(l.ahead, nowMs)+1); s.at.VisibleAt < s.to && len(l.spans) < maxSpans {
			l.spans = append(l.spans, s) // otherwise it is found when it is due
		}
	}
}

// readSpan reads the next page of a range.
func (l *loader) readSpan(ctx context.Context, now time.Time, waiting int) (more bool, err error) {
	if len(l.spans) == 0 {
		return false, nil
	}
	s := &l.spans[0]
	if s.at.VisibleAt > now.UnixMilli() && waiting >= l.limits.Waiting {
		l.spans = slices.Delete(l.spans, 0, 1) // it is found when it is due
		return len(l.spans) > 0, nil
	}
	l.agenda.beginRead(0)
	l.page, err = l.store.Due(ctx, l.among(s.shards), s.at, s.to, l.limits.Page, l.page[:0])
	l.take(l.agenda.endRead(l.page, 0, now.UnixMilli(), nil))
	l.ticker.wakeBefore(0)
	if err != nil {
		return false, err
	}
	if len(l.page) == l.limits.Page {
		last := l.page[l.limits.Page-1]
		s.at = store.Position{VisibleAt: last.VisibleAt, ID: last.ID}
		return true, nil
	}
	l.spans = slices.Delete(l.spans, 0, 1)
	return len(l.spans) > 0, nil
}

// among returns the shards in the list that this node owns.
func (l *loader) among(shards []uint16) []uint16 {
	owned := l.leases.Shards()
	var both []uint16
	for _, s := range shards {
		if _, ok := slices.BinarySearch(owned, s); ok {
			both = append(both, s)
		}
	}
	return both
}
