package resend_test

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// two starts two processes on one store, of which one leads.
func two(t *testing.T, e *sender) (both [2]*resend.Jobs, lead func(i int), stop func()) {
	t.Helper()
	var leader atomic.Int32
	var stops []func()
	for i := range both {
		j, err := resend.New(resend.Options{Store: e.Store, Tasks: e, Logger: slog.New(slog.DiscardHandler),
			Leads: func() bool { return leader.Load() == int32(i) }})
		if err != nil {
			t.Fatal(err)
		}
		both[i] = j
		stops = append(stops, run(t, j))
	}
	return both, func(i int) { leader.Store(int32(i)) }, func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// The leader works on a job, wherever it was started, and the next leader continues it. When the
// lead moves without a gap, both may resend the tasks they are working on at that moment; no others
// are resent twice.
func TestLeaderMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		e := &sender{Store: s, after: waits}
		add(t, s, "pay", 3000, time.Now())
		both, lead, stop := two(t, e)
		defer stop()
		time.Sleep(time.Second)
		job := start(t, both[1], resend.Job{Filter: pay, Rate: 100}) // the other process leads
		time.Sleep(15 * time.Second)
		if n := get(t, both[1], job.ID).Resent; n < 300 {
			t.Errorf("%d tasks were resent 15s after the job was started at the other process; want about 500", n)
		}
		for i := range 4 {
			lead(1 - i%2)
			time.Sleep(4 * time.Second)
		}
		time.Sleep(time.Minute)
		for i, j := range both {
			if got := get(t, j, job.ID); got.State != resend.Done || got.Resent != 3000 {
				t.Errorf("process %d: %v with %d resent; want done with 3000", i, got.State, got.Resent)
			}
		}
		if tasks, times := e.sent(); tasks != 3000 || times > 3000+4*32 {
			t.Errorf("%d tasks were resent in %d resends; want 3000, few of them twice", tasks, times)
		}
	})
}

// A job can be cancelled at either process, before and after its work began.
func TestCancelAtAnotherProcess(t *testing.T) {
	for _, wait := range []time.Duration{0, 15 * time.Second} {
		for at := range 2 {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				e := &sender{Store: s, after: waits}
				add(t, s, "pay", 3000, time.Now())
				both, _, stop := two(t, e)
				defer stop()
				time.Sleep(time.Second)
				job := start(t, both[1], resend.Job{Filter: pay, Rate: 100})
				time.Sleep(wait)
				cancelled, err := both[at].Cancel(t.Context(), job.ID, bellman.By{Who: "ops"})
				if err != nil || cancelled.State != resend.Cancelled {
					t.Fatalf("Cancel() = %v, %v; want it cancelled", cancelled.State, err)
				}
				before, _ := e.sent()
				time.Sleep(time.Minute)
				if after, _ := e.sent(); after > before+200 {
					t.Errorf("%d tasks were resent after the job was cancelled; want none", after-before)
				}
				for i, j := range both {
					if got := get(t, j, job.ID); got.State != resend.Cancelled || got.Finished.IsZero() {
						t.Errorf("process %d: %v, finished %v; want cancelled", i, got.State, got.Finished)
					}
				}
				if marks, err := s.Docs(t.Context(), store.DocFilter{Kind: "resend-cancel"}, 10); err != nil || len(marks) > 0 {
					t.Errorf("documents left in the store: %v, %v; want none", marks, err)
				}
			})
		}
	}
}

// A slow job that another process cancels sends nothing more: it does not wait for its next task to
// find that out.
func TestCancelOfASlowJobAtAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		e := &sender{Store: s, after: waits}
		add(t, s, "pay", 3, time.Now())
		both, _, stop := two(t, e)
		defer stop()
		time.Sleep(time.Second)
		job := start(t, both[1], resend.Job{Filter: pay, Rate: 1.0 / 3600}) // the other process leads
		time.Sleep(time.Minute)
		if tasks, _ := e.sent(); tasks != 1 {
			t.Fatalf("%d tasks were resent in a minute, at one an hour; want the first", tasks)
		}
		if _, err := both[1].Cancel(t.Context(), job.ID, bellman.By{Who: "ops"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		if got := get(t, both[0], job.ID); got.State != resend.Cancelled {
			t.Errorf("15 s after it was cancelled the job is %s; want it cancelled", got.State)
		}
		time.Sleep(3 * time.Hour)
		if tasks, _ := e.sent(); tasks != 1 {
			t.Errorf("%d tasks were resent after the job was cancelled; want none", tasks-1)
		}
	})
}

// A job that another process has taken over can be cancelled at the former leader, which does not
// know that yet.
func TestCancelAtTheFormerLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		e := &sender{Store: s, after: waits}
		add(t, s, "pay", 3, time.Now())
		var leader atomic.Int32
		var both [2]*resend.Jobs
		for i := range both {
			j, err := resend.New(resend.Options{Store: e.Store, Tasks: e, Logger: slog.New(slog.DiscardHandler),
				Leads: func() bool { return leader.Load() == int32(i) }})
			if err != nil {
				t.Fatal(err)
			}
			both[i] = j
			defer run(t, j)()
			time.Sleep(500 * time.Millisecond) // the second one looks half a second after the first
		}
		job := start(t, both[0], resend.Job{Filter: pay, Rate: 1.0 / 3600}) // at 1 s
		time.Sleep(100 * time.Millisecond)
		leader.Store(1)
		time.Sleep(600 * time.Millisecond) // at 1.5 s the second one takes the job over
		before, _ := e.sent()
		if cancelled, err := both[0].Cancel(t.Context(), job.ID, bellman.By{Who: "ops"}); err != nil || cancelled.State != resend.Cancelled {
			t.Fatalf("Cancel() = %v, %v; want it cancelled", cancelled.State, err)
		}
		time.Sleep(3 * time.Hour)
		if after, _ := e.sent(); after != before {
			t.Errorf("%d tasks were resent after the job was cancelled; want none", after-before)
		}
		for i, j := range both {
			if got := get(t, j, job.ID); got.State != resend.Cancelled {
				t.Errorf("process %d: the job is %s; want it cancelled", i, got.State)
			}
		}
	})
}

// However many jobs run, and wherever they were started, their number is bounded.
func TestJobsOfAllProcessesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		both, _, stop := two(t, &sender{Store: s, after: waits})
		defer stop()
		add(t, s, "pay", 3, time.Now())
		time.Sleep(time.Second)
		for range resend.MaxRunning {
			start(t, both[1], resend.Job{Filter: pay, Rate: 1.0 / 3600}) // the other process leads
		}
		if _, err := both[1].Start(t.Context(), resend.Job{Filter: pay}); !errors.Is(err, bellman.ErrOverloaded) {
			t.Errorf("one more is started: %v; want it rejected", err)
		}
	})
}
