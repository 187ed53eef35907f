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
	h.mu.Lock()
	defer h.mu.Unlock()
	last := now.Unix() / 60
	first := max(last-int64(min(n, len(h.minutes)))+1, started.Unix()/60)
	var all []bellman.Stats
	for at := first; at <= last; at++ {
		s := bellman.Stats{Since: time.Unix(at*60, 0).UTC(), Counts: (&counts{}).public()}
		if m := &h.minutes[at%int64(len(h.minutes))]; m.at == at {
			s.Counts, s.Lateness, s.Took = m.counts.public(), m.late.percentiles(), m.took.percentiles()
		}
		all = append(all, s)
	}
	return all
}
