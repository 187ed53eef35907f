package storetest

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// abilities test the abilities that a store has; a store without an ability passes. See also
// Backup.
var abilities = []promise{
	{"traits: a store returns the same at each call, and the batch size is not negative", func(t *suite) {
		use := store.UseOf(t.s)
		t.add(t.task(t0))
		if again := store.UseOf(t.s); again != use || use.BatchSize < 0 {
			t.Errorf("Use() = %+v, then %+v; want the same, with a batch size of 0 or more", use, again)
		}
	}},
	{"counter: CountDue counts as many entries as Due reads", func(t *suite) {
		b := &store.Batch{}
		for i := range 5000 { // more than CountDue reads at once
			task := t.task(t0.Add(time.Duration(i/50) * time.Millisecond))
			task.Shard = uint16(i % 2)
			b.Adds = append(b.Adds, store.Add{Task: task})
		}
		t.commit(b)
		at := b.Adds[120].Task
		from, to := t0.UnixMilli(), t0.Add(time.Hour).UnixMilli()
		for _, shards := range [][]uint16{nil, {0}, {1, 0}} {
			for _, start := range []store.Position{{}, {VisibleAt: from + 7}, {VisibleAt: at.VisibleAt.UnixMilli(), ID: at.ID}, {VisibleAt: to}} {
				for _, end := range []int64{from, from + 8, to} {
					for _, most := range []int64{0, 1, 60, 4096, 1 << 20} {
						least := int64(len(t.entries(shards, start, end, int(most))))
						entries := t.entries(shards, store.Position{VisibleAt: start.VisibleAt}, end, int(most))
						for name, s := range map[string]store.DueReader{"the store": t.s, "pages": plainly{t.s}} {
							if n, err := store.CountDue(t.Context(), s, shards, start, end, most); err != nil || n < least || n > int64(len(entries)) {
								t.Errorf("CountDue(%s, %v, %v, %d, %d) = %d, %v; Due reads %d", name, shards, start, end, most, n, err, least)
							}
						}
					}
				}
			}
		}
	}},
	{"health: a working store reports no error, and a closed one ErrClosed", func(t *suite) {
		health, can := store.As[store.Health](t.s)
		if !can {
			return
		}
		t.add(t.task(t0))
		t.must(health.Health())
		select {
		case <-health.Broken():
			t.Error("Broken() is closed although the store works")
		default:
		}
		t.must(t.s.Close())
		t.wantErr("Health() after Close", health.Health(), bellman.ErrClosed)
	}},
	{"check: a store finds nothing wrong after tasks were added, changed and ended", func(t *suite) {
		c, can := store.As[store.Checker](t.s)
		if !can {
			return
		}
		pending, ended, refused, pruned := t.aliased("a"), t.aliased("b"), t.aliased("a"), t.aliased("c")
		t.add(pending, ended, pruned)
		t.refused(refused, pending.ID)
		t.end(pruned, bellman.Failed, t0)
		t.prune(bellman.Failed, t0.Add(time.Second), 1, 1)
		change := store.Change{ID: ended.ID, Version: ended.Version, To: ended.Status, Attempt: &bellman.Attempt{Number: 1, Due: t0, Started: t0}}
		change.To.State, change.To.Attempts, change.To.Finished = bellman.Succeeded, 1, t0
		t.commit(&store.Batch{Changes: []store.Change{change}})
		r, err := c.Check(t.Context())
		if err != nil || r.Tasks != 2 || r.Pending != 1 || r.Ended != 1 || r.Attempts != 1 || r.Wrong != 0 || len(r.Problems) != 0 {
			t.Errorf("Check() = %+v, %v; want one pending task, one ended with an attempt, and nothing wrong", r, err)
		}
	}},
	{"figures: each has a name of its own, and counters only grow", func(t *suite) {
		f, can := store.As[store.Figures](t.s)
		if !can {
			return
		}
		before := map[string]float64{}
		for _, x := range f.Figures() {
			if _, twice := before[x.Name]; twice || x.Help == "" || !figureName.MatchString(x.Name) || strings.HasSuffix(x.Name, "_total") != x.Counter {
				t.Errorf("figure %+v: want a unique name in lower case, which ends in _total if the figure only grows", x)
			}
			before[x.Name] = x.Value
		}
		t.add(t.task(t0), t.task(t0))
		after := f.Figures()
		if len(after) == 0 || len(after) != len(before) {
			t.Errorf("%d figures, and then %d; want the same", len(before), len(after))
		}
		for _, x := range after {
			if x.Counter && x.Value < before[x.Name] {
				t.Errorf("counter %s went from %v to %v; want it to grow or stay", x.Name, before[x.Name], x.Value)
			}
		}
	}},
}

var figureName = regexp.MustCompile(`^[a-z][a-z_]*$`)

// plainly is a store without abilities.
type plainly struct{ store.DueReader }

// Backup tests the ability of s to copy itself to dir, which must not exist. reopen opens the copy.
func Backup(t *testing.T, s store.Store, dir string, reopen func(dir string) store.Store) {
	copier, can := store.As[store.Backup](s)
	if !can {
		t.Fatalf("%T does not have the ability Backup", s)
	}
	before, after := &suite{T: t, s: s}, &suite{T: t, s: s, ids: 1 << 16}
	kept, ended := before.aliased("a"), before.task(t0)
	before.add(kept, ended)
	before.end(ended, bellman.Succeeded, t0)
	before.must(copier.Backup(dir))
	if err := copier.Backup(dir); err == nil {
		t.Error("Backup() to the same directory again: no error")
	}
	late := after.task(t0)
	after.add(late)
	after.end(kept, bellman.Failed, t0)
	c := &suite{T: t, s: reopen(dir)}
	c.same(c.get(kept.ID), kept)
	c.hasAlias("a", kept.ID)
	if got := c.get(ended.ID); got.State != bellman.Succeeded {
		t.Errorf("an ended task is %v in the copy; want its end state", got.State)
	}
	c.missing(late.ID)                 // it was added later
	c.end(kept, bellman.Cancelled, t0) // the copy is an ordinary store
	c.must(s.Close())
	if err := copier.Backup(dir + "2"); !errors.Is(err, bellman.ErrClosed) {
		t.Errorf("Backup() of a closed store = %v, want ErrClosed", err)
	}
}

var refusals = []promise{
	{"an add that the store cannot hold has its error, and its neighbours are written", func(t *suite) {
		for name, spoil := range map[string]func(*bellman.Task){
			"no queue":       func(task *bellman.Task) { task.Queue = "" },
			"a long key":     func(task *bellman.Task) { task.Key = string(make([]byte, 100_000)) },
			"a long queue":   func(task *bellman.Task) { task.Queue = string(slices.Repeat([]byte{'q'}, 100_000)) },
			"a long account": func(task *bellman.Task) { task.OrderingKey = string(make([]byte, 100_000)) },
		} {
			first, bad, last, follow, changed := t.task(t0), t.task(t0), t.task(t0), t.task(t0), t.task(t0)
			spoil(bad)
			spoil(follow)
			follow.Key += "f"
			t.add(changed)
			b := &store.Batch{Adds: []store.Add{{Task: first}, {Task: bad, Digest: bad.Digest()}, {Task: last}},
				Changes: []store.Change{{ID: changed.ID, Version: 1, To: ended(bellman.Succeeded, t0), Follow: []store.Add{{Task: follow, Digest: follow.Digest()}}}}}
			t.commit(b)
			t.get(first.ID)
			t.get(last.ID)
			t.must(b.Changes[0].Err)
			if got := t.get(changed.ID); got.State != bellman.Succeeded {
				t.Errorf("%s: the change in the same batch left the task %v", name, got.State)
			}
			for _, a := range []store.Add{b.Adds[1], b.Changes[0].Follow[0]} {
				var invalid *bellman.Invalid
				_, err := t.s.Task(t.Context(), a.Task.ID)
				switch {
				case errors.As(a.Err, &invalid) && errors.Is(err, bellman.ErrNotFound):
				case a.Err == nil && err == nil && name != "no queue":
					t.same(t.get(a.Task.ID), a.Task) // this store can hold it
				default:
					t.Errorf("%s: Err = %v and Task() = %v; want an error and no task, or the task", name, a.Err, err)
				}
			}
		}
	}},
}
