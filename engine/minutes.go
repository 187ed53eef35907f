package engine

import (
	"time"

	"github.com/bellmanhq/bellman"
)

// Minutes returns what this node did in each of the latest n minutes, a day at
// most, the oldest first; the last one is the current minute, which is not over.
// There is nothing of the time before the node started.
func (e *Engine) Minutes(n int) []bellman.Stats {
	return e.watch.history.each(e.clock.now(), e.watch.started, n)
}

// each returns the figures of the latest n minutes since started.
func (h *history) each(now, started time.Time, n int) []bellman.Stats {
	tallies := h.tallies(now, started, n)
	all := make([]bellman.Stats, len(tallies))
	for i := range tallies {
		all[i] = sumTallies(tallies[i : i+1])
	}
	return all
}

// tallies are each as they can be summed up with others.
func (h *history) tallies(now, started time.Time, n int) []Tally {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := now.Unix() / 60
	first := max(last-int64(min(n, len(h.minutes)))+1, started.Unix()/60)
	var all []Tally
	for at := first; at <= last; at++ {
		t := Tally{Since: time.Unix(at*60, 0).UTC(), Counts: (&counts{}).public()}
		if m := h.minutes[at%int64(len(h.minutes))]; m != nil && m.at == at {
			t.Counts, t.Late, t.Took = m.counts.public(), m.late.durations(), m.took.durations()
		}
		all = append(all, t)
	}
	return all
}
