package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
)

// A gate decides whether an attempt may start.
type gate struct {
	clock         *clock.Clock
	rules         *Rules
	leases        *cluster.Member
	agenda        *agenda
	loader        *loader
	contents      *contents
	dispatch      *dispatch.D[*item]
	chains        *chains
	announcer     *announcer
	pauses        *pauses
	unknownQueues *unknownQueues
	deferrals     *deferrals
	ticker        *ticker
	attempts      context.Context // of all attempts: it ends when they must
}

// A start is an attempt that the dispatcher has picked, while mayStart decides about it.
type start struct {
	ticket dispatch.Ticket
	item   *item
	route  bellman.Route // current rules of the task's merchant
	queue  Queue
	waits  bool // the item waits in the timers now: nothing more is to be done with it here
	moves  bool // the item must go to another line
}

// mayStart reports whether an attempt of one item may start now. Two other places stop attempts:
// runner.firing for the whole node, and runner.attempt for a task of another kind than its queue. A
// condition that returns false has already dropped, deferred or moved the item.
//
// The order of the conditions matters:
//   - Conditions that defer the task come before inAgenda. They take the item with agenda.defers
//     instead of agenda.fly.
//   - inAgenda fails if this node knows that the task was changed, for example cancelled. Otherwise
//     it marks the item as in flight. A change after that does not stop the attempt, unless the
//     attempt must be announced; recorder.reconcile merges the change and the outcome.
//   - announcedFirst comes right after inAgenda. It writes the task, and a write removes an item that
//     is not in flight from the agenda (committer.replace).
//   - Conditions that hold only for a moment come last, because writes take time.
func (g *gate) mayStart(s *start) bool {
	return g.hasContent(s) && // the content is in memory and was confirmed within the last second
		g.goesThere(s) && // the task goes to the endpoint whose turn it is
		g.notElsewhere(s) && // no other node is making the attempt, and the task is not in quarantine
		g.withinLimits(s) && // this node has a part of its cluster-wide limits
		g.notPaused(s) && // its merchant is not paused; the dispatcher holds paused queues and endpoints
		g.inTurn(s) && // the tasks before it with the same ordering key have ended
		g.inAgenda(s) && // nobody changed the task or took its shard while it waited
		g.announcedFirst(s) && // if it may have killed its last node, the attempt is announced on disk
		g.confirmedLately(s) && // the store has confirmed the content within the last 1.8 s
		g.trusted(s) && // the leases are this node's for sure
		g.served(s) && // its queue is configured here
		g.shardHeld(s) // its shard is neither lost nor being released
}

func (g *gate) hasContent(s *start) bool {
	it := s.item
	if !g.contents.confirmed(it, time.Now(), confirmAgain) {
		g.contents.release(it)
		if !g.contents.readOne(g.attempts, it) {
			return false
		}
	}
	s.route = g.rules.route(it.task)
	it.suspect = !it.fresh && suspect(g.leases, it.task)
	return true
}

func (g *gate) goesThere(s *start) bool {
	it := s.item
	if s.route.Endpoint == "" || s.ticket.Endpoint() == s.route.Endpoint {
		return true
	}
	q, _ := g.rules.queue(it.task.Queue)
	now := g.clock.Now()
	g.dispatch.Open(now.UnixNano(), uint64(it.Line), g.rules.ofLine(q, it.task, &s.route))
	g.contents.release(it)
	s.moves = true
	return false
}

func (g *gate) notElsewhere(s *start) bool {
	now := g.clock.Now()
	if notYet(s.item.task, now) {
		g.agenda.reload(s.item)
		return false
	}
	wait := elsewhere(g.leases.HeldSince, s.item.task, now)
	if wait > 0 { // VisibleAt has passed by this node's clock, but the former owner may still be attempting
		g.contents.release(s.item)
		s.waits = true
		g.agenda.later(s.item, wait)
		g.ticker.wakeBefore(0)
	}
	return wait == 0
}

// withinLimits moves a task to a shard that has a part of its cluster-wide limit, if this node has
// none: the limit is newer than the task.
func (g *gate) withinLimits(s *start) bool {
	it, t, endpoint := s.item, s.item.task, goes(s.item.task, &s.route)
	q, ok := g.rules.queue(t.Queue)
	q = q.under(limits(&s.route))
	shards := g.leases.Count()
	if !ok || g.leases.Sole() || !q.clusterWide() || q.home(endpoint, t.Shard, shards) || quotaOf(g.leases).serves(&q, endpoint) {
		return true
	}
	if !g.agenda.defers(it) {
		return false
	}
	now := g.clock.Now()
	to := t.Status
	random := uint16(rand.Uint32())
	if t.OrderingKey != "" {
		random = chance(t)
	}
	to.Shard = uint16(int(q.place(endpoint, random)) % shards)
	to.VisibleAt = roundUp(now) // the new owner finds it even without a hint
	if t.VisibleAt.After(t.Due) && t.VisibleAt.Sub(t.Updated) <= movedAgain {
		to.VisibleAt = roundUp(now.Add(movedAgain))
	}
	if it.suspect {
		to.Phase = bellman.Announced // its new shard may have had no death
	}
	to.Updated = now
	g.deferrals.write(it, to, bellman.ID{})
	return false
}

// movedAgain is how long a task rests that was moved before. During a change of the configuration,
// nodes with different limits move tasks to each other.
const movedAgain = 5 * time.Second

// notPaused defers a task whose merchant is paused, so that it does not occupy its line. It returns
// when the pause ends.
func (g *gate) notPaused(s *start) bool {
	t := s.item.task
	if g.pauses.merchant(t.MerchantNo) == nil {
		return true
	}
	q, _ := g.rules.queue(t.Queue)
	if _, routed := routerOf(&q, t); !routed {
		return true
	}
	g.deferrals.put(merchantShelf(t.MerchantNo), s.item)
	return false
}

func (g *gate) inTurn(s *start) bool {
	return s.item.task.OrderingKey == "" || g.chains.itsTurn(s.item)
}

func (g *gate) inAgenda(s *start) bool { return g.agenda.fly(s.item, s.route.TimeoutOf(s.item.task)) }

func (g *gate) announcedFirst(s *start) bool {
	it := s.item
	return !it.suspect || g.announcer.suspected(g.attempts, it) && (g.contents.confirmed(it, time.Now(), confirmAgain) || g.contents.confirm(g.attempts, it))
}

func (g *gate) confirmedLately(s *start) bool {
	if g.contents.confirmed(s.item, time.Now(), confirmedFor) {
		return true
	}
	g.contents.slowReads()
	g.agenda.reload(s.item)
	return false
}

func (g *gate) trusted(s *start) bool {
	if g.leases.Trusting() {
		return true
	}
	g.agenda.reload(s.item)
	return false
}

func (g *gate) served(s *start) (ok bool) {
	if s.queue, ok = g.rules.queue(s.item.task.Queue); !ok {
		g.unknownQueues.hold(s.item.task.Queue)
		g.agenda.reload(s.item)
		g.loader.wake()
	}
	return ok
}

func (g *gate) shardHeld(s *start) bool {
	if g.agenda.begin(s.item) {
		return true
	}
	g.agenda.reload(s.item)
	return false
}
