package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// AddWith adds a task together with a document, and the task is attempted at once. If the document
// has changed meanwhile, or the task is invalid, neither is written.
func TestAddWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory.New()
		r := &receiver{answer: accept}
		e, stop := run(t, db, engine.Queue{Name: "q", Handler: r, Schedule: "0s, 1h"})
		defer stop()
		start := time.Now()
		doc := func(value string, was []byte) []store.Doc {
			return []store.Doc{{Kind: "k", Name: "n", Value: []byte(value), Was: was}}
		}
		if err := e.AddWith(t.Context(), doc("1", []byte{}), &bellman.Task{Queue: "q", Key: "a"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := r.times(); len(got) != 1 || got[0].Sub(start) > time.Millisecond {
			t.Errorf("attempted at %v; want once, at %v", got, start)
		}
		if err := e.AddWith(t.Context(), doc("2", []byte{}), &bellman.Task{Queue: "q", Key: "b"}); !errors.Is(err, bellman.ErrConflict) {
			t.Errorf("AddWith with a document that exists already: %v; want a conflict", err)
		}
		var invalid *bellman.Invalid
		if err := e.AddWith(t.Context(), doc("2", []byte("1")), &bellman.Task{Queue: "other", Key: "b"}); !errors.As(err, &invalid) {
			t.Errorf("AddWith for an unknown queue: %v; want an *Invalid", err)
		}
		if d, err := store.ReadDoc(t.Context(), db, "k", "n"); string(d.Value) != "1" || err != nil {
			t.Errorf("the document is %s, %v; want 1", d.Value, err)
		}
		if err := e.AddWith(t.Context(), doc("2", []byte("1")), &bellman.Task{Queue: "q", Key: "a"}); err != nil {
			t.Errorf("AddWith of a task that exists already: %v; want nil", err)
		}
		time.Sleep(time.Second)
		if got := r.times(); len(got) != 1 {
			t.Errorf("%d attempts; want only those of the first task", len(got))
		}
		if _, err := store.Lookup(t.Context(), db, "q", "b"); !errors.Is(err, bellman.ErrNotFound) {
			t.Errorf("Lookup of the task whose document was not written: %v; want not found", err)
		}
	})
}

// A late store writes documents at once, but returns from the call some time later.
type late struct{ store.Store }

func (s late) Commit(ctx context.Context, b *store.Batch) error {
	err := s.Store.Commit(ctx, b)
	if len(b.Docs) > 0 {
		time.Sleep(5 * time.Second)
	}
	return err
}

// The loader can find and attempt a new task before the call that added it returns. The task is
// attempted once all the same.
func TestAddWithAnsweredLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := newCrew(t), &receiver{answer: accept}
		c.store = late{c.store}
		a := c.start("a", engine.Queue{Name: "q", Handler: r, Schedule: "0s, 1h"})
		defer a.stop()
		time.Sleep(10 * time.Second)
		doc := []store.Doc{{Kind: "k", Name: "n", Value: []byte("1"), Was: []byte{}}}
		if err := a.AddWith(t.Context(), doc, &bellman.Task{Queue: "q", Key: "a"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := r.times(); len(got) != 1 {
			t.Errorf("attempted at %v, want once", got)
		}
	})
}

// Two nodes call AddWith with the same document at the same time. One of them succeeds, and the
// other one's task does not exist.
func TestAddWithRaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := newCrew(t), &receiver{answer: accept}
		q := engine.Queue{Name: "q", Handler: r}
		nodes := []*member{c.start("a", q), c.start("b", q)}
		time.Sleep(20 * time.Second)
		was := []byte{}
		for round := range 20 {
			value := fmt.Appendf(nil, "%d", round)
			var errs [2]error
			var group sync.WaitGroup
			for i, m := range nodes {
				group.Go(func() {
					task := &bellman.Task{Queue: "q", Key: fmt.Sprint(round, "/", i)}
					errs[i] = m.AddWith(t.Context(), []store.Doc{{Kind: "k", Name: "n", Value: value, Was: was}}, task)
				})
			}
			group.Wait()
			won := 0
			for i, err := range errs {
				_, there := store.Lookup(t.Context(), c.store, "q", fmt.Sprint(round, "/", i))
				switch {
				case err == nil && there == nil:
					won++
				case !errors.Is(err, bellman.ErrConflict) || !errors.Is(there, bellman.ErrNotFound):
					t.Errorf("round %d: AddWith() at node %d = %v, and Lookup() = %v; want a task without an error, or a conflict and no task", round, i, err, there)
				}
			}
			if won != 1 {
				t.Fatalf("round %d: %d nodes wrote the document, want one", round, won)
			}
			was = value
		}
		time.Sleep(5 * time.Second)
		for _, m := range nodes {
			m.stop()
		}
		if got := len(r.times()); got != 20 {
			t.Errorf("%d attempts, want one of each round's task", got)
		}
	})
}

// A hanging store delays each commit.
type hanging struct {
	*memory.Store
	takes time.Duration
}

func (s *hanging) Commit(ctx context.Context, b *store.Batch) error {
	time.Sleep(s.takes)
	return s.Store.Commit(ctx, b)
}

// SlowCommit returns the slowest commit of the last minute, and counts a commit that is still
// running.
func TestSlowCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{Store: memory.New(), takes: 3 * time.Second}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: &receiver{answer: accept}})
		defer stop()
		slow := func(want time.Duration) {
			t.Helper()
			if got := e.Gauges(t.Context()).SlowCommit; got < want || got > want+want/2 {
				t.Errorf("SlowCommit = %v; want about %v", got, want)
			}
		}
		slow(0)
		added := make(chan bellman.Added)
		go func() { added <- e.Add(t.Context(), &bellman.Task{Queue: "q", Delay: time.Hour})[0] }()
		time.Sleep(2 * time.Second)
		slow(2 * time.Second)
		if a := <-added; a.Err != nil {
			t.Fatal(a.Err)
		}
		time.Sleep(40 * time.Second)
		slow(3 * time.Second)
		time.Sleep(40 * time.Second)
		slow(0)
	})
}

// Failed tasks are counted per queue over the last hour, without those about which the handler says
// that nobody has to look into them.
func TestFailedHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		r := &receiver{answer: always(bellman.Verdict{Next: bellman.GiveUp, Result: bellman.Refused})}
		e, stop := run(t, store, engine.Queue{Name: "a", Handler: r}, engine.Queue{Name: "b", Handler: &receiver{answer: accept}},
			engine.Queue{Name: "c", Schedule: "0s", Handler: &receiver{answer: always(bellman.Verdict{Result: bellman.Refused, Minor: true})}})
		defer stop()
		failed := func(a, b int64) {
			t.Helper()
			f, err := e.Figures(t.Context(), figures.Ask{Queues: true})
			if err != nil || len(f.Queues) != 3 || f.Queues[0].FailedHour != a || f.Queues[1].FailedHour != b || f.Queues[2].FailedHour != 0 {
				t.Errorf("Figures = %+v, %v; want %d, %d and 0 failed", f.Queues, err, a, b)
			}
		}
		add(t, e, &bellman.Task{Queue: "a"})
		add(t, e, &bellman.Task{Queue: "b"})
		add(t, e, &bellman.Task{Queue: "c"})
		time.Sleep(30 * time.Minute)
		add(t, e, &bellman.Task{Queue: "a"})
		time.Sleep(29 * time.Minute)
		failed(2, 0)
		time.Sleep(3 * time.Minute)
		failed(1, 0)
		time.Sleep(30 * time.Minute)
		failed(0, 0)
	})
}
