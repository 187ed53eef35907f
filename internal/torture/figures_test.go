package torture

import (
	"maps"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/eventually"
)

// Limits that the figures must not exceed.
const (
	takeoverMost   = 5 * time.Second
	takeoverMedian = 3500 * time.Millisecond
	rollingMost    = 500 * time.Millisecond
)

// onEach runs a figure on each kind of database that all nodes share.
func onEach(t *testing.T, figure func(t *testing.T, c *cluster)) {
	t.Helper()
	if *rounds == 0 {
		t.Skip("takes minutes: make torture, or -rounds 10")
	}
	t.Run("postgres", func(t *testing.T) {
		s := newPostgres(t, "postgres")
		s.start(t)
		figure(t, newCluster(t, backend{everyOne(s.address), postgresURL, postgresWires}))
	})
	t.Run("mariadb", func(t *testing.T) {
		s := newMariaDB(t, "mariadb")
		s.start(t)
		s.create(t)
		figure(t, newCluster(t, backend{everyOne(s.address), mysqlURL, mysqlWires}))
	})
	t.Run("redis", func(t *testing.T) {
		s := newRedis(t)
		s.start(t)
		figure(t, newCluster(t, backend{everyOne(s.address), redisURL, redisWires(t)}))
	})
}

// TestTakeover kills a node repeatedly under load. It measures how long the node's due tasks wait
// until another node attempts them.
func TestTakeover(t *testing.T) {
	onEach(t, func(t *testing.T, c *cluster) {
		made := create(t, load, c.receiver.url, c.nodes, c.dice)
		var deaths []time.Time
		for round := range *rounds {
			c.balanced(t)
			wait(between(c.dice, 3*time.Second, 5*time.Second)) // any moment between two heartbeats
			n := c.nodes[round%nodes]
			over := c.journal.begin(t, death, n.number)
			deaths = append(deaths, time.Now())
			n.kill()
			wait(takeoverMost + 2*time.Second)
			n.start(t)
			over()
			c.awaitReady(t, n)
		}
		ledger := made.finish(t)
		tasks := c.settle(t)
		check(t, ledger, c.receiver, c.journal, tasks)
		var waits []time.Duration
		for _, task := range tasks {
			for _, a := range task.AttemptLog {
				if w, is := waited(a, deaths); is {
					waits = append(waits, w)
				}
			}
		}
		if len(waits) == 0 {
			t.Fatal("no attempt was taken over, so the test shows nothing")
		}
		slices.Sort(waits)
		median, most := waits[len(waits)/2], waits[len(waits)-1]
		t.Logf("take-over after kill -9: %d rounds, %d attempts, p50 %v, p99 %v, most %v", *rounds, len(waits),
			round(median), round(waits[len(waits)*99/100]), round(most))
		if median > takeoverMedian || most > takeoverMost {
			t.Errorf("p50 %v, most %v; want at most %v and %v", round(median), round(most), takeoverMedian, takeoverMost)
		}
	})
}

// waited returns how long an attempt waited for its take-over. Such an attempt was due within a
// second of a death and was late. It waited from its due time or the death, whichever was later.
func waited(a client.Attempt, deaths []time.Time) (w time.Duration, is bool) {
	for _, death := range deaths {
		if after := a.Due.Sub(death); after.Abs() < time.Second && a.LatenessMS > 1500 {
			return a.Started.Sub(death) - max(after, 0), true
		}
	}
	return 0, false
}

// TestRolling stops and starts each node in turn, in an orderly way and under load.
func TestRolling(t *testing.T) {
	onEach(t, func(t *testing.T, c *cluster) {
		made := create(t, load, c.receiver.url, c.nodes, c.dice)
		for range max(*rounds/5, 1) {
			for _, n := range c.nodes {
				c.balanced(t)
				p := n.lower()
				p.signal(syscall.SIGTERM)
				if status := p.end(t, patient); status != 0 {
					t.Errorf("node %d: a stop ended with status %d:\n%s", n.number, status, p.said.tail(20))
				}
				n.watched.Wait()
				n.start(t)
				c.awaitReady(t, n)
			}
		}
		ledger := made.finish(t)
		tasks := c.settle(t)
		check(t, ledger, c.receiver, c.journal, tasks) // the journal is empty, so nothing excuses a second delivery
		var late []time.Duration
		for _, task := range tasks {
			for _, a := range task.AttemptLog {
				late = append(late, time.Duration(a.LatenessMS)*time.Millisecond)
			}
		}
		slices.Sort(late)
		most := late[len(late)-1]
		t.Logf("rolling restart: %d stops, %d attempts, late p50 %v, p99 %v, p99.9 %v, most %v", max(*rounds/5, 1)*nodes, len(late),
			late[len(late)/2], late[len(late)*99/100], late[len(late)*999/1000], most)
		if most > rollingMost {
			t.Errorf("an attempt was %v late; want at most %v", most, rollingMost)
		}
	})
}

// balanced waits until all nodes have shards and none has moved for a while.
func (c *cluster) balanced(t testing.TB) {
	t.Helper()
	const still = 3 * time.Second
	before, since := map[string]int{}, time.Now()
	eventually.True(t, "shared out: the shards", func() bool {
		list, err := c.nodes[0].client.Nodes(t.Context())
		if err != nil {
			return false
		}
		have := map[string]int{}
		for _, n := range list.Nodes {
			if n.Alive && len(n.Shards) > 0 {
				have[n.Name] = len(n.Shards)
			}
		}
		if !maps.Equal(have, before) {
			before, since = have, time.Now()
		}
		return len(have) == nodes && len(list.Unowned) == 0 && time.Since(since) > still
	})
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
