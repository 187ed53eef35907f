package resend_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// answered gives each of the tasks a last attempt with a result and a status.
func answered(t *testing.T, s store.Store, ids []bellman.ID, result bellman.Result, status int) {
	t.Helper()
	for _, id := range ids {
		task, err := s.Task(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		c := store.Change{ID: id, Version: task.Version, To: task.Status, Attempt: &bellman.Attempt{Number: int(task.Attempts) + 1, Result: result, Status: status, Started: task.Created()}}
		c.To.Attempts++
		b := &store.Batch{Changes: []store.Change{c}}
		if err := s.Commit(t.Context(), b); err != nil || b.Changes[0].Err != nil {
			t.Fatal(err, b.Changes[0].Err)
		}
	}
}

// A job can select by kind, result and status. Count before the start equals what the job resends,
// and the job shows its total.
func TestPick(t *testing.T) {
	timeout, refused := bellman.TimedOut, bellman.Refused
	for _, tt := range []struct {
		name string
		pick resend.Pick
		want int64
	}{
		{"result", resend.Pick{Result: &timeout}, 400},
		{"result and status", resend.Pick{Result: &refused, Status: 200}, 250},
		{"status", resend.Pick{Status: 503}, 150},
		{"kind", resend.Pick{Filter: pay.Filter, Kind: "order"}, 300},
		{"kind and result", resend.Pick{Kind: "notify", Result: &timeout}, 100},
		{"nothing fits", resend.Pick{Status: 404}, 0},
		{"nothing ended since", resend.Pick{FinishedFrom: time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				now := time.Now()
				ids := addKind(t, s, "pay", bellman.KindOrder, 300, now.Add(-time.Second))
				ids = append(ids, add(t, s, "pay", 700, now)...)
				answered(t, s, ids[:400], bellman.TimedOut, 0)
				answered(t, s, ids[400:650], bellman.Refused, 200)
				answered(t, s, ids[650:800], bellman.ErrorStatus, 503)
				e := &sender{Store: s, after: attempted} // after the resend each task has another last attempt
				j, err := resend.New(resend.Options{Store: s, Tasks: e})
				if err != nil {
					t.Fatal(err)
				}
				count, err := j.Count(t.Context(), tt.pick, 0, 0)
				if err != nil || int64(count.Tasks) != tt.want || count.More {
					t.Errorf("Count = %+v, %v; want %d tasks", count, err, tt.want)
				}
				stop := run(t, j)
				defer stop()
				job := start(t, j, resend.Job{Filter: tt.pick, Rate: 100})
				if tt.want > 0 {
					time.Sleep(time.Second / 2)
					if now := get(t, j, job.ID); now.Total != tt.want || now.More || now.Examined >= now.Total {
						t.Errorf("after half a second %d of %d tasks are examined; want some of %d", now.Examined, now.Total, tt.want)
					}
				}
				time.Sleep(time.Minute)
				if job = get(t, j, job.ID); job.State != resend.Done || job.Resent != tt.want || job.Total != tt.want {
					t.Errorf("%v, %d of %d resent; want done with %d", job.State, job.Resent, job.Total, tt.want)
				}
				if tasks, times := e.sent(); int64(tasks) != tt.want || int64(times) != tt.want {
					t.Errorf("%d tasks resent in %d resends; want %d", tasks, times, tt.want)
				}
			})
		})
	}
}

// FinishedFrom selects tasks that ended then or later, whenever they were created.
func TestPickByTheEnd(t *testing.T) {
	since := time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)
	pick := resend.Pick{FinishedFrom: since}
	for finished, want := range map[time.Time]bool{{}: false, since.Add(-time.Millisecond): false, since: true, since.Add(time.Hour): true} {
		if got := pick.Takes(&bellman.Task{Status: bellman.Status{Finished: finished}}); got != want {
			t.Errorf("a task that ended at %v: Takes = %t; want %t", finished, got, want)
		}
	}
	if !pick.Picky() || pick.Empty() || !new(resend.Pick).Takes(&bellman.Task{}) {
		t.Errorf("Picky %t, Empty %t; want it to be looked at task by task", pick.Picky(), pick.Empty())
	}
}

// A task that no longer matches when its turn comes is skipped. A merchant that has confirmed
// meanwhile is not notified again.
func TestPickLooksAgain(t *testing.T) {
	refused, failed := bellman.Refused, bellman.Failed
	for _, pick := range []resend.Pick{{Result: &refused}, {Filter: store.Filter{State: &failed}}} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			ids := add(t, s, "pay", 20, time.Now())
			answered(t, s, ids, bellman.Refused, 200)
			e := &sender{Store: s, after: attempted}
			j := jobs(t, s, e)
			stop := run(t, j)
			defer stop()
			job := start(t, j, resend.Job{Filter: pick, Rate: 1})
			time.Sleep(time.Second / 2)
			for _, id := range ids[:10] { // the turn of these comes last
				confirm(t, s, id)
			}
			time.Sleep(time.Minute)
			if job = get(t, j, job.ID); job.State != resend.Done || job.Resent != 10 || job.Skipped != 10 {
				t.Errorf("%v, %d resent, %d skipped; want done, 10 and 10", job.State, job.Resent, job.Skipped)
			}
			if tasks, _ := e.sent(); tasks != 10 {
				t.Errorf("%d tasks resent; want 10", tasks)
			}
		})
	}
}

// confirm makes a task's merchant accept it.
func confirm(t *testing.T, s store.Store, id bellman.ID) {
	t.Helper()
	task, err := s.Task(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	c := store.Change{ID: id, Version: task.Version, To: task.Status, Attempt: &bellman.Attempt{Number: int(task.Attempts) + 1, Result: bellman.Accepted, Status: 200, Started: time.Now()}}
	c.To.Attempts++
	c.To.State, c.To.Reason = bellman.Succeeded, ""
	b := &store.Batch{Changes: []store.Change{c}}
	if err := s.Commit(t.Context(), b); err != nil || b.Changes[0].Err != nil {
		t.Fatal(err, b.Changes[0].Err)
	}
}

func TestPickIsChecked(t *testing.T) {
	j := jobs(t, memory.New(), &sender{})
	for field, pick := range map[string]resend.Pick{
		"filter.kind":   {Kind: "both"},
		"filter.status": {Status: 99},
		"filter":        {},
	} {
		_, err := j.Start(t.Context(), resend.Job{Filter: pick})
		if invalid, is := errors.AsType[*bellman.Invalid](err); !is || len(invalid.Fields) != 1 || invalid.Fields[0].Field != field {
			t.Errorf("Start with %+v: %v; want %s named", pick, err, field)
		}
	}
}
