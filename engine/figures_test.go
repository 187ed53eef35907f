package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store/memory"
)

// Each node shows the same figures, summed over all nodes. A node that does not answer is named,
// and does not delay the answer.
func TestFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t)
		queue := engine.Queue{Name: "q", Schedule: "0s, 1h", Handler: bellman.HandlerFunc(func(_ context.Context, task *bellman.Task, _ int) bellman.Verdict {
			if task.Endpoint == "slow" {
				time.Sleep(4 * time.Second)
			}
			return bellman.Verdict{Next: bellman.Succeed, Result: bellman.Accepted}
		})}
		a, b := c.start("a", queue), c.start("b", queue)
		defer a.stop()
		defer b.stop()
		time.Sleep(20 * time.Second)
		for i, m := range []*member{a, b, b} {
			for j := range 10 {
				add(t, m.Engine, &bellman.Task{Queue: "q", Endpoint: fmt.Sprint("quick", i)})
				if j == 0 {
					add(t, m.Engine, &bellman.Task{Queue: "q", Endpoint: "slow"})
				}
			}
		}
		time.Sleep(2 * time.Second)
		ask := figures.Ask{Queues: true, Endpoints: true, Gauges: true, Windows: []time.Duration{time.Hour, time.Minute}, Minutes: 5}
		for _, m := range []*member{a, b} {
			f, err := m.Figures(t.Context(), ask)
			if err != nil || f.Nodes != 2 || len(f.Silent) > 0 {
				t.Fatalf("%s: %v, figures of %d nodes, silent %v; want 2 nodes, none silent", m.name, err, f.Nodes, f.Silent)
			}
			q, hour := f.Queues[0], f.Windows[0]
			if q.InFlight != 3 || q.LastMinute.Added != 33 || q.LastMinute.Attempts[bellman.Accepted] != 30 || f.Gauges.InFlight != 3 {
				t.Errorf("%s: queue %+v, gauges %+v; want 3 in flight, 33 added, 30 accepted", m.name, q, f.Gauges)
			}
			if hour.Counts.Added != 33 || hour.Counts.Succeeded != 30 || hour.Lateness.Count != 30 || len(f.Windows) != 2 {
				t.Errorf("%s: the last hour %+v; want 33 added, 30 succeeded", m.name, hour)
			}
			var succeeded int64
			for _, minute := range f.Minutes {
				succeeded += minute.Counts.Succeeded
			}
			if succeeded != 30 || len(f.Minutes) > 5 {
				t.Errorf("%s: %d minutes with %d succeeded in all; want 30", m.name, len(f.Minutes), succeeded)
			}
			if len(f.Endpoints) != 4 || f.Endpoints[3].Endpoint != "slow" || f.Endpoints[3].InFlight != 3 || f.Endpoints[1].SuccessRate != 1 || f.Endpoints[1].Attempts != 10 {
				t.Errorf("%s: endpoints %+v; want 3 in flight at slow, and 10 of 10 accepted", m.name, f.Endpoints)
			}
		}
		recent := figures.Ask{Recent: &figures.RecentAsk{Endpoints: []string{"quick1", "nobody"}}}
		c.ahead = map[string]time.Duration{"b": 900 * time.Millisecond}
		if f, err := a.Figures(t.Context(), recent); err != nil || len(f.Skewed) != 0 || len(f.RecentEndpoints) != 1 || f.RecentEndpoints[0].Accepted != 10 || len(f.RecentEndpoints[0].Minutes) != 1 {
			t.Errorf("the last hour: %+v, %v; want 10 accepted of quick1, and no clock that is off", f, err)
		}
		c.ahead["b"] = -1500 * time.Millisecond
		if f, err := a.Figures(t.Context(), recent); err != nil || len(f.Skewed) != 1 || !strings.HasPrefix(f.Skewed[0].Node, "b/") || f.Skewed[0].Ahead > -1490*time.Millisecond || f.Skewed[0].Ahead < -1510*time.Millisecond {
			t.Errorf("the clocks: %+v, %v; want b 1.5 s behind", f.Skewed, err)
		}
		b.store.cut.Store(true)
		began := time.Now()
		f, err := a.Figures(t.Context(), ask)
		if took := time.Since(began); err != nil || f.Nodes != 1 || len(f.Silent) != 1 || !strings.HasPrefix(f.Silent[0], "b/") || took > 300*time.Millisecond {
			t.Errorf("figures of %d nodes, silent %v, %v, after %v; want b silent, after 300ms", f.Nodes, f.Silent, err, took)
		}
		b.store.cut.Store(false)
	})
}

// A task that ends without an attempt, such as by a channel's notice, is counted as one that ends
// with one.
func TestFiguresOfCompletedTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: asking(nil), Schedule: "1h"}, engine.Queue{Name: "notify", Handler: &receiver{answer: accept}})
		defer stop()
		for key, outcome := range map[string]string{"a": "PAID", "b": "PAID", "c": "CLOSED", "d": "CLOSED"} {
			id := add(t, e, &bellman.Task{Queue: "q", Key: key})
			with := bellman.Completion{Outcome: outcome}
			_, err := e.Told(t.Context(), id, with)
			if key == "b" {
				id = add(t, e, &bellman.Task{Queue: "q", Key: "by hand"})
				_, err = e.Complete(t.Context(), id, with, bellman.By{Who: "ops"})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		f, err := e.Figures(t.Context(), figures.Ask{Queues: true, Windows: []time.Duration{time.Hour}})
		if err != nil || len(f.Queues) != 2 {
			t.Fatalf("%+v, %v", f.Queues, err)
		}
		q := f.Queues[1]
		if q.Name != "q" || q.LastMinute.Succeeded != 3 || q.LastMinute.Failed != 2 || q.FailedHour != 2 {
			t.Errorf("queue %+v; want 3 succeeded, 2 failed", q)
		}
		if n := f.Windows[0].Counts; n.Succeeded != 3 || n.Failed != 2 {
			t.Errorf("the last hour %+v; want 3 succeeded, 2 failed", n)
		}
	})
}

// An attempt that sent nothing, such as that of a notice whose order does not exist yet, says
// nothing about its endpoint.
func TestFiguresOfUnsentAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts atomic.Int64
		queue := engine.Queue{Name: "q", Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
			attempts.Add(1)
			return bellman.Verdict{Result: bellman.Refused, Unsent: true, Due: time.Now().Add(time.Second)}
		})}
		e, stop := run(t, memory.New(), queue)
		defer stop()
		add(t, e, &bellman.Task{Queue: "q"})
		add(t, e, &bellman.Task{Queue: "q", Endpoint: "http://a"})
		time.Sleep(10 * time.Second)
		for _, info := range e.Endpoints() {
			if info.Hour != nil || info.Attempts != 0 || attempts.Load() < 10 {
				t.Errorf("after %d attempts that sent nothing: %+v of the last hour, %d attempts of %s; want none", attempts.Load(), info.Hour, info.Attempts, info.Endpoint)
			}
		}
	})
}
