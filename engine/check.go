package engine

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/internal/agendacheck"
	"github.com/bellmanhq/bellman/store"
)

func init() {
	agendacheck.Gaps = func(ctx context.Context, e any, s agendacheck.Store, most int) ([]agendacheck.Gap, bool) {
		return e.(*Engine).gaps(ctx, s, most)
	}
}

// gaps compares the agenda with the due index of the store. The loader's cursors promise:
//
//   - a due task of this node's shards is in the agenda, or noted as missed, or after the cursor that
//     reads overdue tasks, or in a range that is to be read again;
//   - with an exclusive store the same holds for tasks that are due later, up to the cursor that
//     reads ahead;
//   - a task in the timers is not due yet, and a held task is pending in the loader;
//   - a deferred task is in the agenda, or its shelf will be read from there or earlier, or its shelf
//     is being searched for.
//
// Each may be untrue for a moment, while a commit or a page is on its way.
func (e *Engine) gaps(ctx context.Context, s agendacheck.Store, most int) (gaps []agendacheck.Gap, ok bool) {
	l := e.loader
	if !e.runner.ready.Load() || !e.leases.Trusting() || !l.busy.TryLock() {
		return nil, false
	}
	defer l.busy.Unlock()
	if !l.begun {
		return nil, false
	}
	now := e.clock.Now().UnixMilli()
	until := now + 1
	if e.leases.Sole() {
		until = int64(firstShelf)
	}
	page, err := s.Due(ctx, e.leases.Shards(), store.Position{}, until, most, nil)
	if err != nil {
		return nil, false
	}
	if page, err = s.Due(ctx, e.leases.Shards(), store.Position{VisibleAt: int64(firstShelf)}, noTime, most, page); err != nil {
		return nil, false
	}
	pending := make(map[*item]bool, len(l.pending))
	for _, it := range l.pending {
		pending[it] = true
	}
	rescanning := l.rescans.waiting()
	report := func(en *store.Entry, why string) {
		gaps = append(gaps, agendacheck.Gap{ID: en.ID, Version: en.Version, VisibleAt: time.UnixMilli(en.VisibleAt), Due: time.UnixMilli(en.Due), Why: why})
	}
	totals := e.dispatch.Totals()
	e.agenda.mu.Lock()
	for i := range page {
		en := &page[i]
		it, known := e.agenda.items[en.ID]
		switch {
		case !e.agenda.shards.has(en.Shard) || rescanning:
		case !known && !l.comesTo(en):
			report(en, "it is not in the agenda, and the loader does not come to it")
		case known && it.Version == en.Version && it.place == inTimers && it.when() <= now:
			report(en, "its time has come, and it still waits in the timers")
		case known && it.place == held && !pending[it]:
			report(en, "its place is held, and nobody holds it")
		}
	}
	none, idle := totals.Waiting == 0, totals.InFlight == 0 && !e.committer.todo.Busy()
	for _, it := range e.agenda.items {
		switch {
		case len(gaps) >= most:
		case it.place == inLine && none:
			report(&it.Entry, "its place is in a line, and no line has a task")
		case it.place == inFlight && idle:
			report(&it.Entry, "its place is in flight, and no attempt is being made or recorded")
		}
	}
	e.agenda.mu.Unlock()
	return gaps, true
}

// comesTo reports whether the loader will read an entry that is not in the agenda. The caller holds
// the agenda's mutex.
func (l *loader) comesTo(en *store.Entry) bool {
	after := func(p store.Position) bool {
		return p != nowhere && (en.VisibleAt > p.VisibleAt || en.VisibleAt == p.VisibleAt && bytes.Compare(en.ID[:], p.ID[:]) > 0)
	}
	if isShelf(en.VisibleAt) {
		sh, ok := l.shelves.get(shelf(en.VisibleAt))
		if ok && bytes.Compare(sh.from[:], en.ID[:]) <= 0 || l.search != nil && after(l.search.at) && slices.Contains(l.search.shards, en.Shard) {
			return true
		}
		return len(l.agenda.departures.followers) > 0
	}
	ahead := store.Position{VisibleAt: l.ahead - 1}
	if l.partly.VisibleAt != 0 {
		ahead = l.partly
	}
	if l.agenda.missed.due <= en.VisibleAt || l.agenda.missed.ahead <= en.VisibleAt || after(l.back) || after(l.skipped) || en.VisibleAt >= l.ahead && after(ahead) {
		return true
	}
	for _, s := range l.spans {
		if after(s.at) && en.VisibleAt < s.to {
			return true
		}
	}
	return len(l.agenda.departures.followers) > 0 // a commit follows, so perhaps it is being added
}

// waiting reports whether there are ranges that the loader has not seen yet.
func (f *rescans) waiting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.won)+len(f.spans) > 0
}
