package sim

import (
	"log/slog"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// sent records a request that leaves a node, and returns how many requests of its task left before.
func (g *ledger) sent(s *send) (nth int) {
	a := g.tasks[s.task]
	if a == nil {
		g.wrong(s.task, "%s attempts it, and it was never added", s.life)
		a = &account{}
		g.tasks[s.task] = a
	}
	g.count.Sends++
	nth = len(a.sends)
	a.sends = append(a.sends, s)
	if a.announcer == s.life {
		a.announcer = nil // it was sent
	}
	g.flying[s] = struct{}{}
	own := g.shard(s.shard).owner()
	s.node = g.shard(s.shard).ownerAt(s.begun).node
	g.tell(s.task, "%s sends attempt %d of version %d, due %s, trigger %v", s.life, s.number, s.version, g.since(s.due), s.trigger)
	g.stamp(4, int64(s.number), int64(s.version), int64(s.life.node.index))
	iced := time.Since(s.life.node.freezing()) < maxStill || time.Since(s.life.node.takenAt()) < maxTaken || time.Since(g.warped) < maxTaken ||
		time.Since(g.wentBack) < maxTaken
	s.iced = iced
	g.told(s.life, s.begun, s.clock)
	g.early(a, s)
	g.inTurn(a, s)
	g.doubted(a, s)
	if !g.punctual.IsZero() && !s.due.Before(g.punctual) && !s.life.world.plan.limited() {
		due, waited := s.due, time.Duration(0)
		if free := g.freeSince(&a.task); free.After(due) { // then it is read that it is, written, and asked for its turn
			due, waited = free, 5*s.life.world.plan.lag
		}
		late := s.clock.Sub(due)
		g.count.Calm++
		g.count.Latest = max(g.count.Latest, late)
		most := mostLate
		if s.life.world.plan.sole || a.by == s.life && g.shard(s.shard).ownerAt(a.changed).life == s.life {
			g.count.Own = max(g.count.Own, late)
			if !g.flooded || s.life.world.plan.sizes.Line == 0 { // else it may have had no room, and was read when it was due
				most = mostOwnLate
			}
		}
		if late > most+waited {
			g.wrong(s.task, "%s sent attempt %d %v late, and there was no trouble", s.life, s.number, late)
		}
	}
	if early := s.due.Sub(s.clock); early > 0 {
		g.wrong(s.task, "%s sent attempt %d %v before it was due", s.life, s.number, early)
	}
	st := &a.task.Status
	if away := a.by != s.life && !a.back && time.Now().Before(a.away); s.version == st.Version && (away || (st.Phase == bellman.HandedOver || st.Phase == bellman.Quarantined) && st.VisibleAt.After(s.clock)) {
		g.wrong(s.task, "%s sent attempt %d, and another node is making it, until %s", s.life, s.number, g.since(st.VisibleAt))
	}
	g.fresh(a, s, iced)
	g.unpaused(a, s, iced)
	g.recordable(s, iced)
	if !iced {
		g.limited(a, s)
	}
	g.punctually(a, s, iced)
	if !iced && (own.life != s.life || !g.alive(own.node)) {
		g.wrong(s.task, "%s sent attempt %d, and shard %d is %s's, alive %t", s.life, s.number, s.shard, own.life, g.alive(own.node))
	}
	return nth
}

// doubted holds that a handler learns that an attempt of its task may have been made and was not
// recorded: one that must not send twice then asks first.
func (g *ledger) doubted(a *account, s *send) {
	if s.doubt || s.iced || a.byHand || s.skewed() {
		return
	}
	for _, first := range a.sends[:len(a.sends)-1] {
		if first.number == s.number && first.recorded.IsZero() && !first.iced && !first.lost && !first.skewed() {
			g.wrong(s.task, "%s sends attempt %d, which %s has sent at %s, and is not told that it is in doubt", s.life, s.number, first.life, g.since(first.at))
		}
	}
}

// skewed reports whether the clock of a request's node was wrong by more than is allowed.
func (s *send) skewed() bool { return s.clock.Sub(s.begun).Abs() > store.MaxSkew }

// mostLate is how late an attempt is when nothing is wrong: what another node took in is looked
// for every second.
const (
	mostLate    = 1200 * time.Millisecond
	mostOwnLate = 250 * time.Millisecond // of a task that the node knew
)

// maxStill is how long after standing still a process may still send what it was about to send: it
// had checked before that it may.
const maxStill = time.Second

// maxTaken is how long a node that is dead for the database may still trust its leases and send.
const maxTaken = store.LeaseTTL

// arrived records a request at its receiver, and returns its number among the requests of its task,
// from 1.
func (g *ledger) arrived(s *send) int {
	a := g.tasks[s.task]
	a.arrivals++
	s.arrived = true
	g.tell(s.task, "attempt %d of %s arrives, the %d. request", s.number, s.life, a.arrivals)
	g.stamp(5, int64(a.arrivals))
	return a.arrivals
}

// logged adds a line of an engine's log to the story.
func (g *ledger) logged(l *life, r slog.Record) {
	r = r.Clone()
	g.events = append(g.events, event{time.Now(), bellman.ID{}, -1, func() string {
		var b strings.Builder
		b.WriteString(l.String() + " says: " + r.Message)
		r.Attrs(func(a slog.Attr) bool {
			b.WriteString(" " + a.String())
			return true
		})
		return b.String()
	}})
}
