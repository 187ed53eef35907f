package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/memory"
)

// A diary is a handler that notes when attempts of which tasks, named by their keys,
// were made.
type diary struct {
	answer func(t *bellman.Task, number int) bellman.Verdict

	mu    sync.Mutex
	notes []string
	start time.Time
}

func (d *diary) Attempt(_ context.Context, t *bellman.Task, number int) bellman.Verdict {
	d.mu.Lock()
	d.notes = append(d.notes, fmt.Sprintf("%s %v", t.Key, time.Since(d.start)))
	d.mu.Unlock()
	return d.answer(t, number)
}

func (d *diary) want(t *testing.T, notes ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.notes, notes) {
		t.Errorf("attempts: %q, want %q", d.notes, notes)
	}
}

// ordered starts an engine in a bubble whose attempts a diary notes.
func ordered(t *testing.T, schedule string, answer func(*bellman.Task, int) bellman.Verdict, test func(t *testing.T, e *engine.Engine, s bellman.Store, d *diary)) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		d := &diary{answer: answer, start: time.Now()}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: d, Schedule: schedule})
		defer stop()
		test(t, e, store, d)
	})
}

func one(key string) *bellman.Task { return &bellman.Task{Queue: "q", Key: key, OrderingKey: "o"} }

// refuseFirst accepts a task's third attempt.
func refuseFirst(_ *bellman.Task, number int) bellman.Verdict {
	if number < 3 {
		return bellman.Verdict{Result: bellman.Refused}
	}
	return bellman.Verdict{Next: bellman.Succeed}
}

// Each task of an ordering key is attempted after the one before has ended, at that
// moment, on time, and on a schedule of its own that begins then.
func TestOneAfterTheOther(t *testing.T) {
	ordered(t, "0s, 10s, 20s", refuseFirst, func(t *testing.T, e *engine.Engine, s bellman.Store, d *diary) {
		var ids []bellman.ID
		for _, key := range []string{"a", "b", "c"} {
			task := one(key)
			task.MaxAge = 30 * time.Second // of its own schedule
			ids = append(ids, add(t, e, task))
		}
		other := one("x")
		other.OrderingKey = "other"
		add(t, e, other)
		add(t, e, &bellman.Task{Queue: "q", Key: "y"})
		time.Sleep(5 * time.Minute)
		var own []string
		d.mu.Lock()
		for _, note := range d.notes {
			if note[0] < 'x' {
				own = append(own, note)
			}
		}
		d.mu.Unlock()
		if want := []string{"a 0s", "a 10s", "a 30s", "b 30s", "b 40s", "b 1m0s", "c 1m0s", "c 1m10s", "c 1m30s"}; !slices.Equal(own, want) {
			t.Errorf("attempts: %q, want %q", own, want)
		}
		for _, id := range ids {
			if task := get(t, s, id); task.State != bellman.Succeeded {
				t.Errorf("task %s: %v, %s; want succeeded", task.Key, task.State, task.Reason)
			}
			for _, a := range attempts(t, s, id) {
				if a.Lateness() != 0 {
					t.Errorf("attempt %d of %v was %v late; want on time", a.Number, id, a.Lateness())
				}
			}
		}
	})
}

// One that failed, was cancelled, or was completed by hand is in nobody's way.
func TestEveryEndPassesTheTurn(t *testing.T) {
	answer := func(t *bellman.Task, _ int) bellman.Verdict {
		if t.Key == "a" {
			return bellman.Verdict{Next: bellman.GiveUp}
		}
		return bellman.Verdict{Result: bellman.Refused}
	}
	ordered(t, "0s, 1h", answer, func(t *testing.T, e *engine.Engine, s bellman.Store, d *diary) {
		add(t, e, one("a"))
		b, c := add(t, e, one("b")), add(t, e, one("c"))
		add(t, e, one("d"))
		time.Sleep(10 * time.Second)
		if _, err := e.Cancel(t.Context(), b, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if _, err := e.Complete(t.Context(), c, "", bellman.By{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		d.want(t, "a 0s", "b 0s", "c 10s", "d 20s")
	})
}

// A task that waits may be cancelled; who waits for one not due yet waits for it.
func TestWhoWaitsIsLeftAlone(t *testing.T) {
	ordered(t, "0s", accept, func(t *testing.T, e *engine.Engine, s bellman.Store, d *diary) {
		late := one("late")
		late.Delay = time.Hour
		add(t, e, late)
		b := add(t, e, one("b"))
		add(t, e, one("c"))
		time.Sleep(time.Minute)
		if _, err := e.Cancel(t.Context(), b, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		d.want(t, "late 1h0m0s", "c 1h0m0s")
	})
}

// A task that supersedes ends those that wait before it, at once, and waits for the
// one in flight. None of them is attempted again, nor can it be.
func TestSuperseding(t *testing.T) {
	answer := func(t *bellman.Task, number int) bellman.Verdict {
		time.Sleep(5 * time.Second)
		if t.Key == "d" {
			return bellman.Verdict{Next: bellman.Succeed}
		}
		return bellman.Verdict{Result: bellman.Refused}
	}
	ordered(t, "0s, 10s, 20s", answer, func(t *testing.T, e *engine.Engine, s bellman.Store, d *diary) {
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
		for _, mode := range []bellman.ResendMode{bellman.ResendOnce, bellman.ResendRestart} {
			if _, err := e.Resend(t.Context(), a, mode, bellman.By{}); !errors.Is(err, bellman.ErrConflict) {
				t.Errorf("Resend(%s) of one that was superseded: %v; want ErrConflict", mode, err)
			}
		}
		settled, err := e.Settle(t.Context(), bellman.By{}, a)
		if err != nil || settled[0].Err != nil || !settled[0].Task.WasSuperseded() {
			t.Errorf("Settle() = %+v, %v; want it as it is", settled, err)
		}
		d.want(t, "a 0s", "d 5s")
	})
}

// What is in flight when it is superseded counts if it is accepted.
func TestSupersedingWaitsForTheAnswer(t *testing.T) {
	answer := func(*bellman.Task, int) bellman.Verdict {
		time.Sleep(5 * time.Second)
		return bellman.Verdict{Next: bellman.Succeed}
	}
	ordered(t, "0s", answer, func(t *testing.T, e *engine.Engine, s bellman.Store, d *diary) {
		a := add(t, e, one("a"))
		time.Sleep(time.Second)
		b := one("b")
		b.Supersedes = true
		add(t, e, b)
		time.Sleep(time.Minute)
		d.want(t, "a 0s", "b 5s")
		if task := get(t, s, a); task.State != bellman.Succeeded {
			t.Errorf("a is %v, %q; want succeeded, for it was accepted", task.State, task.Reason)
		}
	})
}

// One that supersedes and is due later ends those before it already now.
func TestSupersedingAhead(t *testing.T) {
	ordered(t, "0s, 10s*", refuse, func(t *testing.T, e *engine.Engine, s bellman.Store, d *diary) {
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

// What is sent again by hand goes before those created after it, which wait, but not
// beside an attempt of theirs.
func TestResendInOrder(t *testing.T) {
	answer := func(t *bellman.Task, number int) bellman.Verdict {
		time.Sleep(2 * time.Second)
		if t.Key == "a" && number == 1 {
			return bellman.Verdict{Next: bellman.GiveUp}
		}
		if t.Key == "b" && number < 3 {
			return bellman.Verdict{Result: bellman.Refused}
		}
		return bellman.Verdict{Next: bellman.Succeed}
	}
	ordered(t, "0s, 10s, 10s", answer, func(t *testing.T, e *engine.Engine, s bellman.Store, d *diary) {
		a := add(t, e, one("a"))
		time.Sleep(time.Millisecond)
		add(t, e, one("b"))
		time.Sleep(13*time.Second - time.Millisecond) // b is attempted the second time: 2s, 12s
		if _, err := e.Resend(t.Context(), a, bellman.ResendRestart, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		d.want(t, "a 0s", "b 2s", "b 12s", "a 14s", "b 22s")
	})
}

// What would wait for ever is refused.
func TestOrderingThatCannotBe(t *testing.T) {
	ordered(t, "0s", accept, func(t *testing.T, e *engine.Engine, s bellman.Store, d *diary) {
		for field, task := range map[string]*bellman.Task{
			"ordering_key": {Queue: "q", OrderingKey: "o", Repeat: "10m"},
			"supersedes":   {Queue: "q", Supersedes: true},
		} {
			var invalid *bellman.Invalid
			if err := e.Add(t.Context(), task)[0].Err; !errors.As(err, &invalid) || invalid.Fields[0].Field != field {
				t.Errorf("Add(%+v): %v; want %s refused", task, err, field)
			}
		}
	})
}

// The same key with another order is another request; without any, digests are as they
// were before there was any.
func TestDigestOfOrdering(t *testing.T) {
	plain := bellman.Task{Queue: "q", Key: "k", Body: []byte("b")}
	if got := fmt.Sprintf("%x", plain.Digest()); got != plainDigest {
		t.Errorf("Digest() without an ordering key = %s, want %s as ever", got, plainDigest)
	}
	seen := map[bellman.Digest]bool{plain.Digest(): true}
	for _, key := range []string{"o", "p"} {
		for _, supersedes := range []bool{false, true} {
			task := plain
			task.OrderingKey, task.Supersedes = key, supersedes
			if seen[task.Digest()] {
				t.Errorf("Digest() with %q, %t is another's", key, supersedes)
			}
			seen[task.Digest()] = true
		}
	}
}

// A start after a stop in the middle of an attempt goes on with the same task, and the
// next one is told.
func TestOrderOverRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		d := &diary{start: time.Now(), answer: func(*bellman.Task, int) bellman.Verdict {
			time.Sleep(3 * time.Second)
			return bellman.Verdict{Next: bellman.Succeed}
		}}
		q := engine.Queue{Name: "q", Handler: d, Schedule: "0s, 10s"}
		e, stop := run(t, store, q)
		add(t, e, one("a"))
		b := add(t, e, one("b"))
		time.Sleep(time.Second)
		stop() // waits for a
		if task := get(t, store, b); task.Look.After(time.Now()) {
			t.Errorf("b is looked at in %v; want now, for a has ended", time.Until(task.Look))
		}
		_, stop = run(t, store, q)
		defer stop()
		time.Sleep(time.Minute)
		d.want(t, "a 0s", "b 3s")
	})
}

// A hasty store ends a task just after somebody was told that it has to wait for it.
type hasty struct {
	bellman.Store
	then func(before bellman.ID)
}

func (h *hasty) Turn(ctx context.Context, queue, orderingKey string, id bellman.ID) (bellman.Turn, error) {
	turn, err := h.Store.Turn(ctx, queue, orderingKey, id)
	if !turn.Before.IsZero() {
		h.then(turn.Before)
	}
	return turn, err
}

// A task that is being set aside while the one before it ends is not forgotten.
func TestTurnComesBeforeTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hasty{Store: memory.New()}
		d := &diary{answer: accept, start: time.Now()}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: d})
		defer stop()
		store.then = func(before bellman.ID) {
			if _, err := e.Cancel(t.Context(), before, bellman.By{}); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second) // nobody waits for it yet
		}
		late := one("late")
		late.Delay = time.Hour
		add(t, e, late)
		add(t, e, one("b"))
		time.Sleep(5 * time.Second)
		d.want(t, "b 1s")
	})
}

// The end of a task at any node passes the turn to one at another.
func TestTurnPassesBetweenNodes(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, d := newCrew(t), &diary{answer: accept}
			c.deaf = deaf
			q := engine.Queue{Name: "q", Handler: d}
			a, b := c.start("a", q), c.start("b", q)
			defer a.stop()
			defer b.stop()
			time.Sleep(20 * time.Second)
			d.start = time.Now()
			for i := range 20 { // half of them each node's
				key := fmt.Sprint("k", i)
				first := add(t, a.Engine, &bellman.Task{Queue: "q", OrderingKey: key, Delay: time.Hour})
				second := add(t, b.Engine, &bellman.Task{Queue: "q", OrderingKey: key})
				if one, two := get(t, c.store, first), get(t, c.store, second); one.Shard != two.Shard {
					t.Fatalf("tasks of one key are of shards %d and %d", one.Shard, two.Shard)
				}
				time.Sleep(3 * time.Second)
				if _, err := []*member{a, b}[i%2].Cancel(t.Context(), first, bellman.By{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(1500 * time.Millisecond)
				if task := get(t, c.store, second); task.State != bellman.Succeeded {
					t.Errorf("deaf %t: 1.5s after the end of the one before it, a task is %v, looked at in %v", deaf, task.State, time.Until(task.Look))
				}
			}
		})
	}
}

// What is sent again is not attempted beside what its shard's last owner still has in
// flight, whatever else was sent again between the two.
func TestResendBesideAnotherNodesAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu     sync.Mutex
			flying = make(map[string]string) // by ordering key
			waited int
		)
		handler := func(node string) bellman.Handler {
			return bellman.HandlerFunc(func(_ context.Context, task *bellman.Task, number int) bellman.Verdict {
				mu.Lock()
				if other := flying[task.OrderingKey]; other != "" {
					t.Errorf("%s attempts %s of %s beside %s", node, task.Key, task.OrderingKey, other)
				}
				flying[task.OrderingKey] = task.Key + " by " + node
				if node == "b" && number > 1 {
					waited++
				}
				mu.Unlock()
				if strings.HasPrefix(task.Key, "long") {
					time.Sleep(time.Minute)
				}
				mu.Lock()
				delete(flying, task.OrderingKey)
				mu.Unlock()
				return bellman.Verdict{Next: bellman.Succeed}
			})
		}
		c := newCrew(t)
		a := c.start("a", engine.Queue{Name: "q", Handler: handler("a"), Timeout: 2 * time.Minute})
		defer a.stop()
		var over [][2]bellman.ID
		for i := range 20 {
			task := func(name string) *bellman.Task {
				return &bellman.Task{Queue: "q", Key: fmt.Sprint(name, i), OrderingKey: fmt.Sprint("k", i)}
			}
			over = append(over, [2]bellman.ID{add(t, a.Engine, task("one")), add(t, a.Engine, task("two"))})
			add(t, a.Engine, task("long"))
		}
		time.Sleep(time.Second)
		b := c.start("b", engine.Queue{Name: "q", Handler: handler("b"), Timeout: 2 * time.Minute})
		defer b.stop()
		time.Sleep(20 * time.Second) // its shards are its own
		for _, ids := range over {
			for _, id := range []bellman.ID{ids[1], ids[0]} { // the second waits for the long one, and the first asks who is behind it
				if _, err := b.Resend(t.Context(), id, bellman.ResendOnce, bellman.By{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		time.Sleep(5 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if waited == 0 {
			t.Errorf("nothing was sent again by the node to which shards went")
		}
	})
}

const plainDigest = "f152ac48a0272a08dbe042ffa97368a1" // as it was kept before there were ordering keys

// What had ended before somebody asked for one more attempt stays what it was when a
// later task supersedes it.
func TestSupersededWhenSentAgain(t *testing.T) {
	for _, was := range []bellman.State{bellman.Succeeded, bellman.Failed} {
		answer := func(task *bellman.Task, number int) bellman.Verdict {
			time.Sleep(2 * time.Second)
			if was == bellman.Succeeded || task.Key != "a" {
				return bellman.Verdict{Next: bellman.Succeed}
			}
			return bellman.Verdict{Next: bellman.GiveUp}
		}
		ordered(t, "0s", answer, func(t *testing.T, e *engine.Engine, s bellman.Store, d *diary) {
			a := add(t, e, one("a"))
			time.Sleep(3 * time.Second)
			ended := get(t, s, a)
			add(t, e, one("b"))
			time.Sleep(time.Second)
			if _, err := e.Resend(t.Context(), a, bellman.ResendOnce, bellman.By{}); err != nil { // it waits for b
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
			if _, err := e.Resend(t.Context(), a, bellman.ResendOnce, bellman.By{}); err != nil {
				t.Errorf("Resend() of one that was not superseded: %v", err)
			}
		})
	}
}

// What another writer added, which told nobody, supersedes as well: what stands before it
// is ended when it asks for its turn, or when the one that supersedes does.
func TestSupersedingByAnotherWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
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
		if err := store.Commit(t.Context(), &bellman.Batch{Adds: adds}); err != nil {
			t.Fatal(err)
		}
		_, stop := run(t, store, q)
		defer stop()
		time.Sleep(3 * time.Second)
		d.want(t, "b 1s", "d 2s")
		for _, i := range []int{0, 2} {
			if got := get(t, store, adds[i].Task.ID); !got.WasSuperseded() {
				t.Errorf("%s is %v, %q; want superseded", got.Key, got.State, got.Reason)
			}
		}
	})
}
