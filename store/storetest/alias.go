package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

var aliases = []promise{
	{"an alias is unique among all queues", func(t *suite) {
		first, second, third := t.aliased("a"), t.aliased("a"), t.aliased("A")
		second.Queue, second.Key, second.MerchantNo, second.OrderNo = "r", "k", "m", "o"
		t.add(first, third)
		t.refused(second, first.ID)
		t.depths(map[string]store.Depth{"q": {Queue: "q", Pending: 2}})
		for _, f := range []store.Filter{{Queue: "r"}, {Key: "k"}, {MerchantNo: "m"}, {OrderNo: "o"}} {
			if got := t.list(f, 10); len(got) != 0 {
				t.Errorf("List(%+v) = %v after the rejection; want none", f, ids(got))
			}
		}
		if got := t.due(t0.Add(time.Second)); len(got) != 2 {
			t.Errorf("Due() = %+v, want the two tasks that were added", got)
		}
		second.SetAlias("b")
		t.add(second)
		t.hasAlias("b", second.ID)
	}},
	{"an alias stays taken after its task ended, until the task is deleted", func(t *suite) {
		first, other, second := t.aliased("a"), t.aliased("b"), t.aliased("a")
		t.add(first, other)
		t.end(first, bellman.Succeeded, t0)
		t.end(other, bellman.Failed, t0)
		t.refused(second, first.ID)
		t.prune(bellman.Succeeded, t0.Add(time.Second), 10, 1)
		t.hasAlias("a", bellman.ID{})
		t.hasAlias("b", other.ID)
		t.add(second)
		t.hasAlias("a", second.ID)
	}},
	{"the key is compared before the alias", func(t *suite) {
		first, second := t.aliased("a"), t.aliased("b")
		first.Key = "k"
		t.add(first, second)
		same, other := t.aliased("b"), t.aliased("b")
		same.Key, other.Key, other.Event = "k", "k", "other"
		b := &store.Batch{Adds: []store.Add{{Task: same, Digest: first.Digest()}, {Task: other, Digest: other.Digest()}}}
		t.commit(b)
		t.outcome(b.Adds[0], first.ID, nil)
		t.outcome(b.Adds[1], first.ID, bellman.ErrKeyTaken)
	}},
	{"a batch whose outcome was unknown can be committed again", func(t *suite) {
		keyless, keyed, moved := t.aliased("a"), t.aliased("b"), t.aliased("c")
		keyed.Key = "k"
		adds := []store.Add{{Task: keyless, Digest: keyless.Digest()}, {Task: keyed, Digest: keyed.Digest()}, {Task: moved, Digest: moved.Digest(), Moved: true}}
		for range 3 {
			b := &store.Batch{Adds: slices.Clone(adds)}
			t.commit(b)
			for _, a := range b.Adds {
				if a.Err != nil || !a.Existing.IsZero() && a.Existing != a.Task.ID {
					t.Errorf("add %q: Existing = %v, Err = %v; want no error, and none but %v", a.Task.Alias(), a.Existing, a.Err, a.Task.ID)
				}
			}
		}
		for _, a := range adds {
			t.hasAlias(a.Task.Alias(), a.Task.ID)
			t.same(t.get(a.Task.ID), a.Task)
		}
	}},
	{"each add sees the aliases of those before it in the batch", func(t *suite) {
		taken := t.aliased("taken")
		t.add(taken)
		refused := bellman.ErrAliasTaken
		tests := []struct {
			key, event, alias string
			existing          int // the index of an earlier add, or old or fresh
			err               error
		}{
			0:  {"", "", "x", fresh, nil},
			1:  {"", "", "x", 0, refused},
			2:  {"k", "", "taken", old, refused},
			3:  {"k", "", "y", fresh, nil}, // the key is free, because the task before was rejected
			4:  {"", "", "y", 3, refused},
			5:  {"k", "", "z", 3, nil},
			6:  {"", "", "z", fresh, nil}, // the alias is free, because the task before existed already
			7:  {"k", "other", "taken", 3, bellman.ErrKeyTaken},
			8:  {"j", "", "x", 0, refused},
			9:  {"j", "other", "", fresh, nil},
			10: {"j", "", "w", 9, bellman.ErrKeyTaken},
			11: {"", "", "", fresh, nil},
			12: {"", "", "w", fresh, nil},
		}
		b := &store.Batch{}
		for _, tt := range tests {
			task := t.aliased(tt.alias)
			task.Key, task.Event = tt.key, tt.event
			b.Adds = append(b.Adds, store.Add{Task: task, Digest: task.Digest()})
		}
		t.commit(b)
		for i, tt := range tests {
			want := bellman.ID{}
			switch tt.existing {
			case fresh:
			case old:
				want = taken.ID
			default:
				want = b.Adds[tt.existing].Task.ID
			}
			a := &b.Adds[i]
			t.outcome(*a, want, tt.err)
			if tt.existing == fresh {
				t.same(t.get(a.Task.ID), a.Task)
			} else {
				t.missing(a.Task.ID)
			}
		}
		t.depths(map[string]store.Depth{"q": {Queue: "q", Pending: 7}})
	}},
	{"a rejected id can be added in the same batch", func(t *suite) {
		taken, task := t.aliased("a"), t.aliased("a")
		t.add(taken)
		again := *task
		again.SetAlias("b")
		b := &store.Batch{Adds: []store.Add{{Task: task}, {Task: &again}}}
		t.commit(b)
		t.wantErr("Err", b.Adds[0].Err, bellman.ErrAliasTaken)
		t.outcome(b.Adds[1], bellman.ID{}, nil)
		t.same(t.get(task.ID), &again)
	}},
	{"a follow-up whose alias is taken is rejected, and its change is made", func(t *suite) {
		first, second := t.aliased("a"), t.task(t0)
		t.add(first, second)
		bad, good, late := t.aliased("a"), t.aliased("b"), t.aliased("b")
		b := &store.Batch{Changes: []store.Change{
			{ID: first.ID, Version: 1, To: ended(bellman.Succeeded, t0), Follow: []store.Add{{Task: bad}, {Task: good}}},
			{ID: second.ID, Version: 1, To: ended(bellman.Succeeded, t0), Follow: []store.Add{{Task: late}}},
		}}
		t.commit(b)
		for i := range b.Changes {
			t.must(b.Changes[i].Err)
		}
		follow := b.Changes[0].Follow
		t.outcome(follow[0], first.ID, bellman.ErrAliasTaken)
		t.must(follow[1].Err)
		t.outcome(b.Changes[1].Follow[0], good.ID, bellman.ErrAliasTaken)
		t.same(t.get(good.ID), good)
		t.depths(map[string]store.Depth{"q": {Queue: "q", Pending: 1, Succeeded: 2}})
	}},
	{"an alias is found without a queue, exactly", func(t *suite) {
		task, other := t.aliased("Acc/1"), t.aliased("Key")
		task.Key, other.Key = "Key", "Acc/1"
		t.add(task, other)
		got, err := t.s.Find(t.Context(), []store.Key{{Key: "Acc/1"}, {Queue: "q", Key: "Acc/1"}, {Key: "acc/1"}, {Key: "Acc/1 "}, {Key: "Acc/"}, {}, {Key: "Key"}, {Key: "Acc/1"}})
		want := []store.Found{{ID: task.ID}, {ID: other.ID, Digest: other.Digest()}, {}, {}, {}, {}, {ID: other.ID}, {ID: task.ID}}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Find() = %v, %v; want %v", got, err, want)
		}
		if list := t.list(store.Filter{Key: "Key"}, 10); len(list) != 1 || list[0].ID != task.ID {
			t.Errorf("List() of a key = %v, want the task with the key alone, not that with the alias", ids(list))
		}
	}},
	{"a task from another store keeps its alias", func(t *suite) {
		first, second := t.aliased("a"), t.aliased("a")
		first.Version, first.Place, first.OrderingKey = 5, 1, "o"
		t.commit(&store.Batch{Adds: []store.Add{{Task: first, Moved: true}}})
		t.same(t.get(first.ID), first)
		b := &store.Batch{Adds: []store.Add{{Task: second, Moved: true}}}
		t.commit(b)
		t.wantErr("Err", b.Adds[0].Err, bellman.ErrAliasTaken)
		t.hasAlias("a", first.ID)
	}},
	{"if many add the same alias at once, one of them adds it", func(t *suite) {
		const n = 16
		batches := make([]*store.Batch, n)
		for i := range batches {
			task, beside := t.aliased("a"), t.task(t0)
			task.Key, beside.Key = keyed(i), keyed(n+i)
			batches[i] = &store.Batch{Adds: []store.Add{{Task: task}, {Task: beside}}}
		}
		t.race(n, func(i int) bool {
			b := batches[i]
			if err := t.s.Commit(t.Context(), b); err != nil {
				t.Errorf("Commit() = %v", err)
				return false
			}
			if b.Adds[1].Err != nil || !b.Adds[1].Existing.IsZero() {
				t.Errorf("the other task of the batch: Existing = %v, Err = %v; want it added", b.Adds[1].Existing, b.Adds[1].Err)
			}
			return b.Adds[0].Err == nil
		})
		id, err := store.Lookup(t.Context(), t.s, "", "a")
		t.must(err)
		for _, b := range batches {
			a := &b.Adds[0]
			if (a.Err == nil) != (a.Task.ID == id) || a.Err != nil && (!errors.Is(a.Err, bellman.ErrAliasTaken) || a.Existing != id) {
				t.Errorf("adder of %v: Existing = %v, Err = %v; the alias belongs to %v", a.Task.ID, a.Existing, a.Err, id)
			}
		}
		t.depths(map[string]store.Depth{"q": {Queue: "q", Pending: n + 1}})
	}},
	{"an alias that is too long gets an error, and other rows of the batch are written", func(t *suite) {
		long, beside := t.aliased(string(slices.Repeat([]byte{'a'}, 100_000))), t.task(t0)
		b := &store.Batch{Adds: []store.Add{{Task: long}, {Task: beside}}}
		t.commit(b)
		t.get(beside.ID)
		var invalid *bellman.Invalid
		switch err := b.Adds[0].Err; {
		case err == nil:
			t.hasAlias(long.Alias(), long.ID) // this store can hold it
		case !errors.As(err, &invalid) || len(invalid.Fields) != 1 || invalid.Fields[0].Field != "alias":
			t.Errorf("Err = %v, want that of the field alias", err)
		}
	}},
}

// The expected result of an add, if it is not the index of an earlier add.
const (
	fresh = -1 // the task is added
	old   = -2 // the task that existed before the batch
)

func (t *suite) aliased(alias string) *bellman.Task {
	task := t.task(t0)
	task.SetAlias(alias)
	return task
}

// hasAlias checks which task has an alias; a zero id means none.
func (t *suite) hasAlias(alias string, want bellman.ID) {
	t.Helper()
	found, err := t.s.Find(t.Context(), []store.Key{{Key: alias}})
	if err != nil || found[0] != (store.Found{ID: want}) {
		t.Errorf("Find(alias %.40q) = %+v, %v; want %v", alias, found, err, want)
	}
}

// refused adds a task whose alias is taken by holder, and checks that it is rejected.
func (t *suite) refused(task *bellman.Task, holder bellman.ID) {
	t.Helper()
	t.addExisting(task, task.Digest(), holder, bellman.ErrAliasTaken)
	t.missing(task.ID)
}
