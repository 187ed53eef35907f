package engine

import (
	"context"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/store"
)

// roomFor returns how many tasks of a shelf its line has room for. If the line is blocked, until is
// when to ask again.
func (l *loader) roomFor(sh *shelved, now time.Time) (room int, until time.Time) {
	if sh.merchant != "" && l.pauses.merchant(sh.merchant) != nil {
		return 0, now.Add(lastRest)
	}
	if sh.line == 0 {
		return sh.page - len(l.pending), until
	}
	room, wait := l.dispatch.Room(now.UnixNano(), uint64(sh.line), sh.attempts)
	switch {
	case wait == dispatch.Forever:
		return 0, now.Add(lastRest)
	case room <= 0 && wait > longWait:
		return 0, now.Add(min(wait/2, lastRest))
	}
	return min(room-l.pendingOf(sh.line), sh.page), until
}

// pendingOf returns how many deferred tasks of a line were read and have no place in it yet.
func (l *loader) pendingOf(line store.Line) (n int) {
	for p, of := range l.share {
		if p.line == line && p.deferred {
			n += of
		}
	}
	return n
}

// readShelf reads the next page of a shelf whose line may go. more means that another shelf can be
// read at once.
func (l *loader) readShelf(ctx context.Context, now time.Time) (more bool, err error) {
	if l.shelves.takeWoken() || now.Sub(l.looked) >= fastSweep {
		l.looked = now
		l.ready = l.shelves.ready(now, l.ready[:0])
	}
	l.ready = slices.Insert(l.ready, 0, l.shelves.takeHurried()...)
	waits := 0
	for len(l.ready) > waits && waits < mostLooked {
		on := l.ready[0]
		sh, ok := l.shelves.get(on)
		if !ok || sh.next.After(now) {
			l.ready = l.ready[1:]
			continue
		}
		if sh.from == lastID && (sh.line == 0 || l.pendingOf(sh.line) == 0) {
			l.shelves.forget(on)
			l.ready = l.ready[1:]
			continue
		}
		room, until := l.roomFor(&sh, now)
		switch {
		case !until.IsZero():
			l.shelves.putOff(on, until)
			l.ready = l.ready[1:]
			continue
		case room <= 0 || sh.from == lastID:
			waits++
			l.ready = append(l.ready[1:], on)
			continue
		}
		l.ready = append(l.ready[1:], on)
		return true, l.readOn(ctx, on, min(room, l.limits.Page), now)
	}
	return false, nil
}

// readOn reads one page of a shelf.
func (l *loader) readOn(ctx context.Context, on shelf, limit int, now time.Time) error {
	from := l.shelves.begin(on)
	l.page = l.page[:0]
	defer func() { l.shelves.end(on, from, l.page) }()
	switch err := l.readRange(ctx, l.leases.Shards(), startAt(on, from), int64(on)+1, limit, now, nil); {
	case err != nil:
		return err
	case len(l.page) < limit:
		from = lastID
	default:
		from = idAfter(l.page[limit-1].ID)
	}
	return nil
}

// find continues a search for shelves. readShelf then reads their tasks.
func (l *loader) find(ctx context.Context, _ time.Time) (more bool, err error) {
	if l.search == nil {
		return false, nil
	}
	s := l.search
	if s.shards = l.among(s.shards); len(s.shards) == 0 {
		l.search = nil
		return false, nil
	}
	l.page, err = l.store.Due(ctx, s.shards, s.at, noTime, l.limits.Page, l.page[:0])
	if err != nil {
		return false, err
	}
	on := shelf(0)
	for i := range l.page {
		if en := &l.page[i]; shelf(en.VisibleAt) != on {
			on = shelf(en.VisibleAt)
			l.shelves.put(en, "")
		}
	}
	l.looked = time.Time{} // new shelves may be readable
	if len(l.page) < l.limits.Page {
		l.search = nil
		return false, nil
	}
	s.at = store.Position{VisibleAt: int64(on) + 1}
	return true, nil
}

// searchShelves starts a search for the shelves of these shards.
func (l *loader) searchShelves(shards []uint16) {
	if l.search != nil {
		shards = slices.Compact(slices.Sorted(slices.Values(slices.Concat(shards, l.search.shards))))
	}
	l.search = &search{shards, store.Position{VisibleAt: int64(firstShelf)}}
}
