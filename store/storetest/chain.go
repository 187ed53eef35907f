package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// chainLengths are the numbers of pending tasks of an ordering key at which Chains measures.
var chainLengths = []int{10, 1_000, 100_000}

// Chains measures what the length of a chain costs in the store that open opens and closes. One
// round adds a task behind the pending ones of its ordering key, asks for the turn of the first,
// and ends the first. A third of the tasks supersede. Each step is reported in µs. ×shortest is the
// ratio to a round with the shortest chain.
func Chains(b *testing.B, open func(b *testing.B) store.Store) {
	var shortest float64
	for _, length := range chainLengths {
		b.Run(fmt.Sprint("pending=", length), func(b *testing.B) {
			s := open(b)
			c := &line{B: b, s: s}
			for len(c.tasks) < length {
				c.add(min(500, length-len(c.tasks)))
			}
			var spent [3]time.Duration
			for b.Loop() {
				for i, step := range [...]func(){func() { c.add(1) }, c.turn, c.end} {
					began := time.Now()
					step()
					spent[i] += time.Since(began)
				}
			}
			round := 0.0
			for i, name := range [...]string{"add", "turn", "end"} {
				each := float64(spent[i].Nanoseconds()) / 1e3 / float64(b.N)
				b.ReportMetric(each, name+"-µs")
				round += each
			}
			if length == chainLengths[0] {
				shortest = round
			}
			if shortest > 0 {
				b.ReportMetric(round/shortest, "×shortest")
			}
		})
	}
}

// A line is the pending tasks of one ordering key.
type line struct {
	*testing.B
	s     store.Store
	tasks []*bellman.Task
	n     int
}

func (c *line) add(n int) {
	batch := &store.Batch{}
	now := time.Now()
	for range n {
		t := &bellman.Task{ID: bellman.NewID(), Queue: "q", OrderingKey: "o", Supersedes: c.n%3 == 0, Body: make([]byte, 300),
			Status: bellman.Status{Version: 1, Began: now, Due: now, VisibleAt: now.Add(time.Hour), Updated: now}}
		c.n++
		c.tasks = append(c.tasks, t)
		batch.Adds = append(batch.Adds, store.Add{Task: t, Digest: t.Digest()})
	}
	c.commit(batch)
}

func (c *line) turn() {
	first := c.tasks[0]
	turn, err := c.s.Chain(context.Background(), "q", "o", first.ID, 1)
	if err != nil || !turn.Before(first.ID).IsZero() || turn.SupersededBy.IsZero() {
		c.Fatalf("Chain() of the first = %+v, %v; want it superseded, and nobody before it", turn, err)
	}
}

func (c *line) end() {
	first, now := c.tasks[0], time.Now()
	c.tasks = c.tasks[1:]
	to := bellman.Status{State: bellman.Succeeded, Reason: "accepted", Place: first.Place, Updated: now, Finished: now}
	c.commit(&store.Batch{Changes: []store.Change{{ID: first.ID, Version: 1, To: to, Ordering: first.Ordering(), Of: first}}})
}

func (c *line) commit(batch *store.Batch) {
	err := c.s.Commit(context.Background(), batch)
	for _, change := range batch.Changes {
		if err == nil {
			err = change.Err
		}
	}
	if err != nil {
		c.Fatal(err)
	}
}
