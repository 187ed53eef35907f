package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A superseding task ends the waiting tasks before it at once, and waits for the one in flight.
// None of them is attempted again, not even by a resend.
func TestSuperseding(t *testing.T) {
	answer := func(t *bellman.Task, number int) bellman.Verdict {
		time.Sleep(5 * time.Second)
		if t.Key == "d" {
			return bellman.Verdict{Next: bellman.Succeed}
		}
		return bellman.Verdict{Result: bellman.Refused}
	}
	ordered(t, "0s, 10s, 20s", answer, func(t *testing.T, e *engine.Engine, s store.Store, d *diary) {
		a := add(t, e, one("a"))
		time.Sleep(time.Second)
		b, c := add(t, e, one("b")), add(t, e, one("c"))
		time.Sleep(time.Second)
		last := one("d")
		last.Supersedes = true
		add(t, e, last)
		time.Sleep(time.Second)
		for _, id := range []bellman.ID{b, c} {
			if task := get(t, s, id); !task.WasSuperseded() || task.Attempts != 0 {
				t.Errorf("%s is %v, %q after %d attempts; want cancelled, superseded, 0", task.Key, task.State, task.Reason, task.Attempts)
			}
		}
		time.Sleep(time.Minute)
		d.want(t, "a 0s", "d 5s")
		if task := get(t, s, a); !task.WasSuperseded() || task.Attempts != 1 {
			t.Errorf("%s is %v, %q after %d attempts; want cancelled, superseded, 1", task.Key, task.State, task.Reason, task.Attempts)
		}
		for _, mode := range []engine.ResendMode{engine.ResendOnce, engine.ResendRestart} {
			if _, err := e.Resend(t.Context(), a, mode, bellman.By{}); !errors.Is(err, bellman.ErrConflict) {
				t.Errorf("Resend(%s) of a superseded task: %v; want ErrConflict", mode, err)
			}
		}
		settled, err := e.Settle(t.Context(), bellman.By{}, a)
		if err != nil || settled[0].Err != nil || !settled[0].Task.WasSuperseded() {
			t.Errorf("Settle() of a superseded task = %+v, %v; want it unchanged", settled, err)
		}
		d.want(t, "a 0s", "d 5s")
	})
}

// If an attempt is in flight when its task is superseded and is accepted, the task has succeeded.
func TestSupersedingWaitsForTheAnswer(t *testing.T) {
	answer := func(*bellman.Task, int) bellman.Verdict {
		time.Sleep(5 * time.Second)
		return bellman.Verdict{Next: bellman.Succeed}
	}
	ordered(t, "0s", answer, func(t *testing.T, e *engine.Engine, s store.Store, d *diary) {
		a := add(t, e, one("a"))
		time.Sleep(time.Second)
		b := one("b")
		b.Supersedes = true
		add(t, e, b)
		time.Sleep(time.Minute)
		d.want(t, "a 0s", "b 5s")
		if task := get(t, s, a); task.State != bellman.Succeeded {
			t.Errorf("a is %v, %q; want succeeded, because its attempt was accepted", task.State, task.Reason)
		}
	})
}

// A superseding task that is due later ends those before it at once.
func TestSupersedingTaskDueLater(t *testing.T) {
	ordered(t, "0s, 10s*", refuse, func(t *testing.T, e *engine.Engine, s store.Store, d *diary) {
		a := add(t, e, one("a"))
		time.Sleep(time.Second)
		b := one("b")
		b.Supersedes, b.Delay = true, time.Hour
		add(t, e, b)
		time.Sleep(time.Second)
		if task := get(t, s, a); !task.WasSuperseded() {
			t.Errorf("a is %v, %q; want superseded", task.State, task.Reason)
		}
		time.Sleep(time.Minute)
		d.want(t, "a 0s")
	})
}

// A task had ended, was resent, and is superseded before the resend. It keeps its former end.
func TestSupersededAfterResend(t *testing.T) {
	for _, was := range []bellman.State{bellman.Succeeded, bellman.Failed} {
		answer := func(task *bellman.Task, number int) bellman.Verdict {
			time.Sleep(2 * time.Second)
			if was == bellman.Succeeded || task.Key != "a" {
				return bellman.Verdict{Next: bellman.Succeed}
			}
			return bellman.Verdict{Next: bellman.GiveUp}
		}
		ordered(t, "0s", answer, func(t *testing.T, e *engine.Engine, s store.Store, d *diary) {
			a := add(t, e, one("a"))
			time.Sleep(3 * time.Second)
			ended := get(t, s, a)
			add(t, e, one("b"))
			time.Sleep(time.Second)
			if _, err := e.Resend(t.Context(), a, engine.ResendOnce, bellman.By{}); err != nil { // the resend waits for b
				t.Fatal(err)
			}
			last := one("c")
			last.Supersedes = true
			add(t, e, last)
			time.Sleep(time.Minute)
			got := get(t, s, a)
			if got.State != was || got.Reason != ended.Reason || !got.Finished.Equal(ended.Finished) || got.Before != nil {
				t.Errorf("a is %v (%s) since %v; want %v (%s) since %v, as before", got.State, got.Reason, got.Finished, was, ended.Reason, ended.Finished)
			}
			d.want(t, "a 0s", "b 3s", "c 5s")
			if _, err := e.Resend(t.Context(), a, engine.ResendOnce, bellman.By{}); err != nil {
				t.Errorf("Resend() of a task that was not superseded: %v", err)
			}
		})
	}
}

// Another writer adds a superseding task without a hint. It supersedes as well: the tasks before it
// end when they or the superseding task ask for their turn.
func TestSupersedingByAnotherWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory.New()
		d := &diary{answer: accept, start: time.Now()}
		q := engine.Queue{Name: "q", Handler: d}
		rules, err := engine.NewRules(q)
		if err != nil {
			t.Fatal(err)
		}
		task := func(key, chain string, delay time.Duration, supersedes bool) *bellman.Task {
			return &bellman.Task{Queue: "q", Key: key, OrderingKey: chain, Delay: delay, Supersedes: supersedes}
		}
		adds := rules.Prepare(task("a", "one", 0, false), task("b", "one", time.Second, true), task("c", "two", time.Hour, false), task("d", "two", 2*time.Second, true))
		for _, a := range adds {
			a.Task.Shard %= 64
		}
		if err := db.Commit(t.Context(), &store.Batch{Adds: adds}); err != nil {
			t.Fatal(err)
		}
		_, stop := run(t, db, q)
		defer stop()
		time.Sleep(3 * time.Second)
		d.want(t, "b 1s", "d 2s")
		for _, i := range []int{0, 2} {
			if got := get(t, db, adds[i].Task.ID); !got.WasSuperseded() {
				t.Errorf("%s is %v, %q; want superseded", got.Key, got.State, got.Reason)
			}
		}
	})
}

// A limit had put a task of an ordering key into another node's shard. A superseding task does not
// end that task while the other node may be attempting it.
func TestSupersedingWaitsForAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t)
		var flying atomic.Int32
		q := engine.Queue{Name: "q", Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
			if flying.Add(1) > 1 {
				t.Error("two tasks of one ordering key are in flight")
			}
			defer flying.Add(-1)
			time.Sleep(20 * time.Second)
			return bellman.Verdict{Next: bellman.Succeed}
		})}
		a, b := c.start("a", q), c.start("b", q)
		defer a.stop()
		defer b.stop()
		time.Sleep(20 * time.Second)
		later := one("b")
		later.Supersedes = true
		rules, err := engine.NewRules(q)
		if err != nil {
			t.Fatal(err)
		}
		adds := rules.Prepare(one("a"), later)
		state, err := c.store.State(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"a", "b"} { // each task in a shard of its own node
			adds[i].Task.Shard = uint16(slices.IndexFunc(state.Shards, func(s store.Shard) bool { return strings.HasPrefix(s.Owner, name+"/") }))
			if err := c.store.Commit(t.Context(), &store.Batch{Adds: adds[i : i+1]}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
		}
		time.Sleep(2 * time.Minute)
		for _, add := range adds {
			if task := get(t, c.store, add.Task.ID); task.State != bellman.Succeeded {
				t.Errorf("%s is %v, %q; want succeeded", task.Key, task.State, task.Reason)
			}
		}
	})
}
