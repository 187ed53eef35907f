package engine

import (
	"context"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/store"
)

// lookAgain turns requests into ranges to read, limited to what the loader has read already.
// Overdue parts are left to the cursor of overdue tasks.
func (l *loader) lookAgain(now time.Time) {
	won, spans := l.rescans.take()
	nowMs := now.UnixMilli()
	if len(won) > 0 {
		if l.swept.floor.Load() > 0 {
			l.readApart(won, store.Position{}, nowMs)
		} else {
			l.lookBack(0)
		}
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
		s.to = min(s.to, max(l.ahead, nowMs)+1)
		if s.at.VisibleAt < s.to && len(l.spans) < maxSpans {
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
	want, leftOut := l.withinShares(now)
	more, err = l.readFirst(ctx, &l.spans, now, want)
	l.lookBack(*leftOut)
	return more, err
}

// readFirst reads the next page of the first of some ranges.
func (l *loader) readFirst(ctx context.Context, spans *[]span, now time.Time, want func(*store.Entry, store.Position) bool) (more bool, err error) {
	if len(*spans) == 0 {
		return false, nil
	}
	s := &(*spans)[0]
	err = l.readRange(ctx, l.among(s.shards), s.at, s.to, l.limits.Page, now, want)
	l.ticker.wakeBefore(0)
	if err != nil {
		return false, err
	}
	if len(l.page) == l.limits.Page {
		s.at = l.page[l.limits.Page-1].Position()
		return true, nil
	}
	*spans = slices.Delete(*spans, 0, 1)
	return len(*spans) > 0, nil
}

// readApart makes the loader read a range of these shards, one after the other.
func (l *loader) readApart(shards []uint16, from store.Position, to int64) {
	for _, shard := range shards {
		i := slices.IndexFunc(l.apart, func(s span) bool { return s.shards[0] == shard })
		if i < 0 {
			l.apart = append(l.apart, span{[]uint16{shard}, from, to})
			continue
		}
		s := &l.apart[i]
		if from.VisibleAt < s.at.VisibleAt {
			s.at = from
		}
		s.to = max(s.to, to)
	}
}
