package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"
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
	flood                   // another writer adds some thousand tasks at once, due within
	troubles
)

var troubleNames = [troubles]string{"crash", "freeze", "cut off", "drag", "lossy", "outage", "no room", "restart",
	"rolling restart", "blackout", "silence", "shut", "reload", "clock step", "drift", "flood"}

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

// A plan is all that a seed decides before anything happens: what is done, and
// what goes wrong.
type plan struct {
	seed      uint64
	nodes     int
	length    time.Duration // of traffic and trouble
	days      bool          // schedules of a day
	lag       time.Duration // of a call to the database, one way, at most
	incidents []incident    // by time
	hintLoss  int           // percent of the hints between nodes that get lost
	lossPer   int           // calls in a thousand that fail, while answers are lost
	receivers []profile
	keyed     int // percent of the tasks that have an ordering key
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
	every := pick(d, 3*time.Second, 10*time.Second, 20*time.Second, time.Minute, 4*time.Minute)
	if p.days = d.percent(1); p.days {
		p.nodes = min(p.nodes, 2)
		p.length, p.lag, every = d.between(2*time.Hour, 6*time.Hour), 100*time.Microsecond, d.between(5*time.Minute, 30*time.Minute)
	}
	var kinds []trouble // a few of them at a time: what is rare together is seen that way
	for t := range troubles {
		if t != flood && d.percent(45) {
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
	if !p.days { // where one may wait a day for the one before it
		p.keyed = pick(newDice(seed, "keyed"), 0, 20, 20, 50)
	}
	return p
}

func (p *plan) incident(d *dice, t trouble, at time.Duration) incident {
	i := incident{what: t, at: at, who: d.n(p.nodes)}
	short := func(least, most time.Duration) time.Duration { return d.between(least, most) }
	switch t {
	case crash, restart, blackout:
		i.length = pick(d, short(0, time.Second), short(time.Second, 8*time.Second), short(5*time.Second, 40*time.Second))
	case freeze:
		i.length = pick(d, short(0, 5*time.Second), short(4*time.Second, 12*time.Second), short(8*time.Second, 30*time.Second))
	case cutOff, outage:
		i.length = pick(d, short(0, 2*time.Second), short(2*time.Second, 12*time.Second), short(10*time.Second, 40*time.Second))
	case drag:
		i.length, i.step = short(time.Second, 30*time.Second), short(50*time.Millisecond, 3*time.Second)
	case lossy, noRoom:
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
