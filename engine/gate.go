package engine

import (
	"math/rand/v2"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
)

// A start is an attempt whose line lets it go, while it is found out whether it may be made.
type start struct {
	ticket dispatch.Ticket
	item   *item
	route  bellman.Route // what holds for the task beside its queue's rules
	queue  Queue
	waits  bool // the item waits in another line now, or for a later time: nothing more is to be done with it here
}

// A gate decides whether an attempt may start.
type gate struct {
	clock         *clock
	rules         *Rules
	leases        *leases
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
	runner        *runner
}

// mayStart reports whether an attempt may be made now, and it alone decides that. What is false has seen to the item: it was
// dropped, to be read again, or deferred, or it waits elsewhere.
//
// What writes to disk comes before inHand, or right after it; what is true only for a moment comes last.
func (g *gate) mayStart(s *start) bool {
	return g.hasContent(s) && // what the task says is in memory, and no more than a second old
		g.goesThere(s) && // it goes to the endpoint whose turn this is
		g.notElsewhere(s) && // no other node is making the attempt, and it is not in quarantine
		g.withinLimits(s) && // its limits are this node's to use
		g.notPaused(s) && // its merchant is not paused; queues and endpoints that are paused do not come here
		g.inTurn(s) && // those before it with the same ordering key have ended
		g.inAgenda(s) && // nobody changed it, or took its shard, while it waited
		g.announcedFirst(s) && // if it may have killed its last node, the attempt is on disk before it is made
		g.confirmedLately(s) && // the store has said within 1.8 s that the task is as it is in memory
		g.trusted(s) && // the leases are this node's for sure
		g.served(s) && // this node still has its queue
		g.shardHeld(s) // its shard is neither lost nor being given back
}

func (g *gate) hasContent(s *start) bool {
	it := s.item
	if !g.contents.confirmed(it, time.Now(), confirmAgain) {
		g.contents.release(it)
		if !g.contents.readOne(g.runner.attempts, it) {
			return false
		}
	}
	s.route = g.rules.route(it.task)
	return true
}

func (g *gate) goesThere(s *start) bool {
	it := s.item
	if s.route.Endpoint == "" || s.ticket.Endpoint() == s.route.Endpoint {
		return true
	}
	q, _ := g.rules.queue(it.task.Queue)
	now := g.clock.now()
	g.dispatch.Open(now.UnixNano(), uint64(it.Line), g.rules.ofLine(q, it.task, &s.route))
	g.contents.release(it)
	s.waits = true
	g.runner.bring([]*item{it}, now)
	return false
}

func (g *gate) notElsewhere(s *start) bool {
	now := g.clock.now()
	if notYet(s.item.task, now) {
		g.agenda.drop(true, s.item)
		return false
	}
	wait := g.leases.elsewhere(s.item.task, now)
	if wait > 0 { // by this node's clock it has ended
		g.contents.release(s.item)
		s.waits = true
		g.agenda.later(s.item, wait)
		g.ticker.wakeBefore(0)
	}
	return wait == 0
}

// withinLimits moves a task to a shard that has a piece of its queue's limit, if this node has none: the task was
// added while the limit was another, or there was none.
func (g *gate) withinLimits(s *start) bool {
	it, t, endpoint := s.item, s.item.task, goes(s.item.task, &s.route)
	q, ok := g.rules.queue(t.Queue)
	q = q.under(limits(&s.route))
	shards := g.leases.count()
	if !ok || g.leases.sole || !q.clusterWide() || q.home(endpoint, t.Shard, shards) || g.leases.quota().serves(&q, endpoint) {
		return true
	}
	if !g.agenda.defers(it) {
		return false
	}
	now := g.clock.now()
	to := t.Status
	random := uint16(rand.Uint32())
	if t.OrderingKey != "" {
		random = chance(t)
	}
	to.Shard = uint16(int(q.place(endpoint, random)) % shards)
	to.VisibleAt = roundUp(now) // so that its owner finds it without being told
	if t.VisibleAt.After(t.Due) && t.VisibleAt.Sub(t.Updated) <= movedAgain {
		to.VisibleAt = roundUp(now.Add(movedAgain))
	}
	to.Updated = now
	g.deferrals.write(it, to, nil)
	return false
}

// movedAgain is how long a task rests that was moved before: nodes whose limits differ,
// while one has a new configuration and the other has not, move it to each other.
const movedAgain = 5 * time.Second

// notPaused defers a task whose merchant is paused, so that it takes nobody's place in line; when the pause ends
// it comes back at once.
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
	return !it.suspect || g.announcer.suspected(g.runner.attempts, it) && (g.contents.confirmed(it, time.Now(), confirmAgain) || g.contents.confirm(g.runner.attempts, it))
}

func (g *gate) confirmedLately(s *start) bool {
	if g.contents.confirmed(s.item, time.Now(), confirmedFor) {
		return true
	}
	g.contents.slowReads()
	g.agenda.drop(true, s.item)
	return false
}

func (g *gate) trusted(s *start) bool {
	if g.leases.trusting() {
		return true
	}
	g.agenda.drop(true, s.item)
	return false
}

func (g *gate) served(s *start) (ok bool) {
	if s.queue, ok = g.rules.queue(s.item.task.Queue); !ok {
		g.unknownQueues.hold(s.item.task.Queue)
		g.agenda.drop(true, s.item)
		g.loader.wake()
	}
	return ok
}

func (g *gate) shardHeld(s *start) bool {
	if g.agenda.begin(s.item) {
		return true
	}
	g.agenda.drop(true, s.item)
	return false
}
