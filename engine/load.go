package engine

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
)

// What the loader does at once, and how far ahead.
const (
	pageSize   = 1000
	chunkSize  = 64 // tasks read at once, so that large bodies do not pile up
	maxPending = 1000

	maxHorizon = 5 * time.Minute
	minHorizon = 30 * time.Second

	fastSweep  = time.Second // looks again at what was due in the last recentPast
	deepSweep  = time.Minute // looks again at everything overdue, from the beginning
	recentPast = 30 * time.Second

	maxContent = 16 << 20 // bytes of tasks' contents read ahead of their attempts
)

// A loader brings tasks from disk in hand before they are due, and overdue ones
// as fast as the dispatcher takes them. It belongs to one goroutine.
type loader struct {
	*Engine
	cursor  bellman.Position // everything before it has been read
	horizon time.Duration    // how far ahead it reads
	page    []bellman.Entry
	pending []*item // due, and waiting for room in their lines

	// aside says per line until when tasks have been set aside, so that they come
	// back one after the other and not all at once.
	aside map[bellman.Line]time.Time

	early     bellman.Position // where to go on with what was set aside; noTime: nowhere
	unsettled bool             // tasks were being set aside when that began

	takeover int64 // what was due before, Unix ms, may have been in flight when its last owner died
}

// load is the loader's goroutine.
func (e *Engine) load(ctx context.Context, takeover int64) error {
	l := &loader{Engine: e, horizon: maxHorizon, aside: make(map[bellman.Line]time.Time), early: bellman.Position{Look: noTime}, takeover: takeover}
	var fast, deep time.Time
	for ctx.Err() == nil {
		now := e.clock.now()
		if now.Sub(deep) >= deepSweep {
			fast, deep = now, now
			l.again(0)
			clear(l.aside)
		} else if now.Sub(fast) >= fastSweep && !e.sole {
			fast = now
			l.again(now.Add(-recentPast).UnixMilli())
		}
		if at := e.resumedAt.Swap(0); at != 0 {
			l.early, l.unsettled = bellman.Position{Look: at}, e.asides.Load() > 0
			clear(l.aside)
		}
		more := true
		if len(l.pending) < maxPending {
			var err error
			if more, err = l.read(ctx, now); err == nil && l.early.Look != noTime {
				more, err = true, l.readEarly(ctx, now)
			}
			if err != nil {
				e.log.Error("due tasks cannot be read", "err", err)
				e.nap(ctx, time.Second, e.kick)
				continue
			}
		}
		moved := l.place(ctx, now)
		switch {
		case len(l.pending) > 0 && moved == 0:
			e.nap(ctx, 2*time.Millisecond, nil)
		case len(l.pending) == 0 && !more:
			e.behind.Store(false)
			e.nap(ctx, min(fastSweep, l.horizon/2), e.kick)
		}
	}
	return nil
}

// again makes the loader go back to an earlier look.
func (l *loader) again(look int64) {
	l.hand.mu.Lock()
	defer l.hand.mu.Unlock()
	l.hand.missed = min(l.hand.missed, look)
}

// read takes the next page in hand. more says that others follow.
func (l *loader) read(ctx context.Context, now time.Time) (more bool, err error) {
	all, waiting := l.hand.len()
	if all >= maxInHand-pageSize {
		return true, nil
	}
	to := now.Add(l.horizon).UnixMilli()
	if waiting >= maxInWheel {
		to = now.UnixMilli() + 1
	}
	from := l.hand.beginRead(l.cursor, to)
	l.page, err = l.store.Due(ctx, l.leases.shards(), from, to, pageSize, l.page[:0])
	if err != nil {
		l.hand.endRead(nil, l.cursor.Look, now.UnixMilli())
		l.again(from.Look)
		return false, err
	}
	l.cursor = bellman.Position{Look: to}
	more = len(l.page) == pageSize
	if more {
		last := l.page[pageSize-1]
		l.cursor = bellman.Position{Look: last.Look, ID: last.ID}
		if last.Look > now.UnixMilli() {
			// Plenty is due soon: what is read now will do for a while.
			l.horizon = max(min(time.Duration(last.Look-now.UnixMilli())*time.Millisecond, maxHorizon), minHorizon)
			more = waiting < maxInWheel
		}
		l.behind.Store(last.Look <= now.UnixMilli())
	} else {
		l.horizon = min(2*l.horizon, maxHorizon)
	}
	due := l.hand.endRead(l.page, l.cursor.Look, now.UnixMilli())
	for _, it := range due {
		it.suspect = it.Due < l.takeover
	}
	l.pending = append(l.pending, due...)
	l.wakeBefore(0)
	return more, nil
}

// place brings pending items to their lines. Those whose line is full stay, or
// are set aside if it will be full for long. It returns how many it placed.
func (l *loader) place(ctx context.Context, now time.Time) (moved int) {
	var late []*item
	patience := longWait
	if len(l.pending) >= maxPending {
		patience = shortWait
	}
	rest := l.pending[:0]
	for start := 0; start < len(l.pending); start += chunkSize {
		chunk := l.pending[start:min(start+chunkSize, len(l.pending))]
		l.fetch(ctx, chunk)
		for _, it := range chunk {
			switch {
			case it.task == nil && it.gone: // gone meanwhile
				moved++
			case l.offer(ctx, it, now):
				moved++
			case l.dispatch.Wait(now.UnixNano(), uint64(it.Line)) > patience:
				late = append(late, it)
				moved++
			default:
				rest = append(rest, it)
			}
		}
		l.pump()
	}
	clear(l.pending[len(rest):])
	l.pending = rest
	for _, it := range late {
		l.setAside(ctx, it, now)
	}
	return moved
}

// fetch reads the content of items, as far as the budget for it allows. Items
// whose task changed meanwhile are dropped.
func (e *Engine) fetch(ctx context.Context, items []*item) {
	entries := make([]bellman.Entry, 0, chunkSize)
	at := make([]*item, 0, chunkSize)
	for _, it := range items {
		if it.task == nil && (e.content.Load() < maxContent || !e.dispatch.Known(uint64(it.Line))) {
			entries = append(entries, it.Entry)
			at = append(at, it)
		}
	}
	if len(entries) == 0 {
		return
	}
	tasks, err := e.store.Load(ctx, entries)
	if err != nil {
		if ctx.Err() == nil {
			e.log.Error("due tasks cannot be read", "err", err)
		}
		return
	}
	for i, it := range at {
		if tasks[i] == nil {
			e.hand.drop(false, it)
			continue
		}
		e.hold(it, tasks[i])
	}
}

// fetchOne reads one item's content. It stays nil if the task changed meanwhile.
func (e *Engine) fetchOne(ctx context.Context, it *item) {
	tasks, err := e.store.Load(ctx, []bellman.Entry{it.Entry})
	switch {
	case err != nil:
		if ctx.Err() == nil {
			e.log.Error("a due task cannot be read", "task", it.ID, "err", err)
		}
		e.hand.drop(true, it)
	case tasks[0] == nil:
		e.hand.drop(false, it)
	default:
		e.hold(it, tasks[0])
	}
}

// hold gives an item its content, and counts it until the item is attempted.
func (e *Engine) hold(it *item, t *bellman.Task) {
	it.task = t
	it.bytes = contentBytes(t)
	e.content.Add(it.bytes)
}

// release ends what hold counts.
func (e *Engine) release(it *item) {
	e.content.Add(-it.bytes)
	it.bytes = 0
}

// contentBytes is about what a task takes in memory.
func contentBytes(t *bellman.Task) int64 { return int64(len(t.Body)+len(t.URL)) + 512 }
