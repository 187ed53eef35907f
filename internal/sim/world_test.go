package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
)

// A world is one run: nodes, a database, receivers, callers, and the faults that happen to them.
type world struct {
	seed      uint64
	plan      *plan
	truth     *truth
	nodes     []*node
	rules     *engine.Rules // of another writer
	receivers []*receiver
	running   sync.WaitGroup

	mu      sync.Mutex
	darkTo  time.Time // nobody reaches the database
	fullTo  time.Time // it takes nothing
	fixedTo time.Time // it takes nothing, and says so of beats and claims too
	storms  []storm
	moment  time.Time // when those of a flood are due; zero: each has its own time
	serials int
	healed  bool
}

// A storm is when commits of a node could fail.
type storm struct {
	node     int // -1: of all
	from, to time.Time
	line     bool // of one connection alone
}

func newWorld(p *plan, store store.Store) *world {
	w := &world{seed: p.seed, plan: p, truth: &truth{Store: store, ledger: newLedger(), sole: p.sole, heirless: make(map[uint16]string)}}
	rules, err := engine.NewRules(w.queues(&life{world: w}, false)...)
	if err != nil {
		panic(err)
	}
	w.rules = rules
	if slices.ContainsFunc(p.incidents, func(i incident) bool { return i.what == failOver }) {
		w.truth.replica = newReplica()
	}
	for i := range p.nodes {
		w.nodes = append(w.nodes, &node{world: w, index: i, name: fmt.Sprintf("n%d", i)})
	}
	for _, profile := range p.receivers {
		w.receivers = append(w.receivers, &receiver{profile: profile})
	}
	return w
}

// spawn starts a goroutine that the run waits for.
func (w *world) spawn(f func()) { w.running.Go(f) }

func (w *world) note(f func(g *ledger)) { w.truth.note(f) }

func (w *world) dark() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.darkTo
}

func (w *world) full(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return now.Before(w.fullTo)
}

func (w *world) fixed(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return now.Before(w.fixedTo)
}

func (w *world) calm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.healed
}

// run lets everything happen, and returns when it is over.
func (w *world) run() {
	for i, n := range w.nodes {
		w.spawn(func() {
			time.Sleep(newDice(w.seed, "boot", i).between(0, 3*time.Second))
			n.start()
		})
	}
	w.spawn(w.callers)
	w.spawn(w.people)
	if w.plan.meddlers {
		w.spawn(w.meddlers)
	}
	over := make(chan struct{})
	for _, n := range w.nodes {
		w.spawn(func() { w.compare(n, over) })
	}
	for _, i := range w.plan.incidents {
		time.Sleep(time.Until(w.truth.began.Add(i.at)))
		w.befall(i)
	}
	time.Sleep(time.Until(w.truth.began.Add(w.plan.length)))
	w.heal()
	w.settle()
	w.clocks()
	close(over)
	for _, n := range w.nodes {
		began := time.Now()
		l := n.current()
		<-n.stop()
		if took := time.Since(began); took > 12*time.Second {
			w.note(func(g *ledger) { g.wrong(bellman.ID{}, "%s took %v to stop in order, in calm weather", l, took) })
		}
	}
	w.running.Wait()
}

// befall makes an incident happen.
func (w *world) befall(i incident) {
	w.note(func(g *ledger) {
		g.tell(bellman.ID{}, "now: %v", i)
		g.stamp(9, int64(i.what))
	})
	node := w.nodes[i.who%len(w.nodes)]
	now := time.Now()
	later := func(f func()) {
		w.spawn(func() {
			time.Sleep(i.length)
			f()
		})
	}
	storm := func(of int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.storms = append(w.storms, storm{node: of, from: now, to: now.Add(i.length)})
	}
	switch i.what {
	case crash:
		node.crash()
		later(node.start)
	case blackout:
		for _, n := range w.nodes {
			n.crash()
			later(n.start)
		}
	case freeze:
		storm(node.index)
		node.until(&node.frozen, i.length)
	case deadLine:
		k := kind(i.step)
		node.mu.Lock()
		node.dead[k]++
		node.mu.Unlock()
	case hung:
		storm(node.index)
		node.until(&node.hung, i.length)
	case expiry:
		w.expire(node)
	case timeWarp:
		storm(-1)
		warp := func(by time.Duration) {
			w.note(func(g *ledger) {
				g.ahead.Add(int64(by))
				g.warped = time.Now()
			})
		}
		warp(i.step)
		later(func() { warp(-i.step) })
	case readOnly:
		storm(-1)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fixedTo = now.Add(i.length)
	case failOver:
		storm(-1)
		for _, target := range w.truth.failOver(i.step, i.length) {
			w.spawn(func() { w.resume(target) })
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.darkTo = now.Add(i.length)
	case deaf:
		node.until(&node.deaf, i.length)
	case cutOff:
		storm(node.index)
		node.until(&node.noNet, i.length)
	case drag:
		storm(node.index)
		node.mu.Lock()
		node.extra = i.step
		node.mu.Unlock()
		node.until(&node.slowly, i.length)
	case lossy:
		storm(node.index)
		node.until(&node.lost, i.length)
	case outage, noRoom:
		storm(-1)
		w.mu.Lock()
		defer w.mu.Unlock()
		if to := now.Add(i.length); i.what == outage {
			w.darkTo = to
		} else {
			w.fullTo = to
		}
	case restart:
		w.spawn(func() { w.again(node, i.length) })
	case rolling:
		w.spawn(func() {
			for _, n := range w.nodes {
				w.again(n, i.length)
			}
		})
	case silence:
		r := w.receivers[i.who]
		r.mu.Lock()
		defer r.mu.Unlock()
		r.gone, r.troubled = now.Add(i.length), true
	case shut:
		w.spawn(func() { w.shut(i) })
	case reload:
		if l := node.current(); l != nil {
			if e := l.engine.Load(); e != nil {
				other := func(by int) {
					w.note(func(g *ledger) {
						g.others += by
						g.ruled = time.Now()
						g.moving()
					})
				}
				other(1)
				e.SetQueues(w.queues(l, true))
				later(func() {
					e.SetQueues(w.queues(l, false))
					other(-1)
				})
			}
		}
	case jump:
		w.wind(node, i.step, 0)
		later(func() { w.wind(node, 0, 0) })
	case flood:
		w.flood(i)
	case drift:
		w.wind(node, node.wall.off(now), i.step.Seconds())
		later(func() { w.wind(node, 0, 0) })
	}
}

// wind sets a node's wall clock, and how much it gains a second.
func (w *world) wind(n *node, ahead time.Duration, drift float64) {
	l := n.current()
	w.note(func(*ledger) {
		if l != nil {
			l.hand.see(&n.wall)
		}
		n.wall.set(ahead, drift)
		if l != nil {
			l.hand.see(&n.wall)
		}
	})
}

// again stops a node in order and starts it.
func (w *world) again(n *node, after time.Duration) {
	<-n.stop()
	time.Sleep(after)
	n.start()
}

// stormy reports whether commits of a node could fail at some moment of a period.
func (w *world) stormy(node int, from, to time.Time) bool {
	return !w.stormEnd(node, from, to).IsZero()
}

// stormEnd is when the last of the trouble ends that stormy finds; zero: there is none.
func (w *world) stormEnd(node int, from, to time.Time) (end time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.storms {
		if (s.node == node || s.node < 0) && s.from.Before(to) && from.Before(s.to) && s.to.After(end) {
			end = s.to
		}
	}
	return end
}

// cutShort reports whether something kept a node's beats from the database lately: all of it,
// or more than one connection of many. To join anew may take as long as one connection is silent.
func (w *world) cutShort(n *node) bool {
	now := time.Now()
	const within = mostSilence + patience
	since := now.Add(-within)
	if now.Sub(n.freezing()) < within || now.Sub(n.takenAt()) < within {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := 0
	for _, s := range w.storms {
		if (s.node == n.index || s.node < 0) && since.Before(s.to) {
			if lines++; !s.line || lines > 1 {
				return true
			}
		}
	}
	return false
}

// unharmed reports whether the process of an owner runs, and nothing befell it alone lately: if its
// node has expired, so have others. If it has joined again, new trouble of all nodes keeps it from
// claiming its shards. The ledger's mu is held.
func (w *world) unharmed(o owner) bool {
	const within = mostSilence + patience
	l, now := o.life, time.Now()
	n := l.node
	l.mu.Lock()
	stops := !l.stopped.IsZero() || !l.over.IsZero()
	l.mu.Unlock()
	if stops || !l.alive() || now.Sub(l.begun) < within || now.Sub(n.freezing()) < within || now.Sub(n.takenAt()) < within {
		return false
	}
	if slices.ContainsFunc(w.plan.incidents, func(i incident) bool { return i.what == failOver }) { // its last heartbeats may be lost
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return !slices.ContainsFunc(w.storms, func(s storm) bool {
		return s.node == n.index && s.to.After(now.Add(-within)) ||
			s.node < 0 && l.lastName != o.node && s.from.After(l.lastJoined)
	})
}

// heal ends all trouble, and waits until what was going on has ended.
func (w *world) heal() {
	w.note(func(g *ledger) { g.tell(bellman.ID{}, "now: calm") })
	w.mu.Lock()
	w.darkTo, w.fullTo, w.fixedTo, w.healed = time.Time{}, time.Time{}, time.Time{}, true
	w.mu.Unlock()
	for _, r := range w.receivers {
		r.mu.Lock()
		r.gone, r.profile = time.Time{}, well
		r.mu.Unlock()
	}
	for _, n := range w.nodes {
		w.wind(n, 0, 0)
		n.mu.Lock()
		n.hung, n.dead = time.Time{}, [kinds]int{}
		n.noNet, n.slowly, n.lost, n.deaf = time.Time{}, time.Time{}, time.Time{}, time.Time{} // and who is frozen stays so for as long as it was to
		n.mu.Unlock()
	}
	time.Sleep(2 * time.Minute) // restarts, pauses and reloads that are under way
	for _, n := range w.nodes {
		n.start()
	}
	time.Sleep(15 * time.Second)
	var paused []string
	w.note(func(g *ledger) { paused = slices.Sorted(maps.Keys(g.stops)) })
	for _, target := range paused { // by somebody who had given up waiting for the answer, and whose request came through later
		w.pause(newDice(w.seed, "end of "+target), target, false)
	}
	w.clocks()
	w.calmly()
}

// settle waits until every task has ended, as long as a schedule and a quarantined or deferred task
// may take.
func (w *world) settle() {
	most := 90 * time.Minute
	if w.plan.days {
		most = 27 * time.Hour
	}
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(5 * time.Second) {
		open := 0
		w.note(func(g *ledger) {
			for _, a := range g.tasks {
				if !a.task.State.Ended() && !a.vanished {
					open++
				}
			}
		})
		if open == 0 {
			return
		}
	}
}

// reach calls f with some node that is alive, as a caller would, for most at the longest, and
// reports whether the answer arrived. A call to a process that stands still waits.
func (w *world) reach(d *dice, most time.Duration, f func(ctx context.Context, e *engine.Engine) error) (l *life, err error) {
	n := w.nodes[d.n(len(w.nodes))]
	if l = n.current(); l == nil {
		return nil, errDead
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	if err := l.thaw(ctx); err != nil {
		return l, err
	}
	e := l.engine.Load()
	if e == nil {
		return l, errDead
	}
	err = f(ctx, e)
	if thawed := l.thaw(ctx); thawed != nil {
		return l, thawed // whatever it was, nobody heard it
	}
	return l, err
}
