package storetest

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

var reads = []promise{
	{"a missing task returns ErrNotFound", func(t *suite) {
		t.missing(t.id(t0))
		_, err := store.Lookup(t.Context(), t.s, "q", "k")
		t.wantErr("Lookup()", err, bellman.ErrNotFound)
		got, err := t.s.Attempts(t.Context(), t.id(t0), 0, 10)
		if err != nil || len(got) != 0 {
			t.Errorf("Attempts() = %v, %v; want none", got, err)
		}
	}},
	{"a key is looked up in its queue, exactly", func(t *suite) {
		task := t.task(t0)
		task.Key = "Order-1"
		t.add(task)
		if id, err := store.Lookup(t.Context(), t.s, "q", "Order-1"); err != nil || id != task.ID {
			t.Errorf("Lookup() = %v, %v; want %v", id, err, task.ID)
		}
		for _, other := range [][2]string{{"q", "order-1"}, {"q", "Order-1 "}, {"q", "Order-"}, {"q", "Order-1\x00"}, {"Q", "Order-1"}, {"none", "Order-1"}} {
			_, err := store.Lookup(t.Context(), t.s, other[0], other[1])
			t.wantErr("Lookup()", err, bellman.ErrNotFound)
		}
	}},
	{"the digest of a task with a key is the one it was added with", func(t *suite) {
		keyed, other, plain, gone := t.task(t0), t.task(t0), t.task(t0), t.task(t0)
		keyed.Key, other.Key, gone.Key = "k", "K", "gone"
		b := &store.Batch{Adds: []store.Add{{Task: keyed, Digest: bellman.Digest{1, 15: 2}}, {Task: other, Digest: bellman.Digest{15: 3}}, {Task: plain, Digest: bellman.Digest{4}}}}
		t.commit(b)
		t.end(keyed, bellman.Succeeded, t0)
		got, err := t.s.Find(t.Context(), []store.Key{{Queue: "q", Key: "K"}, {Queue: "q"}, {Queue: "q", Key: "gone"}, {Queue: "q", Key: "k"}, {Queue: "Q", Key: "k"}, {Queue: "q", Key: "K"}})
		want := []store.Found{{ID: other.ID, Digest: b.Adds[1].Digest}, {}, {}, {ID: keyed.ID, Digest: b.Adds[0].Digest}, {}, {ID: other.ID, Digest: b.Adds[1].Digest}}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Find() = %v, %v; want %v", got, err, want)
		}
		if got, err := t.s.Find(t.Context(), nil); err != nil || len(got) != 0 {
			t.Errorf("Find() of an unknown key = %v, %v; want none", got, err)
		}
	}},
	{"fields that few tasks have come back, alone and together", func(t *suite) {
		var tasks []*bellman.Task
		for has := range 1 << 6 {
			task := t.task(t0)
			task.Body = []byte("\x01body")
			if has&1 != 0 {
				task.SetAlias("acc/商户\x00" + keyed(has))
			}
			if has&2 != 0 {
				task.SetCreatedBy("订单 service")
			}
			if has&4 != 0 {
				task.Kind = bellman.KindOwn + 7
			}
			if has&8 != 0 {
				task.SetTrace(bellman.ParseTrace("00-4bf92f3577b34da6a3ce929d0e0e4736-ffffffffffffffff-01", "a=b,c@d=e f"))
			}
			if has&16 != 0 {
				task.OrderingKey, task.Supersedes = keyed(has), has&1 != 0
			}
			if has&32 != 0 {
				task.Inherited = bellman.InheritedSchedule | bellman.InheritedSuccess | bellman.InheritedTimeout
			}
			tasks = append(tasks, task)
		}
		t.add(tasks...)
		for _, task := range tasks {
			t.same(t.get(task.ID), task)
			loaded, err := t.s.Load(t.Context(), []store.Entry{{ID: task.ID, Version: 1}})
			if err != nil || loaded[0] == nil {
				t.Fatalf("Load() = %v, %v; want the task", loaded, err)
			}
			t.same(loaded[0], task)
		}
	}},
	{"a task is returned with its newest attempt", func(t *suite) {
		task := t.added()
		if got := t.get(task.ID); got.Last != nil {
			t.Errorf("Last = %+v before the first attempt, want nil", got.Last)
		}
		for n := 1; n <= 3; n++ {
			t.attempt(task.ID, uint32(n), bellman.Attempt{Number: n, Response: keyed(n)})
			if got := t.get(task.ID); got.Last == nil || got.Last.Number != n || got.Last.Response != keyed(n) {
				t.Errorf("Last = %+v, want number %d", got.Last, n)
			}
		}
	}},
	{"a task is found, with its newest attempt, while it ends and is pending again", func(t *suite) {
		task := t.added()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := range int32(100) {
				to := bellman.Status{Due: t0, VisibleAt: t0}
				if n%2 == 0 {
					to = ended(bellman.State(1+n/2%3), t0)
				}
				to.Attempts = n + 1
				b := &store.Batch{Changes: []store.Change{{ID: task.ID, Version: uint32(n) + 1, To: to, Attempt: &bellman.Attempt{Number: int(n) + 1, Due: t0, Started: t0}}}}
				if err := t.s.Commit(t.Context(), b); err != nil || b.Changes[0].Err != nil {
					t.Errorf("Commit() = %v, Err = %v", err, b.Changes[0].Err)
				}
			}
		}()
		defer func() { <-done }()
		for reading := true; reading; {
			select {
			case <-done:
				reading = false
			default:
			}
			if got := t.get(task.ID); got.Attempts > 0 && (got.Last == nil || got.Last.Number != int(got.Attempts)) {
				t.Fatalf("Task() has %d attempts, and Last is %+v", got.Attempts, got.Last)
			}
		}
	}},
	{"the newest attempt is found although a later one left no record", func(t *suite) {
		task := t.added()
		t.attempt(task.ID, 1, bellman.Attempt{Number: 1})
		t.must(t.change(task.ID, 2, bellman.Status{Attempts: 3, Due: t0, VisibleAt: t0}))
		if got := t.get(task.ID); got.Last == nil || got.Last.Number != 1 {
			t.Errorf("Last = %+v, want number 1", got.Last)
		}
	}},
	{"an attempt comes back as it was given", func(t *suite) {
		task := t.added()
		want := bellman.Attempt{Number: 1, Trigger: bellman.BySettle, Due: t0.Add(1500 * time.Microsecond), Started: t0.Add(2500 * time.Microsecond),
			Took: 1234567, Action: "query", Reading: "PENDING", Timing: bellman.Timing{DNS: 210 * time.Microsecond, Connect: 3 * time.Second, TLS: time.Microsecond, FirstByte: 40 * time.Millisecond},
			Result: bellman.ErrorStatus, Status: 503, Response: "busy 忙", Header: "Retry-After: 5\nServer: 忙\n", Error: "status 503", Node: "node-1"}
		t.attempt(task.ID, 1, want)
		got, err := t.s.Attempts(t.Context(), task.ID, 0, 10)
		t.must(err)
		want.Due, want.Started = cut(want.Due), cut(want.Started)
		if len(got) == 1 && got[0].Took.Truncate(time.Millisecond) == want.Took.Truncate(time.Millisecond) {
			got[0].Took = want.Took // at least milliseconds are kept
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("Attempts() = %+v, want %+v", got, want)
		}
	}},
	{"the log keeps the attempt that ended a task, whatever comes afterwards", func(t *suite) {
		task := t.added()
		log := []bellman.Attempt{}
		version := uint32(1)
		step := func(state bellman.State, a *bellman.Attempt) {
			t.Helper()
			to := ended(state, t0)
			if !state.Ended() {
				to = bellman.Status{Due: t0, VisibleAt: t0}
			}
			if a != nil {
				a.Due, a.Started = t0, t0
				log = append(log, *a)
			}
			if n := len(log); n > 0 {
				to.Attempts = int32(log[n-1].Number)
			}
			t.must(t.make(store.Change{ID: task.ID, Version: version, To: to, Attempt: a, Of: t.get(task.ID)}).Err)
			version++
			for after := range len(log) + 1 {
				for limit := 1; limit <= len(log)+1; limit++ {
					got, err := t.s.Attempts(t.Context(), task.ID, after, limit)
					t.must(err)
					want := log[min(after, len(log)):]
					want = want[:min(limit, len(want))]
					if len(got) != len(want) || len(got) > 0 && (got[0] != want[0] || got[len(got)-1] != want[len(want)-1]) {
						t.Fatalf("after change %d: Attempts(after %d, limit %d) = %+v, want %+v", version-1, after, limit, got, want)
					}
				}
			}
			got := t.get(task.ID)
			if n := len(log); n > 0 && (got.Last == nil || *got.Last != log[n-1]) || n == 0 && got.Last != nil {
				t.Errorf("after change %d: Last = %+v, want the last of %+v", version-1, got.Last, log)
			}
		}
		step(bellman.Succeeded, &bellman.Attempt{Number: 1, Status: 1, Response: "ended it", Timing: bellman.Timing{FirstByte: 3}})
		step(bellman.Pending, nil) // one more attempt by hand
		step(bellman.Pending, &bellman.Attempt{Number: 2, Status: 2})
		step(bellman.Failed, &bellman.Attempt{Number: 3, Status: 3, Header: "Server: x\n"})
		step(bellman.Failed, nil)
		step(bellman.Cancelled, &bellman.Attempt{Number: 4, Status: 4})
		step(bellman.Pending, &bellman.Attempt{Number: 5, Status: 6})
		step(bellman.Failed, nil)
		t.prune(bellman.Failed, t0.Add(time.Hour), 10, 1)
		if got, err := t.s.Attempts(t.Context(), task.ID, 0, 10); err != nil || len(got) != 0 {
			t.Errorf("Attempts() of a deleted task = %+v, %v; want none", got, err)
		}
	}},
	{"one commit may end a task, make it pending and end it again", func(t *suite) {
		task := t.added()
		again := bellman.Status{Attempts: 1, Due: t0, VisibleAt: t0}
		end := ended(bellman.Failed, t0)
		end.Attempts = 2
		b := &store.Batch{Changes: []store.Change{
			{ID: task.ID, Version: 1, To: ended(bellman.Failed, t0), Attempt: &bellman.Attempt{Number: 1, Status: 1}},
			{ID: task.ID, Version: 2, To: again},
			{ID: task.ID, Version: 3, To: end, Attempt: &bellman.Attempt{Number: 2, Status: 2}},
		}}
		t.commit(b)
		for _, c := range b.Changes {
			t.must(c.Err)
		}
		got, err := t.s.Attempts(t.Context(), task.ID, 0, 10)
		t.must(err)
		if len(got) != 2 || got[0].Status != 1 || got[1].Status != 2 {
			t.Errorf("Attempts() = %+v, want both", got)
		}
		if last := t.get(task.ID).Last; last == nil || last.Number != 2 {
			t.Errorf("Last = %+v, want number 2", last)
		}
	}},
	{"attempts are returned in order, in pages", func(t *suite) {
		task, other := t.task(t0), t.task(t0)
		t.add(task, other)
		for n := 1; n <= 300; n++ {
			t.attempt(task.ID, uint32(n), bellman.Attempt{Number: n})
		}
		t.attempt(other.ID, 1, bellman.Attempt{Number: 1})
		after := 0
		for after < 300 {
			page, err := t.s.Attempts(t.Context(), task.ID, after, 7)
			t.must(err)
			if want := min(7, 300-after); len(page) != want {
				t.Fatalf("Attempts(after %d) returned %d; want %d", after, len(page), want)
			}
			for _, a := range page {
				if after++; a.Number != after {
					t.Fatalf("attempt number %d; want %d", a.Number, after)
				}
			}
		}
		if page, err := t.s.Attempts(t.Context(), task.ID, 300, 7); err != nil || len(page) != 0 {
			t.Errorf("Attempts(after the last) = %v, %v; want none", page, err)
		}
	}},
}

// attempt records one attempt of a pending task, which stays pending.
func (t *suite) attempt(id bellman.ID, version uint32, a bellman.Attempt) {
	t.Helper()
	t.must(t.make(store.Change{ID: id, Version: version, Attempt: &a,
		To: bellman.Status{Attempts: int32(a.Number), Due: t0, VisibleAt: t0}}).Err)
}
