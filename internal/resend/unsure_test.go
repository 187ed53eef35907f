package resend_test

import (
	"context"
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

// hooked is a store that calls a function once, after the next call; nil: it does not.
type hooked struct {
	store.Store
	committed atomic.Pointer[func() error] // its error is that of Commit
	read      atomic.Pointer[func()]       // after Docs
}

func (h *hooked) Commit(ctx context.Context, b *store.Batch) error {
	err := h.Store.Commit(ctx, b)
	if err != nil {
		return err
	}
	if f := h.committed.Swap(nil); f != nil {
		return (*f)()
	}
	return nil
}

func (h *hooked) Docs(ctx context.Context, f store.DocFilter, limit int) ([]store.Doc, error) {
	docs, err := h.Store.Docs(ctx, f, limit)
	if f := h.read.Swap(nil); f != nil {
		(*f)()
	}
	return docs, err
}

// A job that was written although the store did not say so begins soon, and not with the next start
// of the program, when nobody expects it.
func TestStartOfUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &hooked{Store: memory.New()}
		e := &sender{Store: s, after: waits}
		add(t, s, "pay", 3, time.Now())
		j := jobs(t, s, e)
		defer run(t, j)()
		time.Sleep(time.Minute)
		unsure := func() error { return bellman.ErrUnknown }
		s.committed.Store(&unsure)
		if _, err := j.Start(t.Context(), resend.Job{Filter: pay}); !errors.Is(err, bellman.ErrUnknown) {
			t.Fatalf("Start() = %v; want an unknown outcome", err)
		}
		time.Sleep(15 * time.Second)
		all, err := j.List(t.Context(), 10)
		if tasks, _ := e.sent(); err != nil || tasks != 3 || len(all) != 1 || all[0].State != resend.Done {
			t.Errorf("%d tasks were resent, jobs %+v, %v; want 3, and the job done", tasks, all, err)
		}
	})
}

// A job that ends while the leader reads the jobs does not begin again.
func TestCancelWhileJobsAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &hooked{Store: memory.New()}
		e := &sender{Store: s, after: waits}
		add(t, s, "pay", 3, time.Now())
		j, err := resend.New(resend.Options{Store: s, Tasks: e, Logger: slog.New(slog.DiscardHandler), Leads: func() bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		defer run(t, j)()
		time.Sleep(500 * time.Millisecond)
		job := start(t, j, resend.Job{Filter: pay, Rate: 1.0 / 3600})
		time.Sleep(time.Second)
		cancel := func() {
			if _, err := j.Cancel(t.Context(), job.ID, bellman.By{Who: "ops"}); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second) // its goroutine ends
		}
		s.read.Store(&cancel)
		time.Sleep(3 * time.Hour)
		if tasks, _ := e.sent(); tasks != 1 {
			t.Errorf("%d tasks were resent after the job was cancelled; want none", tasks-1)
		}
		if got := get(t, j, job.ID); got.State != resend.Cancelled {
			t.Errorf("the job is %s; want it cancelled", got.State)
		}
	})
}

// The clocks of the process that works on a job and of the node that attempts its tasks may differ.
// A task that was resent just after the last save is not resent again.
func TestCrashBetweenTwoClocks(t *testing.T) {
	for _, after := range []after{waits, attempted, takenOver, repeated} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			e := &sender{Store: s, after: after, behind: 3 * store.MaxSkew / 2}
			add(t, s, "pay", 500, time.Now())
			time.Sleep(time.Second)
			f := &faulty{Store: s}
			j := jobs(t, f, e)
			stop := run(t, j)
			job := start(t, j, resend.Job{Filter: pay, Rate: 100})
			time.Sleep(1377 * time.Millisecond)
			f.broken.Store(true) // nothing is saved from now on
			stop()
			j = jobs(t, s, e)
			stop = run(t, j)
			time.Sleep(10 * time.Second)
			stop()
			if tasks, times := e.sent(); tasks != 500 || times != 500 || get(t, j, job.ID).Resent != 500 {
				t.Errorf("left in state %d: %d tasks were resent in %d resends; want 500", after, tasks, times)
			}
		})
	}
}
