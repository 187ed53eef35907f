package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A diary is a handler that records the key of the task and the time of each attempt.
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

// ordered starts an engine in a bubble. Its handler is a diary that answers with answer.
func ordered(t *testing.T, schedule string, answer func(*bellman.Task, int) bellman.Verdict, test func(t *testing.T, e *engine.Engine, s store.Store, d *diary)) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		d := &diary{answer: answer, start: time.Now()}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: d, Schedule: schedule})
		defer stop()
		test(t, e, store, d)
	})
}

func one(key string) *bellman.Task { return &bellman.Task{Queue: "q", Key: key, OrderingKey: "o"} }

// refuseFirst rejects a task's first two attempts and accepts the third.
func refuseFirst(_ *bellman.Task, number int) bellman.Verdict {
	if number < 3 {
		return bellman.Verdict{Result: bellman.Refused}
	}
	return bellman.Verdict{Next: bellman.Succeed}
}

// Each task of an ordering key starts when the task before it has ended. It is not late, and its
// own schedule and maximum age count from that moment.
func TestOneAfterTheOther(t *testing.T) {
	ordered(t, "0s, 10s, 20s", refuseFirst, func(t *testing.T, e *engine.Engine, s store.Store, d *diary) {
		var ids []bellman.ID
		for _, key := range []string{"a", "b", "c"} {
			task := one(key)
			task.MaxAge = 30 * time.Second // counted from when its own schedule begins
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
			log := attempts(t, s, id)
			if len(log) != 3 {
				t.Errorf("%d attempts of %v in the log; want 3", len(log), id)
			}
			for _, a := range log {
				if a.Lateness() != 0 {
					t.Errorf("attempt %d of %v was %v late; want on time", a.Number, id, a.Lateness())
				}
			}
		}
	})
}

// A task that failed, was cancelled, or was completed by hand no longer blocks the next one.
func TestEveryEndPassesTheTurn(t *testing.T) {
	answer := func(t *bellman.Task, _ int) bellman.Verdict {
		if t.Key == "a" {
			return bellman.Verdict{Next: bellman.GiveUp}
		}
		return bellman.Verdict{Result: bellman.Refused}
	}
	ordered(t, "0s, 1h", answer, func(t *testing.T, e *engine.Engine, s store.Store, d *diary) {
		add(t, e, one("a"))
		b, c := add(t, e, one("b")), add(t, e, one("c"))
		add(t, e, one("d"))
		time.Sleep(10 * time.Second)
		if _, err := e.Cancel(t.Context(), b, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if _, err := e.Complete(t.Context(), c, bellman.Completion{}, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		d.want(t, "a 0s", "b 0s", "c 10s", "d 20s")
	})
}

// A waiting task can be cancelled. A task that follows one that is not due yet waits for it.
func TestCancelWhileWaitingForTurn(t *testing.T) {
	ordered(t, "0s", accept, func(t *testing.T, e *engine.Engine, s store.Store, d *diary) {
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

// A resent task goes before the tasks created after it, but not while one of them is in flight.
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
	ordered(t, "0s, 10s, 10s", answer, func(t *testing.T, e *engine.Engine, s store.Store, d *diary) {
		a := add(t, e, one("a"))
		time.Sleep(time.Millisecond)
		add(t, e, one("b"))
		time.Sleep(13*time.Second - time.Millisecond) // b is in flight at its second attempt: 2s, 12s
		if _, err := e.Resend(t.Context(), a, engine.ResendRestart, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		d.want(t, "a 0s", "b 2s", "b 12s", "a 14s", "b 22s")
	})
}

// Combinations of ordering key and other fields that would wait forever are rejected.
func TestImpossibleOrderingIsRejected(t *testing.T) {
	ordered(t, "0s", accept, func(t *testing.T, e *engine.Engine, s store.Store, d *diary) {
		for field, task := range map[string]*bellman.Task{
			"ordering_key": {Queue: "q", OrderingKey: "o", Repeat: "10m"},
			"supersedes":   {Queue: "q", Supersedes: true},
		} {
			var invalid *bellman.Invalid
			if err := e.Add(t.Context(), task)[0].Err; !errors.As(err, &invalid) || invalid.Fields[0].Field != field {
				t.Errorf("Add(%+v): %v; want an error of the field %s", task, err, field)
			}
		}
	})
}

// Another ordering key or superseding makes another digest. A task without an ordering key has the
// digest that it had before ordering keys existed.
func TestDigestOfOrdering(t *testing.T) {
	plain := bellman.Task{Queue: "q", Key: "k", Body: []byte("b")}
	if got := fmt.Sprintf("%x", plain.Digest()); got != plainDigest {
		t.Errorf("Digest() without an ordering key = %s; want %s, as before ordering keys existed", got, plainDigest)
	}
	seen := map[bellman.Digest]bool{plain.Digest(): true}
	for _, key := range []string{"o", "p"} {
		for _, supersedes := range []bool{false, true} {
			task := plain
			task.OrderingKey, task.Supersedes = key, supersedes
			if seen[task.Digest()] {
				t.Errorf("Digest() with %q, %t equals that of another combination", key, supersedes)
			}
			seen[task.Digest()] = true
		}
	}
}

// The engine stops during an attempt and starts again. It goes on with the same task, and wakes the
// next task of the key when that one ends.
func TestChainSurvivesRestart(t *testing.T) {
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
		stop() // the stop waits for the attempt of a
		if task := get(t, store, b); task.VisibleAt.After(time.Now()) {
			t.Errorf("b is visible in %v; want now, because a has ended", time.Until(task.VisibleAt))
		}
		_, stop = run(t, store, q)
		defer stop()
		time.Sleep(time.Minute)
		d.want(t, "a 0s", "b 3s")
	})
}

const plainDigest = "f152ac48a0272a08dbe042ffa97368a1" // the stored digest from before ordering keys existed
