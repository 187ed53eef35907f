package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/engine"
)

// What can go wrong.
type trouble int

const (
	crash    trouble = iota // a node dies, and starts again after for
	freeze                  // a node stands still for
	cutOff                  // a node does not reach the database for
	drag                    // a node's calls to the database are slow for
	lossy                   // answers of the database to a node are lost, late or never asked for, for
	outage                  // nobody reaches the database for
	noRoom                  // the database takes nothing for
	restart                 // a node stops in order, and starts again after for
	rolling                 // all nodes do so, one after the other
	blackout                // all nodes die at once, and start again after for
	silence                 // a receiver is not there for
	shut                    // somebody pauses a queue or a receiver for
	reload                  // a node gets other rules for its queues for
	jump                    // a node's wall clock is wrong for
	drift                   // a node's wall clock runs too quick or too slow for
	deaf                    // what the other nodes tell a node is lost for
	deadLine                // one call of a node goes out on a connection behind which nobody answers
	hung                    // a node's commits wait, for, and all else passes
	readOnly                // the database can be read, and takes nothing, for
	expiry                  // the database takes a node for dead at once: its process stood still, and its monotonic clock with it
	timeWarp                // the database's clock is set
	flood                   // another writer adds some thousand tasks at once, due within
	failOver                // another database takes its place, which is behind, and is there after for
	troubles
)

var troubleNames = [troubles]string{"crash", "freeze", "cut off", "drag", "lossy", "outage", "no room", "restart",
	"rolling restart", "blackout", "silence", "shut", "reload", "clock step", "drift", "deaf", "dead line", "hung commits", "read only", "expiry", "time warp", "flood", "fail-over"}

func (t trouble) String() string { return troubleNames[t] }

// An incident is one piece of trouble.
type incident struct {
	what   trouble
	at     time.Duration // since the beginning
	length time.Duration
	who    int           // which node or receiver
	step   time.Duration // that a clock is ahead, or gains a second; that a call takes longer
}

func (i incident) String() string {
	return fmt.Sprintf("%v of %d from %v for %v", i.what, i.who, i.at, i.length)
}

// A plan is everything that a seed decides before the run: the calls, and the faults.
type plan struct {
	seed      uint64
	nodes     int
	length    time.Duration // of traffic and trouble
	days      bool          // schedules of a day
	lag       time.Duration // of a call to the database, one way, at most
	incidents []incident    // by time
	hintLoss  int           // percent of the hints between nodes that get lost
	unheard   int           // the node whose address others have wrong; -1: none
	hintLag   time.Duration // of a hint, at most: nodes are not as far from each other as from the database
	mute      []link        // between nodes: hints are lost from the one to the other, and may pass the other way
	lossPer   int           // calls in a thousand that fail, while answers are lost
	receivers []profile
	merchants int // percent of the tasks that name a merchant
	retention engine.Retention
	poisoned  bool              // some tasks' outcomes are not taken for minutes
	moment    bool              // those of a flood are due at one moment, and people move others there
	tardy     bool              // what is added is often answered late
	meddlers  bool              // people change again and again what waits for the end of a pause
	keyed     int               // percent of the tasks that have an ordering key
	limits    map[string]limits // of queues
	sizes     engine.Limits     // of what engines hold, read and write at once
	inFlight  int               // attempts of a node at once; 0: as many as usual
	sole      bool              // the store is exclusive: there is one node
}

func newPlan(seed uint64, mostNodes int) *plan {
	d := newDice(seed, "plan")
	p := &plan{
		seed:     seed,
		nodes:    1 + d.n(mostNodes),
		length:   d.between(4*time.Minute, 12*time.Minute),
		lag:      pick(d, 100*time.Microsecond, 300*time.Microsecond, time.Millisecond, 4*time.Millisecond, 30*time.Millisecond),
		hintLoss: pick(d, 0, 0, 10, 50, 100),
		lossPer:  pick(d, 20, 100, 300, 600),
	}
	if p.unheard = -1; newDice(seed, "addresses").percent(20) {
		p.unheard = newDice(seed, "unheard").n(p.nodes)
	}
	if p.sole = newDice(seed, "sole").percent(50); p.sole {
		p.nodes = 1
	}
	p.links()
	every := pick(d, 3*time.Second, 10*time.Second, 20*time.Second, time.Minute, 4*time.Minute)
	if p.days = d.percent(1); p.days {
		p.nodes = min(p.nodes, 2)
		p.length, p.lag, every = d.between(2*time.Hour, 6*time.Hour), 100*time.Microsecond, d.between(5*time.Minute, 30*time.Minute)
	}
	var kinds []trouble // a few of them at a time: what is rare together is seen that way
	for t := range troubles {
		if t < flood && d.percent(45) {
			kinds = append(kinds, t)
		}
	}
	if d.percent(8) && !p.days { // once: it takes long
		p.incidents = append(p.incidents, p.incident(d, flood, d.between(0, p.length)))
	}
	for at := d.between(0, 2*every); at < p.length && len(kinds) > 0; at += d.between(0, 2*every) {
		p.incidents = append(p.incidents, p.incident(d, pick(d, kinds...), at))
	}
	slices.SortStableFunc(p.incidents, func(a, b incident) int { return cmp.Compare(a.at, b.at) })
	for i := range 5 {
		p.receivers = append(p.receivers, newProfile(newDice(seed, "receiver", i)))
	}
	if s := newDice(seed, "sizes"); s.percent(40) && !p.days {
		p.sizes = newSizes(s)
		p.inFlight = pick(s, 0, 0, 20, 200)
		if s.percent(50) && !slices.ContainsFunc(p.incidents, func(i incident) bool { return i.what == flood }) {
			p.incidents = append(p.incidents, p.incident(s, flood, s.between(0, p.length)))
		}
		slices.SortStableFunc(p.incidents, func(a, b incident) int { return cmp.Compare(a.at, b.at) })
	}
	if f := newDice(seed, "fail-over"); f.percent(15) && !p.sole && !p.days { // once: there is one replica
		p.incidents = append(p.incidents, p.incident(f, failOver, f.between(0, p.length)))
		slices.SortStableFunc(p.incidents, func(a, b incident) int { return cmp.Compare(a.at, b.at) })
	}
	if l := newDice(seed, "limits"); l.percent(35) && !p.days {
		p.limits = map[string]limits{"pay": newLimits(l), "long": newLimits(l)}
	}
	if wide := newDice(seed, "wide"); p.nodes > 1 && !p.days && wide.percent(15) { // two nodes have a part of a limit, and a crowd for it
		p.limits = map[string]limits{"pay": {Concurrency: 32}, "long": {Concurrency: 32}}
		for i := range p.receivers {
			p.receivers[i] = profile{"slow", 500 * time.Millisecond, 4 * time.Second, 0, 0, 0}
		}
		if !slices.ContainsFunc(p.incidents, func(i incident) bool { return i.what == flood }) {
			p.incidents = append(p.incidents, incident{what: flood, at: wide.between(p.length/4, p.length/2)})
		}
		slices.SortStableFunc(p.incidents, func(a, b incident) int { return cmp.Compare(a.at, b.at) })
	}
	p.poisoned = newDice(seed, "poisoned").percent(15)
	p.moment, p.meddlers = newDice(seed, "moment").percent(40), newDice(seed, "meddlers").percent(30) && !p.days
	if p.sole { // or an exclusive store could always be reached when its node joins anew
		for _, i := range p.incidents {
			if d := newDice(seed, "joins", int(i.at)); i.what == expiry && d.percent(50) {
				p.incidents = append(p.incidents, incident{what: cutOff, at: i.at + d.between(0, 2*time.Second), length: d.between(time.Second, 4*time.Second)})
			}
		}
		slices.SortStableFunc(p.incidents, func(a, b incident) int { return cmp.Compare(a.at, b.at) })
	}
	p.tardy = !p.sole && newDice(seed, "tardy").percent(30)
	if m := newDice(seed, "merchants"); m.percent(40) {
		p.merchants = 30
	}
	if r := newDice(seed, "retention"); r.percent(40) && !p.days {
		p.retention = engine.Retention{Succeeded: r.between(time.Minute, 5*time.Minute), Failed: r.between(time.Minute, 5*time.Minute), Cancelled: time.Minute}
	}
	if !p.days { // where one may wait a day for the one before it
		p.keyed = pick(newDice(seed, "keyed"), 0, 20, 20, 50)
	}
	return p
}

// A link is the way from one node to another.
type link struct{ from, to int }

// links says how nodes reach each other.
func (p *plan) links() {
	d := newDice(p.seed, "links")
	p.hintLag = pick(d, 10*time.Millisecond, 10*time.Millisecond, 10*time.Millisecond, 300*time.Millisecond, 2*time.Second)
	if !d.percent(30) {
		return
	}
	for from := range p.nodes {
		for to := range p.nodes {
			if d.percent(30) {
				p.mute = append(p.mute, link{from, to})
			}
		}
	}
}

func (p *plan) incident(d *dice, t trouble, at time.Duration) incident {
	i := incident{what: t, at: at, who: d.n(p.nodes)}
	short := func(least, most time.Duration) time.Duration { return d.between(least, most) }
	switch t {
	case crash, restart, blackout:
		i.length = pick(d, short(0, time.Second), short(time.Second, 8*time.Second), short(5*time.Second, 40*time.Second))
	case freeze:
		i.length = pick(d, short(0, 5*time.Second), short(4*time.Second, 12*time.Second), short(8*time.Second, 30*time.Second))
	case deaf:
		i.length = short(time.Second, time.Minute)
	case cutOff, outage:
		i.length = pick(d, short(0, 2*time.Second), short(2*time.Second, 12*time.Second), short(10*time.Second, 40*time.Second))
	case drag:
		i.length, i.step = short(time.Second, 30*time.Second), short(50*time.Millisecond, 3*time.Second)
	case deadLine:
		i.step = time.Duration(d.n(int(kinds)))
	case hung:
		i.length = pick(d, short(0, 3*time.Second), short(2*time.Second, 30*time.Second))
	case timeWarp:
		i.length = pick(d, short(0, 10*time.Second), short(10*time.Second, time.Minute))
		i.step = pick(d, short(-time.Second, time.Second), short(-20*time.Second, 20*time.Second), short(0, 10*time.Second))
	case failOver:
		i.length = pick(d, 0, short(0, 3*time.Second), short(0, 15*time.Second))
		i.step = pick(d, short(0, 100*time.Millisecond), short(0, 2*time.Second), short(0, mostBehind))
	case lossy, noRoom, readOnly:
		i.length = short(time.Second, 30*time.Second)
	case rolling:
		i.length = short(time.Second, 4*time.Second) // a node
	case silence:
		i.who = d.n(5)
		i.length = short(5*time.Second, 2*time.Minute)
	case shut:
		i.who, i.step = d.n(5), time.Duration(d.n(p.nodes))
		i.length = pick(d, short(0, 3*time.Second), short(time.Second, 90*time.Second))
	case reload:
		i.length = short(time.Second, time.Minute)
	case jump:
		i.step = pick(d, short(-300*time.Millisecond, 300*time.Millisecond), short(-time.Hour, time.Hour), short(-3*time.Second, 3*time.Second),
			time.Hour, -time.Hour)
		i.length = pick(d, short(0, 3*time.Second), short(10*time.Second, 2*time.Minute), short(time.Minute, 10*time.Minute))
	case flood:
		i.who = d.n(5)
		i.length = pick(d, 0, short(0, 2*time.Second), short(0, 2*time.Minute))
	case drift:
		i.step = pick(d, short(-time.Millisecond, time.Millisecond), short(-200*time.Millisecond, 200*time.Millisecond)) // a second
		i.length = short(10*time.Second, 5*time.Minute)
	}
	return i
}

// limits are those of a queue, over all nodes; zero fields are none.
type limits struct {
	Concurrency, EndpointConcurrency int
	Rate, EndpointRate               float64
}

func newLimits(d *dice) limits {
	return limits{
		Concurrency:         pick(d, 0, 1, 3, 20, 32, 40),
		EndpointConcurrency: pick(d, 0, 0, 1, 2, 20),
		Rate:                pick(d, 0.0, 0, 0, 5, 50, 300),
		EndpointRate:        pick(d, 0.0, 0, 0, 2, 20),
	}
}

// newSizes are a tenth of the usual ones to a three hundredth, so that a run of some hundred tasks
// fills what usually takes some thousand.
func newSizes(d *dice) engine.Limits {
	least := pick(d, 10, 30, 100, 300)
	size := func(usual, least int) int { return max(usual/least, 2) }
	return engine.Limits{
		Line:        size(4096, least),
		Lines:       size(65_536, 10*least),
		Pending:     size(16_000, least),
		Agenda:      size(100_000, least),
		Page:        size(2000, least),
		Chunk:       size(256, min(least, 100)),
		Uncommitted: size(8192, least),
		Batch:       size(512, least),
		Changed:     size(engine.MostChanged, least),
	}
}

// hold gives a queue its limits.
func (l limits) hold(q *engine.Queue) {
	q.Concurrency, q.EndpointConcurrency, q.Rate, q.EndpointRate = l.Concurrency, l.EndpointConcurrency, l.Rate, l.EndpointRate
}

// limited reports whether a queue has limits, or another whose strictest ones hold for their
// endpoints.
func (p *plan) limited() bool { return p.limits != nil }
