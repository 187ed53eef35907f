package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
)

// judge checks the promises at the end of a run.
func (w *world) judge() {
	w.note(func(g *ledger) {
		for _, id := range g.order {
			a := g.tasks[id]
			w.sends(g, id, a)
			w.ended(g, id, a)
		}
		w.left(g)
		for n, s := range g.shards {
			if o := s.owner(); o.node != "" {
				g.wrong(bellman.ID{}, "shard %d is still %s's, and all nodes stopped in order", n, o.node)
			}
		}
		for _, l := range g.lives {
			if l.failed != nil && !strings.Contains(l.failed.Error(), "belong to other nodes") && l.alive() && !w.stormy(l.node.index, l.over.Add(-time.Minute), l.over) {
				g.wrong(bellman.ID{}, "%s ended with an error in good weather: %v", l, l.failed)
			}
		}
	})
}

// ended checks that the end of a task follows from its log.
func (w *world) ended(g *ledger, id bellman.ID, a *account) {
	if a.vanished {
		return
	}
	st := &a.task.Status
	if int(st.Attempts) != len(a.log) && !a.torn {
		g.wrong(id, "counts %d attempts, and has %d in its log", st.Attempts, len(a.log))
	}
	if !st.State.Ended() {
		g.wrong(id, "has not ended: accepted %t, version %d, due %s, look %s, shard %d of %s", a.accepted, st.Version,
			g.since(st.Due), g.since(st.VisibleAt), st.Shard, g.shard(st.Shard).owner().life)
		return
	}
	if a.pruned {
		return
	}
	if st.State == bellman.Cancelled {
		return
	}
	counted, accepted, gone := 0, 0, 0
	for _, at := range a.log {
		switch {
		case at.Result == bellman.Unknown:
		case at.Status == 410:
			gone++
		case at.Result == bellman.Accepted:
			accepted++
		default:
			counted++
		}
	}
	if a.task.Queue == "pay" && !g.known["told/"+sequelKey(&a.task)] {
		g.wrong(id, "ended as %v, and nobody is told", st.State)
	}
	want := map[string]int{"pay": 5, "long": 12}[a.task.Queue]
	if w.plan.days && a.task.Queue == "pay" && a.task.Schedule == "wechat_notify" {
		want = 16
	}
	s := read(a.task.Body)
	switch {
	case a.byHand:
	case st.State == bellman.Succeeded && (accepted < 1 || accepted > 1+a.twice || !a.said):
		g.wrong(id, "succeeded, with %d accepted attempts in its log; the receiver said so: %t", accepted, a.said)
	case st.Reason == "gave_up" && (gone < 1 || gone > 1+a.twice):
		g.wrong(id, "gave up, with %d attempts that say so in its log", gone)
	case st.State == bellman.Failed && accepted > a.twice: // of what was sent twice the later answer is only logged
		g.wrong(id, "failed (%s), and was accepted", st.Reason)
	case st.Reason == "attempts_used_up" && (counted < want || counted > want+a.twice+1) && a.task.Queue == "pay":
		g.wrong(id, "used up its attempts with %d of %d", counted, want)
	case a.arrivals > s.refuse+8*len(w.receivers) && s.refuse >= 0 && a.task.Queue == "pay":
		g.wrong(id, "was sent %d times, to be accepted after %d", a.arrivals, s.refuse)
	}
}

// sends checks that each request was recorded, and that none was sent again for the same due time,
// unless its node died or lost the shard in between.
func (w *world) sends(g *ledger, id bellman.ID, a *account) {
	for i, s := range a.sends {
		if s.recorded.IsZero() && !w.excused(g, s, time.Now()) {
			g.wrong(id, "attempt %d of %s, sent at %s, was never recorded, and nothing happened to its node", s.number, s.life, g.since(s.at))
		}
		for _, again := range a.sends[i+1:] {
			if !again.due.Equal(s.due) || again.trigger == bellman.ByHand || a.byHand {
				continue
			}
			g.count.Twice++
			first, second := s, again
			if second.begun.Before(first.begun) {
				first, second = second, first // it stood still before it sent
			}
			until := second.at
			if !first.recorded.IsZero() && first.recorded.Before(until) {
				until = first.recorded
			}
			if !second.iced && !w.excused(g, first, until) {
				g.wrong(id, "attempt %d of %s, sent at %s, was sent again by %s at %s, and nothing had happened to the first",
					first.number, first.life, g.since(first.at), second.life, g.since(second.at))
			}
			a.twice++
			break
		}
	}
}

// stopTimeout is how long a stop waits for what is in flight (engine.Options).
const stopTimeout = 8 * time.Second

// excused reports whether a fault of a request's node, between the start of the request and some
// time, explains that it was not recorded or that another node sent it again.
func (w *world) excused(g *ledger, s *send, to time.Time) bool {
	l := s.life
	if s.iced || s.lost {
		return true
	}
	if !l.died.IsZero() && !l.died.After(to) {
		return true
	}
	if !l.over.IsZero() && !l.over.After(to) && w.stormy(l.node.index, l.stopped.Add(-10*time.Second), l.over) {
		return true // it stopped in order, and could not record the attempt
	}
	if !l.over.IsZero() && s.result == bellman.Unknown && !s.recorded.IsZero() && l.over.Sub(l.stopped) >= stopTimeout {
		return true // its stop interrupted the attempt
	}
	if w.stopped(g, s) && s.recorded.IsZero() {
		to = l.stopped // it records what it had then
	}
	return slices.ContainsFunc(g.shard(s.shard).owners, func(o owner) bool {
		return o.node != s.node && o.at.After(s.begun) && !o.at.After(to)
	})
}

// stopped reports whether a request's node stopped in order, in good weather, when it had the
// answer.
func (w *world) stopped(g *ledger, s *send) bool {
	l, a := s.life, g.tasks[s.task]
	return l.failed == nil && l.died.IsZero() && !l.stopped.IsZero() && !s.landed.IsZero() && s.landed.Before(l.over) &&
		l.over.Sub(l.stopped) < stopTimeout && !l.taken.After(l.stopped.Add(-patience)) && !w.stormy(l.node.index, l.stopped.Add(-patience), l.over) &&
		!a.pruned && w.poison(&a.task).Before(l.stopped)
}
