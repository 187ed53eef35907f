package storetest

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

var adds = []promise{
	{"a task keeps the version that it is added with, and changes count from there", func(t *suite) {
		task := t.task(t0)
		task.Version, task.Attempts = 7, 3
		t.add(task)
		t.same(t.get(task.ID), task)
		if got := t.due(t0.Add(time.Second)); len(got) != 1 || got[0].Version != 7 || got[0].Attempts != 3 {
			t.Errorf("Due() = %+v, want version 7 and 3 attempts", got)
		}
		t.wantErr("change of version 1", t.change(task.ID, 1, ended(bellman.Failed, t0)), bellman.ErrConflict)
		t.must(t.change(task.ID, 7, ended(bellman.Failed, t0)))
		if got := t.get(task.ID); got.Version != 8 || got.State != bellman.Failed {
			t.Errorf("version %d, %v; want 8, failed", got.Version, got.State)
		}
		t.idle(t0.Add(time.Second))
	}},
	{"a task comes back as it was given", func(t *suite) {
		zone := time.FixedZone("UTC+8", 8*3600)
		at := t0.Add(1234567 * time.Nanosecond).In(zone)
		task := &bellman.Task{
			ID: t.id(t0), Queue: "merchant-notify", Key: "M1001/1/paid",
			MerchantNo: "M1001", OrderNo: "20261120000001", Event: "payment.succeeded",
			URL: "https://merchant.example:8443/notify?a=1", Method: "PUT",
			Header: map[string]string{"Content-Type": "application/json", "X-Empty": ""},
			Body:   []byte{0, 1, 2, 0xff}, Schedule: "0s, 15s*2", Success: "success_text",
			Timeout: 5*time.Second + 1, MaxAge: 24 * time.Hour, Repeat: "10m",
			Delay: time.Minute + 7, StartAt: at, Endpoint: "https://merchant.example:8443",
			Inherited: bellman.InheritedSchedule | bellman.InheritedTimeout,
			Status: bellman.Status{
				Version: 1, Shard: 1, Attempts: 3, Step: 2, Began: at.Add(-time.Hour), Due: at, VisibleAt: at.Add(time.Second),
				Phase: bellman.Deferred, Trigger: bellman.ByHand, Updated: at, Data: []byte("state\x00of a handler"),
				Before: &bellman.Before{State: bellman.Failed, Reason: "max_age", Finished: at.Add(-time.Minute)}, WasDue: uint32(at.Unix()) - 7,
			},
		}
		t.add(task)
		t.same(t.get(task.ID), task)
	}},
	{"a task with as few fields as possible comes back as it was given", func(t *suite) {
		task := &bellman.Task{ID: t.id(t0), Queue: "q", Status: bellman.Status{Version: 1, Due: t0, VisibleAt: t0}}
		t.add(task)
		t.same(t.get(task.ID), task)
	}},
	{"the caller may change what it gave to the store or got from it", func(t *suite) {
		task := t.task(t0)
		task.Header = map[string]string{"A": "1"}
		task.Data = []byte("data")
		t.add(task)
		task.Body[0], task.Data[0], task.Header["A"], task.Queue = 'x', 'x', "2", "other"
		got := t.get(task.ID)
		if got.Body[0] == 'x' || got.Data[0] == 'x' || got.Header["A"] != "1" || got.Queue != "q" {
			t.Errorf("the caller's change of the task it had added shows in the store: %+v", got)
		}
		got.Body[0], got.Header["A"] = 'y', "3"
		if again := t.get(task.ID); again.Body[0] == 'y' || again.Header["A"] == "3" {
			t.Errorf("the caller's change of a returned task shows in the store: %+v", again)
		}
	}},
	{"a key is added once; adding the same content again is no error", func(t *suite) {
		first, second := t.task(t0), t.task(t0)
		first.Key, second.Key = "k", "k"
		t.add(first)
		t.addExisting(second, first.Digest(), first.ID, nil)
		t.missing(second.ID)
	}},
	{"adding a key again with other content returns ErrKeyTaken", func(t *suite) {
		first, second := t.task(t0), t.task(t0)
		first.Key, second.Key = "k", "k"
		second.Body = []byte("other")
		t.add(first)
		t.addExisting(second, second.Digest(), first.ID, bellman.ErrKeyTaken)
		t.same(t.get(first.ID), first)
	}},
	{"a key stays taken when its task has ended", func(t *suite) {
		first, second := t.task(t0), t.task(t0)
		first.Key, second.Key = "k", "k"
		t.add(first)
		t.end(first, bellman.Succeeded, t0)
		t.addExisting(second, first.Digest(), first.ID, nil)
	}},
	{"of two tasks with the same key in one batch the first is added", func(t *suite) {
		first, second, third := t.task(t0), t.task(t0), t.task(t0)
		first.Key, second.Key, third.Key = "k", "k", "k"
		third.Event = "other"
		b := &store.Batch{Adds: []store.Add{
			{Task: first, Digest: first.Digest()}, {Task: second, Digest: first.Digest()}, {Task: third, Digest: third.Digest()},
		}}
		t.commit(b)
		t.outcome(b.Adds[0], bellman.ID{}, nil)
		t.outcome(b.Adds[1], first.ID, nil)
		t.wantErr("third", b.Adds[2].Err, bellman.ErrKeyTaken)
		if entries := t.due(t0.Add(1)); len(t.due(t0.Add(time.Hour))) != 1 {
			t.Errorf("Due() = %v; want the first only", entries)
		}
	}},
	{"an add that fails does not affect others in its batch", func(t *suite) {
		taken := t.task(t0)
		taken.Key = "k"
		t.add(taken)
		before, bad, after := t.task(t0), t.task(t0), t.task(t0)
		bad.Key, bad.Event = "k", "other"
		b := &store.Batch{Adds: []store.Add{{Task: before}, {Task: bad, Digest: bad.Digest()}, {Task: after}}}
		t.commit(b)
		t.get(before.ID)
		t.get(after.ID)
		t.wantErr("Err", b.Adds[1].Err, bellman.ErrKeyTaken)
	}},
	{"an empty key is no key", func(t *suite) {
		t.add(t.task(t0), t.task(t0))
		_, err := store.Lookup(t.Context(), t.s, "q", "")
		t.wantErr("Lookup of no key", err, bellman.ErrNotFound)
	}},
	{"the same key in different queues is not the same key", func(t *suite) {
		// The pairs ("a", "bc") and ("ab", "c") have the same letters, and must also be kept apart.
		for _, name := range [][2]string{{"a", "bc"}, {"ab", "c"}, {"b", "bc"}, {"a", "bcc"}, {"abc", "b"}} {
			task := t.task(t0)
			task.Queue, task.Key = name[0], name[1]
			t.add(task)
			if id, err := store.Lookup(t.Context(), t.s, name[0], name[1]); err != nil || id != task.ID {
				t.Errorf("Lookup(%q) = %v, %v; want %v", name, id, err, task.ID)
			}
		}
	}},
	{"adding the same id again finds the task", func(t *suite) {
		// So a batch with an unknown outcome can be committed again.
		task := t.added()
		t.end(task, bellman.Failed, t0)
		t.addExisting(task, task.Digest(), task.ID, nil)
		if got := t.get(task.ID); got.State != bellman.Failed {
			t.Errorf("state = %v, want failed", got.State)
		}
	}},
	{"if many add the same key at once, one of them adds it", func(t *suite) {
		const n = 16
		tasks := make([]*bellman.Task, n)
		for i := range tasks {
			tasks[i] = t.task(t0)
			tasks[i].Key = "k"
		}
		existing := make([]bellman.ID, n)
		t.race(n, func(i int) bool {
			b := &store.Batch{Adds: []store.Add{{Task: tasks[i], Digest: tasks[0].Digest()}}}
			if err := t.s.Commit(t.Context(), b); err != nil || b.Adds[0].Err != nil {
				t.Errorf("Commit() = %v, Err = %v", err, b.Adds[0].Err)
			}
			if existing[i] = b.Adds[0].Existing; !existing[i].IsZero() {
				return false
			}
			existing[i] = tasks[i].ID
			return true
		})
		id, err := store.Lookup(t.Context(), t.s, "q", "k")
		t.must(err)
		for i := range existing {
			if existing[i] != id {
				t.Errorf("adder %d got Existing = %v; want the key's task %v", i, existing[i], id)
			}
		}
	}},
}
