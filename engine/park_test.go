package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
)

// A guided handler is one whose merchants give an attempt this long.
type guided struct {
	bellman.Handler
	timeout *atomic.Int64
}

func (g guided) Guide(context.Context, *bellman.Task) (bellman.Guidance, error) {
	return bellman.Guidance{Timeout: time.Duration(g.timeout.Load())}, nil
}

// A task whose merchant gives its attempts longer than it was added with is left alone
// for as long by the next owner of its shard: it is attempted once.
func TestParkedAsLongAsGuided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		var timeout atomic.Int64
		queue := func(name string) engine.Queue {
			q := l.queue(name, 40*time.Second)
			q.Handler = guided{q.Handler, &timeout}
			return q
		}
		a := c.start("a", queue("a"))
		defer a.stop()
		time.Sleep(10 * time.Second)
		var ids []bellman.ID
		for range 64 {
			ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q", MerchantNo: "M1", Delay: 5 * time.Second}))
		}
		timeout.Store(int64(time.Minute))
		time.Sleep(6 * time.Second)
		b := c.start("b", queue("b"))
		defer b.stop()
		time.Sleep(3 * time.Minute)
		l.once(t, ids)
	})
}

// A parked task stays where it is until its look, although limits have changed
// meanwhile, so that it should be another node's, and a pause has ended, for which all
// is looked at that was set aside.
func TestParkedIsNotMoved(t *testing.T) {
	for _, names := range []string{"abd", "dab", "bda"} {
		synctest.Test(t, func(t *testing.T) {
			c, l := newCrew(t), newLedger()
			queue := func(name string, limit int) engine.Queue {
				q := l.queue(name, 40*time.Second)
				q.Timeout, q.Concurrency = time.Minute, limit
				return q
			}
			nodes := []*member{c.start(names[:1], queue(names[:1], 0))}
			time.Sleep(10 * time.Second)
			var ids []bellman.ID
			for range 64 {
				ids = append(ids, add(t, nodes[0].Engine, &bellman.Task{Queue: "q", Delay: 5 * time.Second}))
			}
			time.Sleep(6 * time.Second)
			for _, name := range names[1:] {
				nodes = append(nodes, c.start(string(name), queue(string(name), 0)))
			}
			time.Sleep(12 * time.Second)
			for _, n := range nodes {
				defer n.stop()
				if err := n.SetQueues([]engine.Queue{queue(n.name, 1)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := nodes[0].PauseEndpoint(t.Context(), "elsewhere", by); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
			if err := nodes[0].ResumeEndpoint(t.Context(), "elsewhere", by); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			l.once(t, ids)
		})
	}
}
