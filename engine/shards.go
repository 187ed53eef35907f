package engine

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

// A host reacts when shards come to this node and leave it. See [cluster.Host].
type host struct {
	agenda    *agenda
	loader    *loader
	dispatch  *dispatch.D[*item]
	contents  *contents
	shares    *shares
	announcer *announcer
	handover  *handover
	pauses    *pauses
	runner    *runner
	leases    *cluster.Member
	watch     *watch
}

var _ cluster.Host = (*host)(nil)

func (h *host) Gained(shards []uint16) {
	h.agenda.own(shards)
	h.loader.rescans.all(shards)
	h.loader.wake()
	h.shares.apply()
	dead := 0
	for _, s := range shards {
		if d := h.leases.Death(s); d != (cluster.Death{}) && !d.Kept {
			dead++
		}
	}
	if dead > 0 {
		h.watch.history.Claimed(h.watch.clock.Now(), dead)
	}
}

func (h *host) Left(shards ...uint16) {
	items := h.agenda.leave(shards...)
	gone := make(map[*item]struct{}, len(items))
	lines := make(map[store.Line]struct{})
	for _, it := range items {
		gone[it] = struct{}{}
		lines[it.Line] = struct{}{}
	}
	for line := range lines {
		h.dispatch.Remove(uint64(line), func(it *item) bool {
			_, ok := gone[it]
			if ok {
				h.contents.release(it)
			}
			return ok
		})
	}
	h.shares.apply()
}

func (h *host) Lost(shard uint16) { h.announcer.lost(shard) }

func (h *host) Drain(ctx context.Context, shard uint16) bool {
	return h.handover.drain(ctx, shard) && sleep.Retry(ctx, func() bool { return h.announcer.withdraw(ctx, shard) })
}

func (h *host) Stuck(shard uint16) bool { return h.agenda.stuck(shard) }

func (h *host) Stick(shard uint16) { h.agenda.stick(shard) }

func (h *host) ReadDocs() func([]store.Doc, error) error { return h.pauses.reading() }

func (h *host) Changed() { h.runner.fireAgain() }

// shares apply the part of each cluster-wide limit that this node may use.
type shares struct {
	clock    *clock.Clock
	rules    *Rules
	leases   *cluster.Member
	dispatch *dispatch.D[*item]
	outcomes interface{ Pace(time.Duration) } // the lane of outcomes
	ticker   *ticker
}

// apply sets the limits of all known lines, and the pace of commits, for the shards that this node
// has now.
func (s *shares) apply() {
	queues, quota := *s.rules.queues.Load(), quotaOf(s.leases)
	s.dispatch.Reload(s.clock.Now().UnixNano(), func(was dispatch.Rules) dispatch.Rules {
		rules := queues[was.Queue].under(was.Own).rules(was.Queue, was.Endpoint, quota)
		rules.Own = was.Own
		return rules
	})
	s.ticker.wakeBefore(0) // some lines may go earlier now
	if !s.leases.Sole() {
		s.outcomes.Pace(min(time.Duration(float64(gatherServer)/quota.part), gatherMost))
	}
}
