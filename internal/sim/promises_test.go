package sim

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// The checks of a request when it is sent: its content is recent, nothing that it belongs to is
// paused, no limit is exceeded, and it is not late without a reason.

const (
	mostOld     = 2 * time.Second        // that a node may go by a task as it was (engine/DESIGN.md, time)
	mostHang    = 3 * time.Second        // that outcomes are on their way when an attempt begins: it waits for a turn of 1 s, then for its content
	mostPause   = 2 * time.Second        // until a pause holds at all nodes (docs/databases.md)
	mostResume  = 10 * time.Second       // after the end of a pause, until what waited for that is sent
	someTrouble = store.LeaseTTL         // more, where the database cannot be reached: until a node trusts nothing
	patience    = 15 * time.Second       // that trouble has effects after it is over
	muchLate    = 20 * time.Second       // more, where much is due at once and little fits
	slack       = 150 * time.Millisecond // for what nodes do beside waiting
)

// A stop is a pause as the ledger knows it.
type stop struct {
	since    time.Time // when the store had written it
	answered time.Time // when the caller got the answer; zero: not yet
}

// documented records the documents of pauses.
func (g *ledger) documented(d *store.Doc) {
	if d.Kind != "pause" {
		return
	}
	switch was := g.stops[d.Name]; {
	case d.Value == nil:
		delete(g.stops, d.Name)
		g.resumed[d.Name] = time.Now()
	case was == nil:
		g.stops[d.Name] = &stop{since: time.Now()}
	}
}

// fresh checks that a request is not made from a version that a person has replaced long before.
func (g *ledger) fresh(a *account, s *send, iced bool) {
	left, ok := a.left[s.version]
	if !ok || iced {
		return
	}
	s.stale = s.begun.Sub(left)
	g.count.Stale = max(g.count.Stale, s.stale)
	if most := mostOld + slack + s.life.node.travel(); s.stale > most {
		g.wrong(s.task, "%s sends attempt %d of version %d, and there is another since %v", s.life, s.number, s.version, s.stale)
	}
}

// flyingOf returns the request of a task that is not recorded; nil: there is none.
func (g *ledger) flyingOf(a *account) *send {
	for _, s := range slices.Backward(a.sends) {
		if s.recorded.IsZero() {
			return s
		}
	}
	return nil
}

// travel returns how long a call of a node may take now, both ways together.
func (n *node) travel() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	lag := n.world.plan.lag
	if time.Now().Before(n.slowly.Add(patience)) {
		lag += n.extra
	}
	return 2 * lag
}

// unpaused checks that nothing that a request belongs to has been paused for longer than a pause
// takes to become known.
func (g *ledger) unpaused(a *account, s *send, iced bool) {
	if iced {
		return
	}
	w := s.life.world
	for _, target := range []string{"queue/" + a.task.Queue, "endpoint/" + endpoint(read(a.task.Body).receiver), "merchant/" + a.task.MerchantNo} {
		p := g.stops[target]
		if p == nil || p.answered.IsZero() {
			continue
		}
		most := mostPause + slack + 2*s.life.node.travel()
		if g.newcomer.After(p.answered.Add(-patience)) {
			most += mostPause // one that was alone looks less often
		}
		if end := w.stormEnd(s.life.node.index, p.answered.Add(-patience), s.begun); !end.IsZero() {
			// A node that was cut off reads the pauses with its first look after that.
			most += someTrouble + max(end.Sub(p.answered), 0)
		}
		if since := s.begun.Sub(p.answered); since > most {
			g.wrong(s.task, "%s sends attempt %d, and %s was paused %v before", s.life, s.number, target, since)
		}
	}
}

// limited checks that all nodes together do not exceed a limit of a queue. Requests that were in
// flight when a shard moved, or when a node had other limits, do not count.
func (g *ledger) limited(a *account, s *send) {
	w := s.life.world
	lim, ok := w.plan.limits[a.task.Queue]
	if !ok || g.others > 0 {
		return
	}
	even := g.even(s)
	queue, endpoint := 0, 0
	for o := range g.flying {
		t := &g.tasks[o.task].task
		if t.Queue != a.task.Queue || !o.landed.IsZero() || o.iced || !o.life.alive() || !o.begun.After(even) {
			continue
		}
		queue++
		if t.Endpoint == a.task.Endpoint {
			endpoint++
		}
	}
	if lim.Concurrency > 0 && queue > lim.Concurrency {
		g.wrong(s.task, "%s sends attempt %d, the %d. at once of queue %s, whose limit is %d", s.life, s.number, queue, a.task.Queue, lim.Concurrency)
	}
	if lim.EndpointConcurrency > 0 && endpoint > lim.EndpointConcurrency {
		g.wrong(s.task, "%s sends attempt %d, the %d. at once of queue %s to %s, whose limit is %d", s.life, s.number, endpoint, a.task.Queue, a.task.Endpoint, lim.EndpointConcurrency)
	}
	if lim.Concurrency > 0 && queue == lim.Concurrency {
		g.count.AtLimit++
	}
	g.rated(lim.Rate, a.task.Queue, s)
	g.rated(lim.EndpointRate, a.task.Queue+" to "+a.task.Endpoint, s)
}

// recordable holds that no attempt begins while the outcomes of others cannot be written: not
// while they are on their way to the store for long, and not while too many of them wait.
func (g *ledger) recordable(s *send, iced bool) {
	if iced {
		return
	}
	l, p := s.life, s.life.world.plan
	for _, since := range l.committing {
		if took := s.begun.Sub(since); took > mostHang+slack+3*l.node.travel() {
			g.wrong(s.task, "%s sends attempt %d, and outcomes have been on their way to the store for %v", l, s.number, took)
		}
	}
	if p.inFlight == 0 {
		return
	}
	wait := 0
	for o := range g.flying {
		if o.life == l && !o.landed.IsZero() {
			wait++
		}
	}
	g.count.Waiting = max(g.count.Waiting, wait)
	if most := p.sizes.Uncommitted/2 + p.sizes.Batch + p.inFlight; wait > most {
		g.wrong(s.task, "%s sends attempt %d, and %d outcomes wait to be written, of at most %d", l, s.number, wait, most)
	}
}

// even is since when requests had their turn under the limits of now. Between the turn and the
// request a node reads the task, and asks whether it is next of its key.
func (g *ledger) even(s *send) time.Time {
	return g.uneven.Add(slack + 3*s.life.node.travel())
}

// rateOver is the period over which a rate is checked.
const rateOver = 10 * time.Second

// rated checks a request against a rate. Clocks may be a tenth too fast, and each node may be one
// request ahead.
func (g *ledger) rated(rate float64, of string, s *send) {
	if rate == 0 {
		return
	}
	all, even := append(g.lately[of], s.begun), g.even(s)
	for len(all) > 0 && (s.begun.Sub(all[0]) > rateOver || !all[0].After(even)) {
		all = all[1:]
	}
	g.lately[of] = all
	took := rateOver + slack + 2*s.life.node.travel()
	if most := rate*(1+maxSlew)*took.Seconds() + 2 + float64(len(s.life.world.nodes)); float64(len(all)) > most {
		g.wrong(s.task, "%s sends attempt %d, one of %d of %s in %v, whose limit is %v a second", s.life, s.number, len(all), of, rateOver, rate)
	}
}

// punctually holds that a request is not late, also while there is trouble elsewhere: its node
// was well and had the shard for long, and its receiver always answered at once.
func (g *ledger) punctually(a *account, s *send, iced bool) {
	w, t := s.life.world, &a.task
	r := read(t.Body).receiver
	if iced || s.trigger != bellman.BySchedule || t.OrderingKey != "" || a.byHand || a.announced || w.plan.limited() || g.others > 0 || !w.receivers[r].wellSoFar() {
		return
	}
	ready, shut := s.due, time.Time{}
	targets := []string{"queue/" + t.Queue, "endpoint/" + endpoint(r), "merchant/" + t.MerchantNo}
	if w.plan.merchants > 0 {
		targets = append(targets, "merchant/"+merchantNo(r))
	}
	for _, target := range targets {
		if g.stops[target] != nil {
			return
		}
		if end := g.resumed[target]; end.After(shut) {
			shut = end
		}
	}
	if !shut.IsZero() {
		if at := shut.Add(mostResume); at.After(ready) {
			ready = at
		}
	}
	if a.changed.After(ready) {
		ready = a.changed
	}
	if end := w.stormEnd(s.life.node.index, ready.Add(-patience), s.begun); !end.IsZero() {
		ready = end.Add(patience) // what waited for the end of trouble goes out soon after it
	}
	own := g.shard(s.shard).owner()
	if g.ruled.After(ready) || own.life != s.life || own.at.After(ready.Add(-patience)) || s.life.begun.After(ready.Add(-patience)) ||
		!s.life.node.wall.right(ready.Add(-patience)) { // one whose clock was set forward sends nothing until its next beat is answered
		return
	}
	late, most := s.begun.Sub(ready), mostLate+s.life.node.travel()
	if w.plan.sole || a.by == s.life {
		most = mostOwnLate + s.life.node.travel()
	}
	if behind := a.changed.Sub(s.due); a.by != s.life && behind > sweptBack {
		most += deepSweep // its writer has a clock that is far behind, or took long to commit it
	} else if a.by != s.life && behind > narrowSweep {
		most += wideSweep
	}
	if w.plan.sizes.Line > 0 || g.flooded {
		most += muchLate // what does not fit in memory comes when it has gone to disk and back
	}
	if early := s.clock.Sub(s.due); early < late {
		late = early // by its own clock
	}
	g.count.Judged++
	g.count.Latish = max(g.count.Latish, late)
	if late > most {
		g.wrong(s.task, "%s sends attempt %d %v late, and nothing was wrong with its node or its receiver", s.life, s.number, late)
	}
}

// moving records that the shares of limits change now.
func (g *ledger) moving() { g.uneven = time.Now() }

// wellSoFar reports whether a receiver has always answered quickly.
func (r *receiver) wellSoFar() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.profile.name == "quick" && !r.troubled
}
