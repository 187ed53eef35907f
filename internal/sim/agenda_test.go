package sim

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman/internal/agendacheck"
)

// How often an engine's agenda is compared with the store, how many tasks of it, and how long a
// difference may last in good weather.
const (
	compareEvery = 3 * time.Second
	compareMost  = 200
	mostGap      = 9 * time.Second

	// A hint tells a node what others write. Without it, a sweep finds what has been due for less
	// than sweptBack by that node's clock. The sweep from the beginning finds the rest, within
	// deepSweep.
	sweptBack = 25 * time.Second
	deepSweep = 75 * time.Second

	// Where reads take long, most sweeps go back less than sweptBack, and one in wideSweep as far.
	narrowSweep = 2 * time.Second
	wideSweep   = 5 * time.Second
)

// compare holds what a node's engine believes against what the store says is due, whenever
// nothing has been wrong with the node for a while.
func (w *world) compare(n *node, over <-chan struct{}) {
	if w.plan.days {
		return
	}
	var (
		watch agendacheck.Watch
		of    *life
	)
	d := newDice(w.seed, "compare", n.index)
	for {
		select {
		case <-over:
			return
		case <-time.After(compareEvery + d.between(0, time.Millisecond)):
		}
		l, now := n.current(), time.Now()
		if l != of || l == nil || w.stormy(n.index, now.Add(-patience), now) || now.Sub(n.freezing()) < patience ||
			now.Sub(n.takenAt()) < patience || now.Sub(l.begun) < patience {
			watch, of = agendacheck.Watch{}, l
			continue
		}
		e := l.engine.Load()
		if e == nil {
			continue
		}
		for _, gap := range watch.Look(context.Background(), e, w.truth.at(), compareMost, mostGap) {
			w.note(func(g *ledger) {
				a := g.tasks[gap.ID]
				if a != nil && a.back { // the node's agenda has a later version
					return
				}
				if a != nil && !w.plan.sole && a.by != l {
					written := a.changed
					if written.IsZero() {
						written = a.added
					}
					since := time.Since(written)
					ahead := time.Until(e.Now()) + time.Duration(maxSlew*float64(since)) // at most, when it was written
					if written.Sub(gap.VisibleAt)+ahead > sweptBack && since < deepSweep {
						return
					}
				}
				g.wrong(gap.ID, "%s forgets it: %s, visible %s, and %s", l, g.since(gap.Due), g.since(gap.VisibleAt), gap.Why)
			})
		}
		w.note(func(g *ledger) {
			if !g.ruled.IsZero() && now.Sub(g.ruled) < patience || g.others > 0 {
				watch.Forget()
			}
			g.count.Compared++
		})
	}
}
