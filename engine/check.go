package engine

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/internal/handcheck"
	"github.com/bellmanhq/bellman/store"
)

func init() {
	handcheck.Gaps = func(ctx context.Context, e any, s handcheck.Store, most int) ([]handcheck.Gap, bool) {
		return e.(*Engine).gaps(ctx, s, most)
	}
}

// gaps compares the hand with the due index, by what the loader's cursors promise:
//
//   - what is due, in a shard of this node, is in hand, or noted as missed, or after the cursor with
//     which the loader looks back, or in a span that it was told to read;
//   - with an exclusive store the same holds of what is not due yet, up to the cursor with which the
//     loader reads ahead;
//   - what is in the wheel has a look to come, what is held is pending in the loader;
//   - what was set aside before a pause ended, and is not paused any more, is not in the wheel, once
//     the loader has brought back what had been set aside.
//
// Each may be untrue for a moment, while a commit or a page is on its way.
func (e *Engine) gaps(ctx context.Context, s handcheck.Store, most int) (gaps []handcheck.Gap, ok bool) {
	l := e.loader.Load()
	if l == nil || !e.ready.Load() || !e.leases.trusting() || !l.busy.TryLock() {
		return nil, false
	}
	defer l.busy.Unlock()
	now := e.clock.now().UnixMilli()
	until := now + 1
	if e.sole || l.resumed != 0 {
		until = noTime
	}
	page, err := s.Due(ctx, e.leases.shards(), store.Position{}, until, most, nil)
	if err != nil {
		return nil, false
	}
	pending := make(map[*item]bool, len(l.pending))
	for _, it := range l.pending {
		pending[it] = true
	}
	told := e.found.waiting()
	report := func(en *store.Entry, why string) {
		gaps = append(gaps, handcheck.Gap{ID: en.ID, Version: en.Version, Look: time.UnixMilli(en.VisibleAt), Due: time.UnixMilli(en.Due), Why: why})
	}
	var asleep []store.Entry // as it seems
	e.hand.mu.Lock()
	for i := range page {
		en := &page[i]
		it, known := e.hand.items[en.ID]
		switch {
		case !e.hand.owns(en.Shard) || told:
		case !known && (en.VisibleAt <= now || e.sole) && !l.comesTo(en):
			report(en, "it is not in hand, and the loader does not come to it")
		case known && it.Version == en.Version && it.place == inWheel && en.VisibleAt <= now:
			report(en, "its look is over, and it is in the wheel")
		case known && it.place == held && !pending[it]:
			report(en, "it is held by nobody")
		case l.resumed != 0 && l.early == nowhere && en.VisibleAt > now && en.VisibleAt <= l.resumed+maxAside.Milliseconds() && en.Due <= l.resumed && (!known || it.place == inWheel && it.Version == en.Version):
			asleep = append(asleep, *en)
		}
	}
	flying, queued := 0, 0
	for _, it := range e.hand.items {
		switch it.place {
		case inFlight:
			flying++
		case inLine:
			queued++
		}
	}
	e.hand.mu.Unlock()
	totals := e.dispatch.Totals()
	if queued > 0 && totals.Waiting == 0 {
		gaps = append(gaps, handcheck.Gap{Why: "tasks are in line by the hand, and no line has any"})
	}
	if flying > 0 && totals.InFlight == 0 && !e.todo.Busy() {
		gaps = append(gaps, handcheck.Gap{Why: "tasks are in flight by the hand, and no attempt is being made or recorded"})
	}
	if len(asleep) > 0 && e.resumedAt.Load() == 0 && e.asides.Load() == 0 {
		tasks, err := s.Load(ctx, asleep)
		for i, t := range tasks {
			at := now * 1e6
			if err == nil && t != nil && t.Phase == bellman.Deferred && t.Updated.UnixMilli() < l.resumed && e.dispatch.Wait(at, uint64(asleep[i].Line)) != dispatch.Forever {
				report(&asleep[i], "it was set aside before a pause ended, and was not brought back")
			}
		}
	}
	return gaps, true
}

// comesTo reports whether the loader will read an entry that is not in hand. Call it with the hand's
// mutex held.
func (l *loader) comesTo(en *store.Entry) bool {
	after := func(p store.Position) bool {
		return p != nowhere && (en.VisibleAt > p.VisibleAt || en.VisibleAt == p.VisibleAt && bytes.Compare(en.ID[:], p.ID[:]) > 0)
	}
	ahead := store.Position{VisibleAt: l.ahead - 1}
	if l.partly.VisibleAt != 0 {
		ahead = l.partly
	}
	if l.hand.missed <= en.VisibleAt || l.hand.missedAhead <= en.VisibleAt || after(l.back) || after(l.skipped) || en.VisibleAt >= l.ahead && after(ahead) {
		return true
	}
	for _, s := range l.spans {
		if after(s.at) && en.VisibleAt < s.to {
			return true
		}
	}
	return slices.ContainsFunc(l.hand.following, func(a *asOf) bool { return a != l.hand.page }) // perhaps it is being added
}

// waiting reports whether the loader was told of something that it has not looked at yet.
func (f *found) waiting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.won)+len(f.spans) > 0
}
