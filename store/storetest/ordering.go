package storetest

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

var orderings = []promise{
	{"tasks of one ordering key have the order in which they were added", func(t *suite) {
		// The ids do not count, because the clocks of nodes differ.
		late, early := t.ordered("o"), t.ordered("o")
		early.ID = t.id(t0.Add(-time.Hour))
		third := t.ordered("o")
		t.add(late)
		t.add(early)
		t.add(third)
		t.wantOrder("o", late, early, third)
		t.wantTurn(late, turn{})
		t.wantTurn(early, turn{Before: late.ID})
		t.wantTurn(third, turn{Before: late.ID})
	}},
	{"tasks of one ordering key in one batch have the order of the batch", func(t *suite) {
		tasks := make([]*bellman.Task, 20)
		for i := range tasks {
			tasks[i] = t.ordered("o")
			tasks[i].ID = t.id(t0.Add(-time.Duration(i) * time.Minute))
			tasks[i].Supersedes = i%3 == 0
		}
		t.add(tasks...)
		t.wantOrder("o", tasks...)
	}},
	{"a task without an ordering key, or of another queue or key, does not block others", func(t *suite) {
		// The pairs ("a", "bc") and ("ab", "c") have the same letters, and must also be kept apart.
		var tasks []*bellman.Task
		for _, name := range [][2]string{{"q", "a"}, {"q", "A"}, {"q", "a "}, {"q", "a\x00"}, {"q", "ab"}, {"qa", "b"}, {"a", "bc"}, {"ab", "c"}, {"q", "👛"}, {"q", strings.Repeat("k", 256)}} {
			task := t.ordered(name[1])
			task.Queue, task.Supersedes = name[0], true
			tasks = append(tasks, task)
		}
		t.add(append(tasks, t.task(t0), t.task(t0))...)
		for _, task := range tasks {
			t.wantTurn(task, turn{})
			if got, err := t.s.Chain(t.Context(), task.Queue, task.OrderingKey, bellman.ID{}, 10); err != nil || len(got.First) != 1 || got.First[0] != task.ID {
				t.Errorf("Chain(%q, %q) = %v, %v; want %v", task.Queue, task.OrderingKey, got, err, task.ID)
			}
		}
		t.wantOrder("")
		t.wantOrder("none")
	}},
	{"an ended task does not block others", func(t *suite) {
		first, second, third := t.ordered("o"), t.ordered("o"), t.ordered("o")
		t.add(first, second, third)
		t.to(second, 1, ended(bellman.Cancelled, t0))
		t.wantOrder("o", first, third)
		t.to(first, 1, ended(bellman.Succeeded, t0))
		t.wantOrder("o", third)
		t.wantTurn(third, turn{})
		for _, task := range []*bellman.Task{first, second, t.ordered("o")} {
			_, err := t.s.Chain(t.Context(), "q", "o", task.ID, 1)
			t.wantErr("Chain() of one that is not pending", err, bellman.ErrNotFound)
		}
		fourth := t.ordered("o")
		t.to(third, 1, ended(bellman.Failed, t0))
		t.wantOrder("o")
		t.add(fourth)
		t.wantOrder("o", fourth)
	}},
	{"a task that stays pending keeps its place", func(t *suite) {
		first, second := t.ordered("o"), t.ordered("o")
		t.add(first, second)
		for version := range uint32(3) {
			t.to(first, version+1, bellman.Status{Step: 1, Due: t0, VisibleAt: t0.Add(time.Hour)})
			t.to(second, version+1, bellman.Status{Step: 1, Due: t0, VisibleAt: t0})
		}
		t.wantOrder("o", first, second)
		t.wantTurn(second, turn{Before: first.ID})
	}},
	{"a task that becomes pending again gets its former place", func(t *suite) {
		first, second, third := t.ordered("o"), t.ordered("o"), t.ordered("o")
		second.Supersedes = true
		t.add(first, second, third)
		t.to(second, 1, ended(bellman.Failed, t0))
		t.to(first, 1, ended(bellman.Succeeded, t0))
		t.to(second, 2, bellman.Status{Due: t0, VisibleAt: t0})
		t.wantOrder("o", second, third)
		t.wantTurn(third, turn{Before: second.ID})
		t.to(first, 2, bellman.Status{Due: t0, VisibleAt: t0})
		t.wantOrder("o", first, second, third)
		t.wantTurn(first, turn{SupersededBy: second.ID})
		t.to(second, 3, ended(bellman.Failed, t0))
		t.to(first, 3, ended(bellman.Failed, t0))
		t.wantOrder("o", third)
	}},
	{"the last superseding task is returned", func(t *suite) {
		tasks := make([]*bellman.Task, 6)
		for i := range tasks {
			tasks[i] = t.ordered("o")
			tasks[i].Supersedes = i == 1 || i == 3
			t.add(tasks[i])
		}
		first := tasks[0].ID
		t.wantTurn(tasks[0], turn{SupersededBy: tasks[3].ID})
		t.wantTurn(tasks[1], turn{Before: first, SupersededBy: tasks[3].ID})
		t.wantTurn(tasks[2], turn{Before: first, SupersededBy: tasks[3].ID})
		t.wantTurn(tasks[3], turn{Before: first})
		t.wantTurn(tasks[5], turn{Before: first})
		t.to(tasks[3], 1, ended(bellman.Cancelled, t0))
		t.wantTurn(tasks[0], turn{SupersededBy: tasks[1].ID})
		t.wantTurn(tasks[2], turn{Before: first})
	}},
	{"a rejected change does not change the order", func(t *suite) {
		first, second := t.ordered("o"), t.ordered("o")
		t.add(first, second)
		b := &store.Batch{Changes: []store.Change{
			{ID: first.ID, Version: 7, To: ended(bellman.Succeeded, t0), Ordering: first.Ordering()},
			{ID: second.ID, Version: 1, To: bellman.Status{Due: t0, VisibleAt: t0}, Ordering: second.Ordering()},
		}}
		t.commit(b)
		t.wantErr("Err", b.Changes[0].Err, bellman.ErrConflict)
		t.wantOrder("o", first, second)
	}},
	{"a task that is added and ended in one batch leaves no place", func(t *suite) {
		first, second := t.ordered("o"), t.ordered("o")
		done := t.ordered("o")
		done.Status = ended(bellman.Succeeded, t0)
		done.Version = 1
		b := &store.Batch{
			Adds:    []store.Add{{Task: first}, {Task: second}, {Task: done}},
			Changes: []store.Change{{ID: first.ID, Version: 1, To: ended(bellman.Succeeded, t0), Ordering: first.Ordering()}},
		}
		t.commit(b)
		t.must(b.Changes[0].Err)
		t.wantOrder("o", second)
	}},
	{"a batch that is committed again gives each task one place", func(t *suite) {
		first, second, follow := t.ordered("o"), t.ordered("o"), t.ordered("o")
		t.add(first)
		batch := func() *store.Batch {
			return &store.Batch{
				Adds: []store.Add{{Task: first}, {Task: second}},
				Changes: []store.Change{{ID: first.ID, Version: 1, To: ended(bellman.Succeeded, t0), Ordering: first.Ordering(), Of: first,
					Follow: []store.Add{{Task: follow}}}},
			}
		}
		t.commit(batch())
		t.wantOrder("o", second, follow)
		again := batch()
		t.commit(again)
		t.wantErr("Err of the change again", again.Changes[0].Err, bellman.ErrConflict)
		t.wantOrder("o", second, follow)
		t.to(second, 1, ended(bellman.Succeeded, t0))
		t.commit(batch())
		t.wantOrder("o", follow)
	}},
	{"a task whose key is taken gets no place", func(t *suite) {
		first, second := t.ordered("o"), t.ordered("o")
		first.Key, second.Key = "k", "k"
		t.add(first)
		t.addExisting(second, first.Digest(), first.ID, nil)
		t.wantOrder("o", first)
	}},
	{"a page of the order starts at its beginning", func(t *suite) {
		var tasks []*bellman.Task
		for i := range 30 {
			tasks = append(tasks, t.ordered("o"))
			tasks[i].Supersedes = i%7 == 2
		}
		t.add(tasks...)
		for _, n := range []int{0, 1, 2, 7, 29, 30, 31} {
			for _, id := range []bellman.ID{{}, tasks[0].ID, tasks[25].ID, tasks[29].ID} {
				got, err := t.s.Chain(t.Context(), "q", "o", id, n)
				t.must(err)
				if want := ids(tasks[:min(n, len(tasks))]); !slices.Equal(got.First, want) {
					t.Errorf("Chain(%v, %d) = %v, want %v", id, n, got.First, want)
				}
			}
		}
	}},
	{"with several concurrent adders, each adder's tasks keep their order", func(t *suite) {
		// Each adder adds its tasks one after the other. The order between adders does not matter.
		const adders, each = 4, 8
		added := make([][]*bellman.Task, adders)
		for i := range added {
			for range each {
				added[i] = append(added[i], t.ordered("o"))
			}
			slices.Reverse(added[i])
		}
		var group sync.WaitGroup
		for i := range added {
			group.Go(func() {
				for _, task := range added[i] {
					b := &store.Batch{Adds: []store.Add{{Task: task}}}
					if err := t.s.Commit(t.Context(), b); err != nil || b.Adds[0].Err != nil {
						t.Errorf("Commit() = %v, Err = %v", err, b.Adds[0].Err)
					}
				}
			})
		}
		group.Wait()
		chain, err := t.s.Chain(t.Context(), "q", "o", bellman.ID{}, 1000)
		t.must(err)
		order := chain.First
		if len(order) != adders*each {
			t.Fatalf("Chain() gave %d tasks, want %d", len(order), adders*each)
		}
		for i := range added {
			last := -1
			for _, task := range added[i] {
				at := slices.Index(order, task.ID)
				if at <= last {
					t.Errorf("adder %d: a task is at place %d, and the one added before it at %d; want it later", i, at, last)
				}
				last = at
			}
		}
	}},
	{"a task from another store keeps its place", func(t *suite) {
		here := t.ordered("o")
		t.add(here)
		second, first, none := t.ordered("o"), t.ordered("o"), t.ordered("o")
		second.Place, first.Place, first.Supersedes = 5000, 3000, true
		b := &store.Batch{}
		for _, task := range []*bellman.Task{second, first, none} {
			b.Adds = append(b.Adds, store.Add{Task: task, Digest: task.Digest(), Moved: true})
		}
		t.commit(b)
		last := t.ordered("o")
		last.Place = 1 // as in a batch that is committed again
		t.add(last)
		if first.Place != 3000 || second.Place != 5000 {
			t.Errorf("their places are %d and %d, want 3000 and 5000", first.Place, second.Place)
		}
		t.wantOrder("o", first, second, here, none, last)
		t.same(t.get(first.ID), first)
		t.same(t.get(second.ID), second)
		t.to(first, 1, ended(bellman.Failed, t0))
		t.wantOrder("o", second, here, none, last)
	}},
	{"a new task comes behind a place that is later than the clock", func(t *suite) {
		// Such as after the clock was set back. The ids do not count.
		third, second, first := t.ordered("o"), t.ordered("o"), t.ordered("o")
		first.Place = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
		t.commit(&store.Batch{Adds: []store.Add{{Task: first, Digest: first.Digest(), Moved: true}}})
		t.add(second, third)
		t.wantOrder("o", first, second, third)
	}},
	{"a pruned task has no place", func(t *suite) {
		first, second := t.ordered("o"), t.ordered("o")
		t.add(first, second)
		t.to(first, 1, ended(bellman.Succeeded, t0))
		t.prune(bellman.Succeeded, t0.Add(time.Hour), 10, 1)
		t.wantOrder("o", second)
	}},
}

func (t *suite) ordered(key string) *bellman.Task {
	task := t.task(t0)
	task.OrderingKey = key
	return task
}

// to changes a task with an ordering key, as an engine does.
func (t *suite) to(task *bellman.Task, version uint32, to bellman.Status) {
	t.Helper()
	to.Place = task.Place
	t.must(t.make(store.Change{ID: task.ID, Version: version, To: to, Ordering: task.Ordering()}).Err)
}

func (t *suite) wantOrder(key string, tasks ...*bellman.Task) {
	t.Helper()
	got, err := t.s.Chain(t.Context(), "q", key, bellman.ID{}, 1000)
	t.must(err)
	if want := ids(tasks); !slices.Equal(got.First, want) {
		t.Errorf("Chain(%q) = %v, want %v", key, got.First, want)
	}
}

// A turn says what blocks a task.
type turn struct {
	Before       bellman.ID // the first task of its chain; zero if this task is the first
	SupersededBy bellman.ID
}

func (t *suite) wantTurn(task *bellman.Task, want turn) {
	t.Helper()
	chain, err := t.s.Chain(t.Context(), task.Queue, task.OrderingKey, task.ID, 1)
	if got := (turn{chain.Before(task.ID), chain.SupersededBy}); err != nil || got != want {
		t.Errorf("Chain(%v) = %+v, %v; want %+v", task.ID, got, err, want)
	}
	if !want.Before.IsZero() {
		return
	}
	// With the zero id, Chain answers for the first task.
	if first, err := t.s.Chain(t.Context(), task.Queue, task.OrderingKey, bellman.ID{}, 1); err != nil || first.SupersededBy != want.SupersededBy {
		t.Errorf("Chain() with the zero id = %+v, %v; want %+v", first, err, want)
	}
}
