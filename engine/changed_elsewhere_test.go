package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A task waits in its line at the owner and is cancelled at another node. It is not attempted any
// more.
func TestCancelledInLineElsewhere(t *testing.T) {
	hearing(t, func(t *testing.T, c *crew, _ time.Duration) {
		l := newLedger()
		queue := func(name string) engine.Queue {
			q := l.queue(name, 10*time.Second)
			q.Timeout, q.Concurrency = time.Minute, 1
			return q
		}
		a, b := c.start("a", queue("a")), c.start("b", queue("b"))
		defer a.stop()
		defer b.stop()
		time.Sleep(20 * time.Second)
		var ids []bellman.ID
		for range 20 {
			ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q"}))
		}
		time.Sleep(15 * time.Second)
		cancelled := make(map[bellman.ID]bool)
		made := func(id bellman.ID) int {
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.times[id])
		}
		for i, id := range ids {
			if made(id) > 0 {
				continue
			}
			if _, err := []*member{a, b}[i%2].Cancel(t.Context(), id, by); err != nil {
				t.Fatal(err)
			}
			cancelled[id] = true
		}
		time.Sleep(10 * time.Minute)
		n := 0
		for id := range cancelled {
			n += made(id)
		}
		if n > 0 || len(cancelled) == 0 {
			t.Errorf("%d attempts of %d tasks after they were cancelled; want none", n, len(cancelled))
		}
	})
}

// sentWithin is how long an attempt may still start from a task's former content after a change of
// the task was answered.
const sentWithin = 2 * time.Second

// lossy runs a test several times, each time with hints that get lost in another way.
func lossy(t *testing.T, f func(t *testing.T, c *crew)) {
	for name, lose := range map[string]func(string, *engine.Hint) bool{
		"none":            nil,
		"all":             func(string, *engine.Hint) bool { return true },
		"what is changed": func(_ string, h *engine.Hint) bool { h.Changed = nil; return false },
	} {
		t.Run("lost "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrew(t)
				c.lose = lose
				f(t, c)
			})
		})
	}
}

// A task that is cancelled, completed or rescheduled at another node is not attempted in its former
// state more than two seconds later, however hints get lost.
func TestChangedInLineElsewhere(t *testing.T) {
	lossy(t, func(t *testing.T, c *crew) {
		l := newLedger()
		queue := func(name string) engine.Queue {
			q := l.queue(name, 3*time.Second)
			q.Timeout, q.Concurrency = time.Minute, 1
			return q
		}
		a, b := c.start("a", queue("a")), c.start("b", queue("b"))
		defer a.stop()
		defer b.stop()
		time.Sleep(20 * time.Second)
		var ids []bellman.ID
		for range 40 {
			ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q"}))
		}
		time.Sleep(10 * time.Second)
		answered := make(map[bellman.ID]time.Time)
		again := make(map[bellman.ID]time.Time)
		for i, id := range ids {
			l.mu.Lock()
			made := len(l.times[id])
			l.mu.Unlock()
			if made > 0 {
				continue
			}
			var err error
			m := []*member{a, b}[i/3%2]
			switch i % 3 {
			case 0:
				_, err = m.Cancel(t.Context(), id, by)
			case 1:
				_, err = m.Complete(t.Context(), id, bellman.Completion{}, by)
			case 2:
				again[id] = time.Now().Add(time.Hour)
				_, err = m.Reschedule(t.Context(), id, again[id], by)
			}
			if err != nil {
				t.Fatal(err)
			}
			answered[id] = time.Now()
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(30 * time.Minute / fewer)
		l.mu.Lock()
		defer l.mu.Unlock()
		late := 0
		for id, at := range answered {
			for _, began := range l.times[id] {
				if began.Sub(at) > sentWithin {
					late++
				}
			}
		}
		if late > 0 || len(answered) < 30 {
			t.Errorf("of %d tasks %d were attempted more than %v after they were changed; want 30 or more, and none late", len(answered), late, sentWithin)
		}
	})
}

// A task is cancelled at a third node just after its shard moved, so that node notifies the former
// owner. No attempt of the task starts more than two seconds later.
func TestCancelledAfterHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		queue := func(name string) engine.Queue {
			q := l.queue(name, 5*time.Second)
			q.Timeout = time.Minute
			return q
		}
		a, b := c.start("a", queue("a")), c.start("b", queue("b"))
		defer a.stop()
		defer b.stop()
		time.Sleep(20 * time.Second)
		var ids []bellman.ID
		for range 800 {
			ids = append(ids, add(t, b.Engine, &bellman.Task{Queue: "q", Endpoint: "one"}))
		}
		time.Sleep(time.Second)
		d := c.start("d", queue("d")) // b gives it shards, and c does not know yet
		defer d.stop()
		answered := make(map[bellman.ID]time.Time)
		for _, id := range ids {
			if _, err := a.Cancel(t.Context(), id, by); err == nil {
				answered[id] = time.Now()
			}
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(30 * time.Minute / fewer)
		l.mu.Lock()
		defer l.mu.Unlock()
		for id, at := range answered {
			for i, began := range l.times[id] {
				if began.Sub(at) > sentWithin {
					t.Errorf("%s began an attempt %v after the task was cancelled", l.by[id][i], began.Sub(at))
				}
			}
		}
		if len(answered) < 200 {
			t.Errorf("%d tasks were cancelled; want most of %d", len(answered), len(ids))
		}
	})
}

// A slowLine is a store whose answers to Load arrive late.
type slowLine struct {
	store.Store
	takes atomic.Int64 // time.Duration
}

func (s *slowLine) Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error) {
	tasks, err := s.Store.Load(ctx, entries)
	time.Sleep(time.Duration(s.takes.Load()))
	return tasks, err
}

// A store's answer that arrives three seconds late is three seconds old, and starts no attempt.
func TestSlowReadStartsNothing(t *testing.T) {
	// A task's content is read some seconds before it is due, and again when its turn comes. The
	// task is cancelled while one of these reads is on its way.
	for _, after := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond, 2500 * time.Millisecond, 3500 * time.Millisecond} {
		t.Run(fmt.Sprint("cancelled after ", after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := &slowLine{Store: memory.New()}
				r := &receiver{answer: accept}
				e, stop := run(t, db, engine.Queue{Name: "q", Handler: r})
				defer stop()
				time.Sleep(time.Second)
				id := add(t, e, &bellman.Task{Queue: "q", Delay: 10 * time.Second})
				db.takes.Store(int64(3 * time.Second))
				time.Sleep(10*time.Second + after)
				task := get(t, db, id)
				to := task.Status
				to.State, to.Finished, to.Due, to.VisibleAt = bellman.Cancelled, time.Now(), time.Time{}, time.Time{}
				b := store.Batch{Changes: []store.Change{{ID: id, Version: task.Version, To: to}}}
				if err := db.Commit(t.Context(), &b); err != nil || b.Changes[0].Err != nil {
					t.Fatal(err, b.Changes[0].Err)
				}
				cancelled := time.Now()
				time.Sleep(time.Minute)
				if times := r.times(); len(times) > 0 {
					t.Errorf("an attempt %v after the task was cancelled; want none", times[0].Sub(cancelled))
				}
				next := add(t, e, &bellman.Task{Queue: "q", Delay: 10 * time.Second})
				time.Sleep(15 * time.Second)
				db.takes.Store(int64(time.Second))
				time.Sleep(30 * time.Second)
				if task := get(t, db, next); task.State != bellman.Succeeded {
					t.Errorf("the task is %v after the store became quick again; want succeeded", task.State)
				}
			})
		})
	}
}
