package engine

import (
	"context"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/dispatch"
)

// place brings pending items to their lines. If a line is full, its items stay pending; if it will
// be full for long, they are deferred. place returns how many items it placed or deferred.
func (l *loader) place(ctx context.Context, now time.Time) (moved int) {
	if len(l.pending) == 0 {
		return 0
	}
	patience := longWait
	if len(l.pending) >= l.limits.Pending-2*l.limits.Page {
		patience = shortWait
	}
	if l.deferrals.heldUp() {
		patience = dispatch.Forever - 1 // the store is slow, not the lines
	}
	full := make(map[peers]bool) // lines without room; true: not soon either
	deferring := l.deferrals.count()
	var late []*item
	rest := l.pending[:0]
	stuck := 0    // lines in full that will have room soon
	read := 0     // contents were read up to here
	var run peers // items without room often come in runs
	var long, isFull bool
	for i, it := range l.pending {
		if stuck == len(l.share) { // no other item has room
			rest = append(rest, l.pending[i:]...)
			break
		}
		if it.peers != run {
			run = it.peers
			long, isFull = full[run]
		}
		if !isFull && it.task == nil && i >= read {
			l.pump() // start attempts in between
			read = l.fetchFrom(ctx, i, full)
		}
		if !isFull {
			run = l.recount(it) // its line may be open by now
			long, isFull = full[run]
		}
		if !isFull {
			if kept, _ := l.lines.offer(ctx, it, true, now); !kept {
				long, isFull = l.fullForLong(run, now, patience), true
				full[run] = long
				if !long {
					stuck++
				}
			}
		}
		switch {
		case !isFull:
			if l.share[run] == 1 { // all pending items of the line have their places
				delete(l.fullSince, run)
			}
		case long && (isShelf(it.VisibleAt) || deferring < maxDeferring):
			late = append(late, it)
			deferring++
		default:
			rest = append(rest, it)
			continue
		}
		moved++
		l.uncount(it)
	}
	l.pump()
	clear(l.pending[len(rest):])
	l.pending = rest
	for chunk := range slices.Chunk(late, l.contents.chunk()) {
		l.deferAll(ctx, chunk, now)
	}
	return moved
}

// deferAll moves due items to the shelf of their line. It reads the contents of those that are not
// on it yet. A line must not run empty while its shelf rests.
func (l *loader) deferAll(ctx context.Context, late []*item, now time.Time) {
	unread := func(it *item) bool { return it.task == nil && shelf(it.VisibleAt) != shelfOf(it.Line) }
	l.contents.read(ctx, slices.DeleteFunc(slices.Clone(late), func(it *item) bool { return !unread(it) }))
	for _, it := range late {
		if unread(it) && !l.contents.readOne(ctx, it) {
			continue
		}
		l.contents.release(it)
		on := shelfOf(it.Line)
		l.deferrals.put(on, it)
		if isShelf(it.VisibleAt) {
			wait := l.dispatch.Wait(now.UnixNano(), uint64(it.Line))
			l.shelves.restUntil(on, now.Add(max(wait/2, firstRest)))
		}
	}
}

// fetchFrom reads the contents of pending items from i on, one chunk, except those of full lines.
// It returns where it stopped.
func (l *loader) fetchFrom(ctx context.Context, i int, full map[peers]bool) int {
	chunk := make([]*item, 0, l.contents.chunk())
	for ; i < len(l.pending) && len(chunk) < cap(chunk); i++ {
		it := l.pending[i]
		if it.task != nil {
			continue
		}
		if _, full := full[it.peers]; !full {
			chunk = append(chunk, it)
		}
	}
	l.contents.read(ctx, chunk)
	return i
}

// recount updates the age class under which a pending item is counted, and returns it.
func (l *loader) recount(it *item) peers {
	if p := l.peersOf(&it.Entry); p != it.peers {
		l.uncount(it)
		l.count(it, p)
	}
	return it.peers
}

// uncount removes an item from the share of its line.
func (l *loader) uncount(it *item) {
	if l.share[it.peers] == 1 {
		delete(l.share, it.peers)
		l.outside.add(it.peers.line, -1)
	} else {
		l.share[it.peers]--
	}
}

// fullForLong reports whether a line without room will have none for longer than patience. A line
// that is not paused gets fullAtLeast to show its pace.
func (l *loader) fullForLong(p peers, now time.Time, patience time.Duration) bool {
	wait := l.dispatch.Wait(now.UnixNano(), uint64(p.line))
	if wait == dispatch.Forever {
		return true
	}
	since, ok := l.fullSince[p]
	if !ok {
		l.fullSince[p] = now
		return false
	}
	return wait > patience && now.Sub(since) >= fullAtLeast
}
