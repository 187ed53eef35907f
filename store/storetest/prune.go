package storetest

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

var depths = []promise{
	{"the depths count the tasks of each queue by state", func(t *suite) {
		t.mixed()
		want := map[string]store.Depth{
			"q0": {Queue: "q0", Pending: 6, Failed: 6},
			"q1": {Queue: "q1", Succeeded: 6, Cancelled: 6},
		}
		t.depths(want)
	}},
	{"a task that changes its state is counted once", func(t *suite) {
		task := t.added()
		t.depths(map[string]store.Depth{"q": {Queue: "q", Pending: 1}})
		t.end(task, bellman.Failed, t0)
		t.depths(map[string]store.Depth{"q": {Queue: "q", Failed: 1}})
		t.must(t.change(task.ID, 2, bellman.Status{Due: t0, VisibleAt: t0}))
		t.must(t.change(task.ID, 3, bellman.Status{Due: t0, VisibleAt: t0}))
		t.depths(map[string]store.Depth{"q": {Queue: "q", Pending: 1}})
	}},
	{"the depths have the order of the queues' names", func(t *suite) {
		want := []string{"Q", "q", "q ", "r"}
		for _, i := range []int{2, 0, 3, 1} {
			task := t.task(t0)
			task.Queue = want[i]
			t.add(task)
		}
		got, err := t.s.Depths(t.Context())
		t.must(err)
		var names []string
		for _, d := range got {
			names = append(names, d.Queue)
		}
		if !slices.Equal(names, want) {
			t.Errorf("Depths() has the queues %q, want %q", names, want)
		}
	}},
}

func (t *suite) depths(want map[string]store.Depth) {
	t.Helper()
	got, err := t.s.Depths(t.Context())
	t.must(err)
	if len(got) != len(want) {
		t.Errorf("Depths() = %+v, want %+v", got, want)
	}
	for _, d := range got {
		if d != want[d.Queue] {
			t.Errorf("Depths() of %q = %+v, want %+v", d.Queue, d, want[d.Queue])
		}
	}
}

var prunes = []promise{
	{"only tasks that ended in that state before that time are deleted", func(t *suite) {
		old, young, failed, pending := t.task(t0), t.task(t0), t.task(t0), t.task(t0)
		t.add(old, young, failed, pending)
		t.end(old, bellman.Succeeded, t0.Add(time.Minute))
		t.end(young, bellman.Succeeded, t0.Add(time.Hour))
		t.end(failed, bellman.Failed, t0.Add(time.Minute))
		t.prune(bellman.Succeeded, t0.Add(time.Hour), 100, 1)
		t.missing(old.ID)
		for _, task := range []*bellman.Task{young, failed, pending} {
			t.get(task.ID)
		}
		t.depths(map[string]store.Depth{"q": {Queue: "q", Pending: 1, Succeeded: 1, Failed: 1}})
	}},
	{"everything that belongs to a task is deleted, so that its key is free", func(t *suite) {
		task := t.task(t0)
		task.Key, task.MerchantNo, task.OrderNo = "k", "m", "o"
		t.add(task)
		for n := 1; n <= 3; n++ {
			t.attempt(task.ID, uint32(n), bellman.Attempt{Number: n})
		}
		t.must(t.change(task.ID, 4, ended(bellman.Cancelled, t0)))
		t.prune(bellman.Cancelled, t0.Add(time.Second), 100, 1)
		if got, err := t.s.Attempts(t.Context(), task.ID, 0, 10); len(got) != 0 || err != nil {
			t.Errorf("Attempts() = %v, %v; want none", got, err)
		}
		for _, f := range []store.Filter{{}, {Key: "k"}, {MerchantNo: "m"}, {OrderNo: "o"}} {
			if got := t.list(f, 10); len(got) != 0 {
				t.Errorf("List(%+v) = %v, want none", f, got)
			}
		}
		t.depths(nil)
		again := t.task(t0)
		again.Key = "k"
		t.add(again)
	}},
	{"deleting fewer than limit means that nothing is left to delete", func(t *suite) {
		const all = 700
		b, e := &store.Batch{}, &store.Batch{}
		for range all {
			task := t.task(t0)
			b.Adds = append(b.Adds, store.Add{Task: task})
			e.Changes = append(e.Changes, store.Change{ID: task.ID, Version: 1, To: ended(bellman.Succeeded, t0)})
		}
		t.commit(b)
		t.commit(e)
		for left := all - 300; left > 0; left -= 300 {
			t.prune(bellman.Succeeded, t0.Add(time.Second), 300, 300)
			t.depths(map[string]store.Depth{"q": {Queue: "q", Succeeded: int64(left)}})
		}
		t.prune(bellman.Succeeded, t0.Add(time.Second), 300, all%300)
		t.prune(bellman.Succeeded, t0.Add(time.Second), 300, 0)
	}},
	{"a task that ended again after others were deleted is deleted too", func(t *suite) {
		resent, other := t.task(t0), t.task(t0)
		t.add(resent, other)
		t.end(resent, bellman.Failed, t0)
		t.must(t.change(resent.ID, 2, bellman.Status{Due: t0, VisibleAt: t0}))
		t.end(other, bellman.Failed, t0)
		for want := range 2 {
			if want == 1 {
				t.must(t.change(resent.ID, 3, ended(bellman.Failed, t0)))
			}
			t.prune(bellman.Failed, t0.Add(time.Second), 10, 1)
		}
	}},
	{"the time is cut to milliseconds, like all times", func(t *suite) {
		task := t.added()
		t.end(task, bellman.Failed, t0.Add(time.Second+200*time.Microsecond))
		t.prune(bellman.Failed, t0.Add(time.Second+900*time.Microsecond), 10, 0)
		t.prune(bellman.Failed, t0.Add(time.Second+time.Millisecond), 10, 1)
	}},
	{"pending tasks are never deleted", func(t *suite) {
		task := t.added()
		if n, _ := t.s.Prune(t.Context(), bellman.Pending, t0.Add(time.Hour), 10); n != 0 {
			t.Errorf("Prune(pending) = %d, want 0", n)
		}
		t.get(task.ID)
	}},
}
