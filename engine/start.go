package engine

import (
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
	inLine bool // the item waits in another line now: nothing more is to be done with it here
}

// mayStart reports whether an attempt may be made now, and it alone decides that. What is false has seen to the item: it was
// dropped, to be read again, or set aside, or it waits elsewhere.
//
// What writes to disk comes before inHand, or right after it; what is true only for a moment comes last.
func (e *Engine) mayStart(s *start) bool {
	return e.hasContent(s) && // what the task says is in memory, and no more than a second old
		e.goesThere(s) && // it goes to the endpoint whose turn this is
		e.notElsewhere(s) && // no other node is making the attempt, and it is not in quarantine
		e.withinLimits(s) && // its limits are this node's to use
		e.notPaused(s) && // its merchant is not paused; queues and endpoints that are paused do not come here
		e.inTurn(s) && // those before it with the same ordering key have ended
		e.inHand(s) && // nobody changed it, or took its shard, while it waited
		e.announcedFirst(s) && // if it may have killed its last node, the attempt is on disk before it is made
		e.confirmedLately(s) && // the store has said within 1.8 s that the task is as it is in memory
		e.trusted(s) && // the leases are this node's for sure
		e.served(s) && // this node still has its queue
		e.shardHeld(s) // its shard is neither lost nor being given back
}

func (e *Engine) hasContent(s *start) bool {
	it := s.item
	if !e.confirmed(it, time.Now(), confirmAgain) {
		e.release(it)
		if !e.fetchOne(e.attempts, it) {
			return false
		}
	}
	s.route = e.Route(it.task)
	return true
}

func (e *Engine) goesThere(s *start) bool {
	s.inLine = e.rerouted(s.ticket, s.item, &s.route)
	return !s.inLine
}

func (e *Engine) notElsewhere(s *start) bool {
	if notYet(s.item.task, e.clock.now()) {
		e.hand.drop(true, s.item)
		return false
	}
	return true
}

func (e *Engine) withinLimits(s *start) bool { return !e.sentHome(s.item, &s.route) }

func (e *Engine) notPaused(s *start) bool { return !e.heldBack(s.item) }

func (e *Engine) inTurn(s *start) bool { return s.item.task.OrderingKey == "" || e.itsTurn(s.item) }

func (e *Engine) inHand(s *start) bool { return e.hand.fly(s.item, s.route.TimeoutOf(s.item.task)) }

func (e *Engine) announcedFirst(s *start) bool {
	it := s.item
	return !it.suspect || e.suspected(it) && (e.confirmed(it, time.Now(), confirmAgain) || e.confirm(it))
}

func (e *Engine) confirmedLately(s *start) bool {
	if e.confirmed(s.item, time.Now(), confirmedFor) {
		return true
	}
	e.slowReads()
	e.hand.drop(true, s.item)
	return false
}

func (e *Engine) trusted(s *start) bool {
	if e.leases.trusting() {
		return true
	}
	e.hand.drop(true, s.item)
	return false
}

func (e *Engine) served(s *start) (ok bool) {
	if s.queue, ok = e.queue(s.item.task.Queue); !ok {
		e.stray(s.item.task.Queue)
		e.hand.drop(true, s.item)
		e.kickLoader()
	}
	return ok
}

func (e *Engine) shardHeld(s *start) bool {
	if e.hand.begin(s.item) {
		return true
	}
	e.hand.drop(true, s.item)
	return false
}
