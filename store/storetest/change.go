package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

var changes = []promise{
	{"a change replaces the status and counts the version", func(t *suite) {
		task := t.added()
		to := bellman.Status{Shard: 1, Attempts: 1, Step: 1, Began: t0, Due: t0.Add(15 * time.Second), VisibleAt: t0.Add(16 * time.Second),
			Phase: bellman.Quarantined, Trigger: bellman.BySettle, Updated: t0.Add(time.Second), Data: []byte("d")}
		made := t.make(store.Change{ID: task.ID, Version: 1, To: to})
		t.must(made.Err)
		if made.To.Version != 2 {
			t.Errorf("To.Version = %d, want 2", made.To.Version)
		}
		want := *task
		want.Status = to
		want.Version = 2
		t.same(t.get(task.ID), &want)
	}},
	{"a change with another version is a conflict and changes nothing", func(t *suite) {
		task := t.added()
		for _, version := range []uint32{0, 2, 1 << 31} {
			t.wantErr("change", t.change(task.ID, version, ended(bellman.Failed, t0)), bellman.ErrConflict)
		}
		t.same(t.get(task.ID), task)
	}},
	{"a change of a missing task returns ErrNotFound", func(t *suite) {
		t.wantErr("change", t.change(t.id(t0), 1, ended(bellman.Failed, t0)), bellman.ErrNotFound)
	}},
	{"a change that fails does not affect others in its batch", func(t *suite) {
		first, second := t.task(t0), t.task(t0)
		t.add(first, second)
		b := &store.Batch{Changes: []store.Change{
			{ID: first.ID, Version: 1, To: ended(bellman.Succeeded, t0)},
			{ID: first.ID, Version: 1, To: ended(bellman.Failed, t0)},
			{ID: t.id(t0), Version: 1, To: ended(bellman.Failed, t0)},
			{ID: second.ID, Version: 1, To: ended(bellman.Failed, t0)},
		}}
		t.commit(b)
		t.must(b.Changes[0].Err)
		t.wantErr("the same again", b.Changes[1].Err, bellman.ErrConflict)
		t.wantErr("no task", b.Changes[2].Err, bellman.ErrNotFound)
		t.must(b.Changes[3].Err)
		if got := t.get(first.ID); got.State != bellman.Succeeded {
			t.Errorf("state = %v, want succeeded", got.State)
		}
	}},
	{"if the version differs, the task content given with a change is ignored", func(t *suite) {
		moved, still, gone := t.task(t0), t.task(t0), t.task(t0)
		t.add(moved, still)
		t.must(t.change(moved.ID, 1, bellman.Status{Due: t0.Add(time.Hour), VisibleAt: t0.Add(time.Hour)}))
		change := func() *store.Batch {
			b := &store.Batch{}
			for _, task := range []*bellman.Task{moved, gone, still} {
				b.Changes = append(b.Changes, store.Change{ID: task.ID, Version: 1, To: ended(bellman.Succeeded, t0), Of: task,
					Attempt: &bellman.Attempt{Number: 1, Result: bellman.Accepted}})
			}
			t.commit(b)
			return b
		}
		b := change()
		t.wantErr("a task that was changed meanwhile", b.Changes[0].Err, bellman.ErrConflict)
		t.wantErr("no task", b.Changes[1].Err, bellman.ErrNotFound)
		t.must(b.Changes[2].Err)
		t.wantErr("the same again", change().Changes[2].Err, bellman.ErrConflict)
		for _, task := range []*bellman.Task{moved, still} {
			got, want := t.get(task.ID), 0
			if task == still {
				want = 1
			}
			if log, err := t.s.Attempts(t.Context(), task.ID, 0, 10); err != nil || got.Version != 2 || len(log) != want {
				t.Errorf("version %d, attempts %+v, %v; want version 2 and %d attempts", got.Version, log, err, want)
			}
		}
		t.depths(map[string]store.Depth{"q": {Queue: "q", Pending: 1, Succeeded: 1}})
	}},
	{"a change with its task's content can also change an ended task", func(t *suite) {
		task := t.added()
		of := t.get(task.ID)
		for _, to := range []bellman.Status{ended(bellman.Failed, t0), ended(bellman.Succeeded, t0), {Due: t0, VisibleAt: t0}, ended(bellman.Cancelled, t0)} {
			made := t.make(store.Change{ID: task.ID, Version: of.Version, To: to, Of: of})
			t.must(made.Err)
			if of = t.get(task.ID); of.State != to.State || of.Version != made.To.Version {
				t.Errorf("state = %v, version = %d; want %v, %d", of.State, of.Version, to.State, made.To.Version)
			}
		}
		t.depths(map[string]store.Depth{"q": {Queue: "q", Cancelled: 1}})
	}},
	{"a batch sees its own earlier writes", func(t *suite) {
		task := t.task(t0)
		b := &store.Batch{
			Adds: []store.Add{{Task: task}},
			Changes: []store.Change{
				{ID: task.ID, Version: 1, To: bellman.Status{Due: t0.Add(time.Hour), VisibleAt: t0.Add(time.Hour)}},
				{ID: task.ID, Version: 2, To: ended(bellman.Cancelled, t0)},
			},
		}
		t.commit(b)
		t.must(b.Changes[0].Err)
		t.must(b.Changes[1].Err)
		if got := t.get(task.ID); got.State != bellman.Cancelled || got.Version != 3 {
			t.Errorf("state = %v, version = %d; want cancelled, 3", got.State, got.Version)
		}
		t.idle(t0.Add(48 * time.Hour))
	}},
	{"an ended task can become pending again, and end again", func(t *suite) {
		task := t.added()
		t.end(task, bellman.Failed, t0)
		again := bellman.Status{Attempts: 1, Due: t0.Add(time.Minute), VisibleAt: t0.Add(time.Minute), Trigger: bellman.ByHand,
			Before: &bellman.Before{State: bellman.Failed, Reason: "max_age", Finished: t0}}
		t.must(t.change(task.ID, 2, again))
		if entries := t.due(t0.Add(time.Hour)); len(entries) != 1 || entries[0].Version != 3 {
			t.Errorf("Due() = %+v, want the task with version 3", entries)
		}
		t.must(t.change(task.ID, 3, ended(bellman.Failed, t0)))
		t.must(t.change(task.ID, 4, ended(bellman.Succeeded, t0)))
		t.idle(t0.Add(time.Hour))
		if got := t.get(task.ID); got.State != bellman.Succeeded || got.Version != 5 || got.Before != nil {
			t.Errorf("got %+v, want succeeded, version 5", got.Status)
		}
	}},
	{"a task that gets the same VisibleAt again is due once", func(t *suite) {
		task := t.added()
		for version := range uint32(5) {
			t.must(t.change(task.ID, version+1, bellman.Status{Due: t0, VisibleAt: t0}))
		}
		if entries := t.due(t0.Add(time.Hour)); len(entries) != 1 || entries[0].Version != 6 {
			t.Errorf("Due() = %+v, want the task with version 6", entries)
		}
		t.must(t.change(task.ID, 6, ended(bellman.Failed, t0)))
		t.idle(t0.Add(time.Hour))
	}},
	{"an attempt is appended only if the change is made", func(t *suite) {
		task := t.added()
		attempt := &bellman.Attempt{Number: 1, Result: bellman.Accepted, Status: 200, Response: "success"}
		b := &store.Batch{Changes: []store.Change{
			{ID: task.ID, Version: 7, To: ended(bellman.Failed, t0), Attempt: &bellman.Attempt{Number: 9}},
			{ID: task.ID, Version: 1, To: ended(bellman.Succeeded, t0), Attempt: attempt},
		}}
		t.commit(b)
		got, err := t.s.Attempts(t.Context(), task.ID, 0, 10)
		t.must(err)
		if len(got) != 1 || got[0].Number != 1 {
			t.Errorf("Attempts() = %+v, want number 1 only", got)
		}
	}},
	{"follow-up tasks and the audit record are written only if the change is made", func(t *suite) {
		task, follow, never := t.task(t0), t.task(t0), t.task(t0)
		follow.Key = "follow"
		t.add(task)
		b := &store.Batch{Changes: []store.Change{
			{ID: task.ID, Version: 2, To: ended(bellman.Failed, t0), Follow: []store.Add{{Task: never}}, Audit: &store.Audit{At: t0, Who: "never"}},
			{ID: task.ID, Version: 1, To: ended(bellman.Succeeded, t0), Follow: []store.Add{{Task: follow, Digest: follow.Digest()}}, Audit: &store.Audit{At: t0, Who: "once"}},
		}}
		t.commit(b)
		t.must(b.Changes[1].Follow[0].Err)
		t.same(t.get(follow.ID), follow)
		t.missing(never.ID)
		records, err := t.s.Audits(t.Context(), time.Time{}, 10)
		t.must(err)
		if len(records) != 1 || records[0].Who != "once" {
			t.Errorf("Audits() = %+v, want the one of the change that was made", records)
		}
	}},
	{"a follow-up with an existing key is not added again", func(t *suite) {
		task, first, second := t.task(t0), t.task(t0), t.task(t0)
		first.Key, second.Key = "k", "k"
		t.add(task, first)
		made := t.make(store.Change{ID: task.ID, Version: 1, To: ended(bellman.Succeeded, t0), Follow: []store.Add{{Task: second, Digest: first.Digest()}}})
		t.must(made.Err)
		t.outcome(made.Follow[0], first.ID, nil)
	}},
	{"if many change the same version at once, one succeeds", func(t *suite) {
		task := t.added()
		for round := range uint32(5) {
			t.race(16, func(i int) bool {
				at := t0.Add(time.Duration(i) * time.Second)
				b := &store.Batch{Changes: []store.Change{{ID: task.ID, Version: round + 1,
					To: bellman.Status{Step: int32(i), Due: at, VisibleAt: at}}}}
				if err := t.s.Commit(t.Context(), b); err != nil {
					t.Errorf("Commit() = %v", err)
				}
				err := b.Changes[0].Err
				if err != nil && !errors.Is(err, bellman.ErrConflict) {
					t.Errorf("Err = %v, want nil or ErrConflict", err)
				}
				return err == nil
			})
		}
		got := t.get(task.ID)
		entries := t.due(t0.Add(time.Hour))
		if len(entries) != 1 || entries[0].Version != 6 || entries[0].VisibleAt != got.VisibleAt.UnixMilli() {
			t.Errorf("Due() = %+v; want one entry at %v with version %d", entries, got.VisibleAt, got.Version)
		}
	}},
	{"an empty batch is no error", func(t *suite) {
		t.commit(&store.Batch{})
	}},
	{"a batch whose context is done is not written", func(t *suite) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		task := t.task(t0)
		err := t.s.Commit(ctx, &store.Batch{Adds: []store.Add{{Task: task}}})
		t.wantErr("Commit()", err, context.Canceled)
		t.missing(task.ID)
	}},
}
