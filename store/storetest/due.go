package storetest

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

var dues = []promise{
	{"entries have the values of their task", func(t *suite) {
		task := t.task(t0)
		task.Queue, task.Endpoint, task.Shard, task.Attempts = "slow", "https://a.example", 1, 4
		task.Due, task.VisibleAt = t0.Add(time.Second), t0.Add(90*time.Second)
		t.add(task)
		want := store.Entry{ID: task.ID, VisibleAt: task.VisibleAt.UnixMilli(), Due: task.Due.UnixMilli(),
			Line: store.LineOf("slow", "https://a.example"), Version: 1, Attempts: 4, Shard: 1}
		if got := t.due(t0.Add(time.Hour)); len(got) != 1 || got[0] != want {
			t.Errorf("Due() = %+v, want %+v", got, want)
		}
	}},
	{"from is inclusive, to is exclusive", func(t *suite) {
		var tasks []*bellman.Task
		for i := range 5 {
			task := t.task(t0)
			task.VisibleAt = t0.Add(time.Duration(i) * time.Millisecond)
			tasks = append(tasks, task)
		}
		t.add(tasks...)
		from := store.Position{VisibleAt: t0.UnixMilli() + 1}
		got := t.entries(t.shards(), from, t0.UnixMilli()+3, 10)
		if len(got) != 2 || got[0].ID != tasks[1].ID || got[1].ID != tasks[2].ID {
			t.Errorf("Due() = %+v, want tasks 1 and 2", got)
		}
	}},
	{"entries are appended to buf", func(t *suite) {
		task := t.added()
		buf := []store.Entry{{Version: 77}}
		got, err := t.s.Due(t.Context(), t.shards(), store.Position{}, t0.UnixMilli()+1, 10, buf)
		t.must(err)
		if len(got) != 2 || got[0].Version != 77 || got[1].ID != task.ID {
			t.Errorf("Due() = %+v, want the entry appended to buf", got)
		}
	}},
	{"pages by position return each entry once, in order", func(t *suite) {
		var want []store.Entry
		b := &store.Batch{}
		random := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			task := t.task(t0)
			task.VisibleAt = t0.Add(time.Duration(random.IntN(20)) * time.Millisecond) // many at the same time
			b.Adds = append(b.Adds, store.Add{Task: task})
			want = append(want, store.Entry{ID: task.ID, VisibleAt: task.VisibleAt.UnixMilli()})
		}
		random.Shuffle(len(b.Adds), func(i, j int) { b.Adds[i], b.Adds[j] = b.Adds[j], b.Adds[i] })
		t.commit(b)
		slices.SortFunc(want, byPosition)
		for _, limit := range []int{1, 7, 200, 1000} {
			var got []store.Entry
			var from store.Position
			for {
				page := t.entries(t.shards(), from, t0.UnixMilli()+100, limit)
				got = append(got, page...)
				if len(page) < limit {
					break
				}
				from = store.Position{VisibleAt: page[len(page)-1].VisibleAt, ID: page[len(page)-1].ID}
			}
			if !slices.EqualFunc(got, want, func(a, b store.Entry) bool { return a.ID == b.ID && a.VisibleAt == b.VisibleAt }) {
				t.Fatalf("pages of %d: got %d entries in another order or number, want %d", limit, len(got), len(want))
			}
		}
	}},
	{"a task that a change moved is due in its new shard", func(t *suite) {
		task := t.added()
		to := task.Status
		to.Shard = 1
		t.must(t.change(task.ID, 1, to))
		for shard, want := range []int{0, 1} {
			got := t.entries([]uint16{uint16(shard)}, store.Position{}, t0.UnixMilli()+1, 10)
			if len(got) != want || want == 1 && (got[0].ID != task.ID || got[0].Shard != 1) {
				t.Errorf("Due(shard %d) = %+v, want %d of the task in shard 1", shard, got, want)
			}
		}
	}},
	{"only entries of the given shards are returned", func(t *suite) {
		here, there := t.task(t0), t.task(t0)
		here.Shard, there.Shard = 0, 1
		t.add(here, there)
		for shard, want := range []bellman.ID{here.ID, there.ID} {
			got := t.entries([]uint16{uint16(shard)}, store.Position{}, t0.UnixMilli()+1, 10)
			if len(got) != 1 || got[0].ID != want {
				t.Errorf("Due(shard %d) = %+v, want %v", shard, got, want)
			}
		}
		got := t.entries(nil, store.Position{}, t0.UnixMilli()+1, 10)
		if len(got) != 0 {
			t.Errorf("Due(no shards) = %+v, want none", got)
		}
	}},
	{"a task is due at its VisibleAt, once, until it ends", func(t *suite) {
		task := t.added()
		later := t0.Add(time.Hour)
		t.must(t.change(task.ID, 1, bellman.Status{Due: t0, VisibleAt: later})) // deferred
		t.idle(later)
		if got := t.due(later.Add(time.Second)); len(got) != 1 || got[0].Due != t0.UnixMilli() {
			t.Errorf("Due() = %+v, want one entry, still due at the first time", got)
		}
		t.must(t.change(task.ID, 2, ended(bellman.Succeeded, t0)))
		t.idle(later.Add(time.Second))
	}},
	{"a task added with a past time is found when reading from the beginning", func(t *suite) {
		// A store may remember where its due tasks begin. It must not miss this one.
		first := t.added()
		t.end(first, bellman.Succeeded, t0)
		t.idle(t0.Add(time.Hour))
		second := t.task(t0)
		second.VisibleAt = t0.Add(-24 * time.Hour)
		t.add(second)
		if got := t.due(t0.Add(time.Hour)); len(got) != 1 || got[0].ID != second.ID {
			t.Errorf("Due() = %+v, want the second task", got)
		}
	}},
	{"times before 1970 are in order too", func(t *suite) {
		old, older := t.task(t0), t.task(t0)
		old.VisibleAt, older.VisibleAt = time.UnixMilli(-5), time.UnixMilli(-6000)
		t.add(old, older)
		got := t.entries(t.shards(), store.Position{VisibleAt: -1 << 40}, 0, 10)
		if len(got) != 2 || got[0].ID != older.ID || got[1].VisibleAt != -5 {
			t.Errorf("Due() = %+v, want the older, then the old", got)
		}
	}},
	{"a task added during reads is found", func(t *suite) {
		const n = 200
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range n {
				task := t.task(t0)
				task.VisibleAt = t0.Add(-time.Duration(i) * time.Second) // always before all others
				if err := t.s.Commit(t.Context(), &store.Batch{Adds: []store.Add{{Task: task}}}); err != nil {
					t.Errorf("Commit() = %v", err)
				}
			}
		}()
		defer func() { <-done }()
		seen := 0
		for reading := true; reading; {
			select {
			case <-done:
				reading = false
			default:
			}
			got := len(t.due(t0.Add(time.Hour)))
			if got < seen {
				t.Fatalf("Due() found %d entries, and %d before; want no fewer", got, seen)
			}
			seen = got
		}
		if seen != n {
			t.Errorf("Due() found %d entries; want %d", seen, n)
		}
	}},
}

func byPosition(a, b store.Entry) int {
	if a.VisibleAt != b.VisibleAt {
		return int(a.VisibleAt - b.VisibleAt)
	}
	return slices.Compare(a.ID[:], b.ID[:])
}

var loads = []promise{
	{"tasks come in the order of their entries", func(t *suite) {
		tasks := map[bellman.ID]*bellman.Task{}
		b := &store.Batch{}
		for range 100 {
			task := t.task(t0)
			task.Body = []byte(task.ID.String())
			tasks[task.ID] = task
			b.Adds = append(b.Adds, store.Add{Task: task})
		}
		t.commit(b)
		entries := t.due(t0.Add(time.Hour))
		random := rand.New(rand.NewPCG(3, 4))
		for range 3 {
			got, err := t.s.Load(t.Context(), entries)
			t.must(err)
			if len(got) != len(entries) {
				t.Fatalf("Load() gave %d tasks; want one for each of %d entries", len(got), len(entries))
			}
			for i, e := range entries {
				if got[i] == nil || got[i].ID != e.ID {
					t.Fatalf("Load()[%d] = %v, want %v", i, got[i], e.ID)
				}
				t.same(got[i], tasks[e.ID])
				if got[i].Last != nil {
					t.Errorf("Load()[%d].Last = %v, want none", i, got[i].Last)
				}
			}
			random.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		}
	}},
	{"an entry that is given twice is loaded twice", func(t *suite) {
		t.add(t.task(t0))
		e := t.due(t0.Add(time.Hour))[0]
		got, err := t.s.Load(t.Context(), []store.Entry{e, e})
		t.must(err)
		if got[0] == nil || got[1] == nil {
			t.Errorf("Load() = %v, want it twice", got)
		}
	}},
	{"nil is returned for a task that is missing, ended, or of another version", func(t *suite) {
		stays, ends, moves := t.task(t0), t.task(t0), t.task(t0)
		t.add(stays, ends, moves)
		entries := t.due(t0.Add(time.Hour))
		entries = append(entries, store.Entry{ID: t.id(t0), Version: 1})
		t.end(ends, bellman.Succeeded, t0)
		t.must(t.make(store.Change{ID: moves.ID, Version: 1, To: bellman.Status{Attempts: 1, Due: t0, VisibleAt: t0}, Attempt: &bellman.Attempt{Number: 1, Due: t0, Started: t0}}).Err)
		got, err := t.s.Load(t.Context(), entries)
		t.must(err)
		for i, e := range entries {
			if loaded := got[i] != nil; loaded != (e.ID == stays.ID) {
				t.Errorf("Load() of %v = %v; want nil, because only %v is unchanged", e.ID, got[i], stays.ID)
			}
		}
		// An ended task of version 2 is not loaded either.
		got, err = t.s.Load(t.Context(), []store.Entry{{ID: ends.ID, Version: 2}, {ID: moves.ID, Version: 2}})
		t.must(err)
		if got[0] != nil || got[1] == nil {
			t.Fatalf("Load() = %v, want nil and the task that was moved", got)
		}
		if got[1].Last != nil { // although it was attempted
			t.Errorf("Load() gave a task with Last = %+v, want none", got[1].Last)
		}
	}},
	{"no entries load no tasks", func(t *suite) {
		if got, err := t.s.Load(t.Context(), nil); err != nil || len(got) != 0 {
			t.Errorf("Load(nil) = %v, %v; want none", got, err)
		}
	}},
}
