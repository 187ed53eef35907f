package sim

import (
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A wall is the wall clock of a node, which is set now and then, and may run quicker or slower
// than it should.
type wall struct {
	mu    sync.Mutex
	since time.Time     // when one of these changed last
	ahead time.Duration // of the truth, then
	drift float64       // seconds gained per second
}

func (c *wall) now() time.Time {
	moment := time.Now()
	return moment.Add(c.off(moment))
}

// off is how far it is ahead of the truth.
func (c *wall) off(moment time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead + time.Duration(c.drift*float64(moment.Sub(c.since)))
}

// right reports whether it shows the truth since then, and will.
func (c *wall) right(then time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead == 0 && c.drift == 0 && !c.since.After(then)
}

// set makes it so far ahead, and gain so much from now on.
func (c *wall) set(ahead time.Duration, drift float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since, c.ahead, c.drift = time.Now(), ahead, drift
}

// A hand is what is known of the clock that an engine goes by: it follows its node's wall
// clock, at a rate that differs from the truth's by a tenth at most.
type hand struct {
	at          time.Time     // when it was read last
	off         time.Duration // ahead of the truth, then
	least, most time.Duration // that the wall clock was ahead since the engine's start
	astray      time.Time     // since when the wall clock may have been wrong; zero: it was not
	calm        time.Time     // since when it has been right for good
	left        time.Duration // that this clock was ahead then
}

const maxSlew = 0.1

func newHand(c *wall) hand {
	now := time.Now()
	off := c.off(now)
	h := hand{at: now, off: off, least: off, most: off}
	h.see(c)
	return h
}

// see notes what the wall clock shows, before and after it changes, and when it matters.
func (h *hand) see(c *wall) {
	now := time.Now()
	off := c.off(now)
	h.least, h.most = min(h.least, off), max(h.most, off)
	if h.astray.IsZero() && !c.right(now) {
		h.astray = now
	}
}

// wrong is how far off the engine's clock may be by now, whatever it says.
func (h *hand) wrong(c *wall) time.Duration {
	h.see(c)
	if h.astray.IsZero() {
		return 0
	}
	moment := time.Now()
	gained := time.Duration(maxSlew * float64(moment.Sub(h.astray)))
	return min(max(h.most, -h.least), store.MaxSkew+gained) + time.Millisecond
}

// told holds what an engine's clock said against the truth.
func (g *ledger) told(l *life, moment, clock time.Time) {
	h := &l.hand
	if moment.Before(h.at) { // it stood still since
		return
	}
	h.see(&l.node.wall)
	off := clock.Sub(moment)
	if moved, may := off-h.off, time.Duration(maxSlew*float64(moment.Sub(h.at))); moved.Abs() > may+time.Microsecond {
		g.wrong(bellman.ID{}, "the clock of %s gained %v in %v", l, moved, moment.Sub(h.at))
	}
	if off < h.least-time.Microsecond || off > h.most+time.Microsecond {
		g.wrong(bellman.ID{}, "the clock of %s is %v ahead, and the wall clock was %v to %v", l, off, h.least, h.most)
	}
	h.at, h.off = moment, off
}

// clock is what a life's engine takes for the time, or would if it had not ended.
func (l *life) clock() time.Time {
	if e := l.engine.Load(); e != nil {
		return e.Now()
	}
	return time.Now().Add(l.hand.off)
}

// clocks reads those of all engines. When there is calm, what they are off must be made good.
func (w *world) clocks() {
	for _, n := range w.nodes {
		l := n.current()
		if l == nil {
			continue
		}
		e := l.engine.Load()
		if e == nil {
			continue
		}
		now := time.Now()
		clock := e.Now()
		w.note(func(g *ledger) {
			g.told(l, now, clock)
			h := &l.hand
			if h.calm.IsZero() {
				h.calm, h.left = now, h.off
			}
			const slack = 5 * time.Second // to notice
			good := time.Duration(maxSlew * float64(max(now.Sub(h.calm)-slack, 0)))
			if h.off.Abs() > max(h.left.Abs()-good, 0)+time.Microsecond {
				g.wrong(bellman.ID{}, "the clock of %s is %v ahead, and was %v when its wall clock was set right %v ago", l, h.off, h.left, now.Sub(h.calm))
			}
		})
	}
}

// A gap is what lies between the start of one attempt and that of the next, by the schedule.
type gap struct {
	version uint32 // of the task, when it waits for the next
	life    *life  // that made the one, or took the task in
	begun   time.Time
	least   time.Duration
	wrong   time.Duration // that the life's clock may have been
}

// gaps are those of the schedules that tasks have here.
var gaps = map[string][]time.Duration{
	"pay":  {0, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute},
	"long": {time.Second, 2 * time.Second, 4 * time.Second},
	"told": {0, 10 * time.Second},
	"days": {0, 15 * time.Second, 15 * time.Second, 30 * time.Second, 3 * time.Minute, 10 * time.Minute,
		20 * time.Minute, 30 * time.Minute, 30 * time.Minute, 30 * time.Minute, time.Hour,
		3 * time.Hour, 3 * time.Hour, 3 * time.Hour, 6 * time.Hour, 6 * time.Hour},
}

// gapAt is the gap of a task before an attempt, from 0 for the first.
func gapAt(t *bellman.Task, step int) time.Duration {
	name := t.Queue
	if t.Schedule == "wechat_notify" {
		name = "days"
	}
	return gaps[name][min(step, len(gaps[name])-1)]
}

// waits holds that the next attempt is due when the schedule says, and notes the gap before it.
func (g *ledger) waits(a *account, c *store.Change, was *bellman.Status, s *send) {
	to, at := &c.To, c.Attempt
	if s != nil && !s.verdict.Due.IsZero() {
		return
	}
	if to.State.Ended() || to.Step != was.Step+1 || !was.Due.Equal(at.Due) || to.Before != nil || was.Before != nil {
		return
	}
	least := gapAt(&a.task, int(to.Step))
	if early := at.Started.Add(least).Sub(to.Due); early > 0 {
		g.wrong(c.ID, "is due %v before the schedule says, after attempt %d", early, at.Number)
	}
	if s != nil {
		a.gap = gap{version: to.Version, life: s.life, begun: s.begun, least: least, wrong: s.life.hand.wrong(&s.life.node.wall)}
	}
}

// early holds an attempt against the truth: no clock may be so wrong that it comes before its
// time by more than a tenth of the gap, or by what the clocks of two nodes are apart.
func (g *ledger) early(a *account, s *send) {
	if a.gap.life == nil || a.gap.version != s.version || s.trigger == bellman.ByHand || s.trigger == bellman.BySettle {
		return
	}
	least := time.Duration(float64(a.gap.least)/(1+maxSlew)) - 2*time.Millisecond
	if a.gap.life != s.life {
		least = a.gap.least - a.gap.wrong - s.life.hand.wrong(&s.life.node.wall) - 2*time.Millisecond
	}
	if waited := s.begun.Sub(a.gap.begun); waited < least {
		g.wrong(s.task, "%s sent attempt %d %v after the one before it, and the schedule says %v", s.life, s.number, waited, a.gap.least)
	}
}
