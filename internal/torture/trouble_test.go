package torture

import (
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/store"
)

// A trouble makes something go wrong, and repairs it before it returns. Its length is chosen by the
// caller, because the dice are not safe for concurrent use.
type trouble func(t *testing.T, length time.Duration)

// hands is the greatest number of troubles at the same time.
const hands = 2

// torture makes trouble until a time is over, each kind at least once, in an order that the dice
// decide.
func (c *cluster) torture(t *testing.T, list []trouble, length time.Duration) {
	t.Helper()
	type one struct {
		trouble
		before, length time.Duration
	}
	next, failed := make(chan one), make(chan struct{}, hands)
	var work sync.WaitGroup
	for range hands {
		work.Go(func() {
			defer func() { failed <- struct{}{} }()
			for o := range next {
				wait(o.before)
				o.trouble(t, o.length)
			}
		})
	}
	defer work.Wait()
	defer close(next)
	for began := time.Now(); ; {
		for _, i := range c.dice.Perm(len(list)) {
			select {
			case next <- one{list[i], between(c.dice, 0, time.Second), between(c.dice, 0, time.Second)}:
			case <-failed: // one of our processes did not start again
				return
			}
		}
		if time.Since(began) >= length || t.Failed() {
			return
		}
	}
}

// between returns a random time from least to most.
func between(dice *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(dice.Int64N(int64(most-least)))
}

// wait lets time pass. It is the length of a trouble, not a limit for a condition.
func wait(d time.Duration) { <-time.After(d) }

// take takes a node without trouble, until it is given back. There is always one, because there are
// more nodes than hands.
func (c *cluster) take() *node { return <-c.sound }

func (c *cluster) give(n *node) { c.sound <- n }

// kill ends a node like a crash and starts it again: at once, or after others have claimed its
// shards.
func (c *cluster) kill(pause time.Duration) trouble {
	return func(t *testing.T, length time.Duration) {
		n := c.take()
		defer c.give(n)
		over := c.journal.begin(t, death, n.number)
		n.kill()
		wait(pause + length)
		n.start(t)
		over()
		c.awaitReady(t, n)
	}
}

// freeze stops a node for longer than its registration lives, and continues it.
func (c *cluster) freeze(t *testing.T, length time.Duration) {
	n := c.take()
	defer c.give(n)
	over := c.journal.begin(t, "SIGSTOP", n.number)
	n.signal(syscall.SIGSTOP)
	wait(store.LeaseTTL + 500*time.Millisecond + 2*length)
	n.signal(syscall.SIGCONT)
	over()
	c.awaitReady(t, n)
}

// restart stops a node in an orderly way and starts it again. This excuses nothing.
func (c *cluster) restart(t *testing.T, length time.Duration) {
	n := c.take()
	defer c.give(n)
	over := c.journal.harmless(t, "SIGTERM", n.number)
	defer over()
	began := time.Now()
	p := n.lower()
	p.signal(syscall.SIGTERM)
	status := p.end(t, patient)
	n.watched.Wait()
	if status != 0 && c.journal.hits(n.number, began, time.Now()) == nil {
		t.Errorf("node %d: a stop ended with status %d:\n%s", n.number, status, p.said.tail(20))
	}
	wait(length)
	n.start(t)
	c.awaitReady(t, n)
}

// network makes a fault between a node and its database for a time.
func (c *cluster) network(kind string, f fault, delay, least time.Duration) trouble {
	return func(t *testing.T, length time.Duration) {
		n := c.take()
		defer c.give(n)
		begin := c.journal.begin
		if f == slow {
			begin = c.journal.harmless
		}
		over := begin(t, kind, n.number)
		c.set(n, f, delay)
		wait(least + 2*length)
		c.set(n, pass, 0)
		over()
		c.awaitReady(t, n)
	}
}

// commits makes some commits of a node fail, one after the other.
func (c *cluster) commits(kind string, f fault, delay time.Duration) trouble {
	return func(t *testing.T, length time.Duration) {
		n := c.take()
		defer c.give(n)
		over := c.journal.begin(t, kind, n.number)
		defer over()
		for range 3 {
			before := c.spoiled(n)
			c.set(n, f, delay)
			if !eventually.Within(10*time.Second, func() bool { return c.spoiled(n) > before }) {
				t.Logf("node %d committed nothing in 10s", n.number)
			}
			wait(length / 4)
		}
		c.set(n, pass, 0)
	}
}

// outage makes the database of all nodes go away and come back.
func (c *cluster) outage(kind string, end, start func()) trouble {
	return func(t *testing.T, length time.Duration) {
		over := c.journal.begin(t, kind, all)
		end()
		wait(2 * length)
		start()
		over()
	}
}

// usual returns the troubles that every cluster meets.
func (c *cluster) usual() []trouble {
	return []trouble{
		c.kill(0), c.kill(store.LeaseTTL), c.freeze, c.restart,
		c.network("cut", refused, 0, time.Second),
		c.network("slow network", slow, 60*time.Millisecond, time.Second),
		c.network("black hole", blackHole, 0, time.Second),
		c.network("long black hole", blackHole, 0, store.LeaseTTL+2*time.Second),
		c.commits("lost reply to COMMIT", replyLost, 0),
		c.commits("late COMMIT", replyLost, 1500*time.Millisecond),
		c.commits("lost COMMIT", notSent, 0),
	}
}
