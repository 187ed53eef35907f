package resend_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// faulty is a store whose calls fail while broken is true.
type faulty struct {
	store.Store
	broken atomic.Bool
}

var errBroken = errors.New("store: connection refused")

func (f *faulty) Commit(ctx context.Context, b *store.Batch) error {
	if f.broken.Load() {
		return errBroken
	}
	return f.Store.Commit(ctx, b)
}

func (f *faulty) List(ctx context.Context, filter store.Filter, before bellman.ID, limit int) ([]*bellman.Task, bellman.ID, error) {
	if f.broken.Load() {
		return nil, bellman.ID{}, errBroken
	}
	return f.Store.List(ctx, filter, before, limit)
}

func (f *faulty) Docs(ctx context.Context, filter store.DocFilter, limit int) ([]store.Doc, error) {
	if f.broken.Load() {
		return nil, errBroken
	}
	return f.Store.Docs(ctx, filter, limit)
}

// A job that was stopped in an orderly way goes on where it was, in the same process or another.
func TestStopAndGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		e := &sender{Store: s, after: unchanged}
		add(t, s, "pay", 1000, time.Now())
		j := jobs(t, s, e)
		job := start(t, j, resend.Job{Filter: pay, Rate: 100})
		for range 4 { // the same process
			stop := run(t, j)
			time.Sleep(1234 * time.Millisecond)
			stop()
		}
		for job.State == resend.Running { // other processes
			j = jobs(t, s, e)
			stop := run(t, j)
			time.Sleep(1234 * time.Millisecond)
			stop()
			job = get(t, j, job.ID)
		}
		if tasks, times := e.sent(); tasks != 1000 || times != 1000 || job.Resent != 1000 {
			t.Errorf("%d tasks were resent in %d resends, %d counted; want 1000", tasks, times, job.Resent)
		}
	})
}

// After a crash nothing is lost. A task that was resent after the last save is resent again only if
// the task itself does not show the resend.
func TestCrash(t *testing.T) {
	tests := []struct {
		mode      engine.ResendMode
		after     after
		perSecond float64
		twice     int // most resends above one for each task
	}{
		{"once", waits, 5, 0},
		{"once", waits, 1000, 0},
		{"once", attempted, 100, 0},
		{"once", takenOver, 100, 0},
		{"once", repeated, 100, 0},
		{"restart", waits, 100, 0},
		{"restart", attempted, 100, 0},
		{"restart", goesOn, 100, 0},
		{"once", unchanged, 5, 3 * 6},
		{"once", unchanged, 100, 3 * 132},
		{"once", unchanged, 1000, 3 * 132},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s at %g/s", tt.mode, tt.perSecond), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				e := &sender{Store: s, after: tt.after}
				n := int(tt.perSecond * 5)
				add(t, s, "pay", n, time.Now())
				time.Sleep(time.Second)
				job := resend.Job{Filter: pay, Rate: tt.perSecond, Mode: tt.mode}
				for i := range 3 {
					f := &faulty{Store: s}
					j := jobs(t, f, e)
					stop := run(t, j)
					if i == 0 {
						job = start(t, j, job)
					}
					time.Sleep(1377 * time.Millisecond)
					f.broken.Store(true) // nothing is saved from now on
					stop()
					time.Sleep(time.Second)
				}
				j := jobs(t, s, e)
				stop := run(t, j)
				time.Sleep(10 * time.Second)
				stop()
				job = get(t, j, job.ID)
				tasks, times := e.sent()
				if job.State != resend.Done || tasks != n || job.Resent != int64(n) {
					t.Errorf("%d of %d tasks were resent, job %+v; want all, and it done", tasks, n, job)
				}
				if times > n+tt.twice {
					t.Errorf("%d tasks were resent %d times in all; want at most %d", n, times, n+tt.twice)
				}
			})
		})
	}
}

// A process that dies again before it has looked at the tasks that its predecessor may have resent
// loses nothing of what is known: no task is resent twice.
func TestCrashAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		e := &sender{Store: s, after: waits}
		add(t, s, "pay", 300, time.Now())
		time.Sleep(time.Second)
		process := func(f *faulty, last bool, lasts time.Duration) {
			j, err := resend.New(resend.Options{Store: f, Tasks: e, Logger: slog.New(slog.DiscardHandler), Leads: func() bool { return true }})
			if err != nil {
				t.Fatal(err)
			}
			stop := run(t, j)
			defer stop()
			time.Sleep(lasts)
			f.broken.Store(!last) // a crash: nothing is saved from now on
		}
		job := start(t, jobs(t, s, e), resend.Job{Filter: pay, Rate: 100})
		process(&faulty{Store: s}, false, 1777*time.Millisecond)
		if tasks, _ := e.sent(); tasks < 150 || tasks > 190 {
			t.Fatalf("%d tasks were resent before the crash; want some after the last save", tasks)
		}
		for range 3 { // each begins, and dies at once
			time.Sleep(time.Second)
			process(&faulty{Store: &unlisted{s}}, false, 100*time.Millisecond)
		}
		time.Sleep(time.Second)
		process(&faulty{Store: s}, true, time.Minute)
		if tasks, times := e.sent(); tasks != 300 || times != 300 {
			t.Errorf("%d tasks were resent in %d resends; want 300, each once", tasks, times)
		}
		if job = get(t, jobs(t, s, e), job.ID); job.State != resend.Done || job.Resent != 300 {
			t.Errorf("the job is %+v; want it done, with 300 resent", job)
		}
	})
}

// unlisted is a store that does not list tasks.
type unlisted struct{ store.Store }

func (u *unlisted) List(context.Context, store.Filter, bellman.ID, int) ([]*bellman.Task, bellman.ID, error) {
	return nil, bellman.ID{}, errBroken
}

// sparse is a store that looks at few rows at a time, so that each page of tasks follows an empty
// one.
type sparse struct {
	store.Store
	onLast func() // called before the last page is returned
}

func (s *sparse) List(ctx context.Context, f store.Filter, before bellman.ID, limit int) ([]*bellman.Task, bellman.ID, error) {
	if before.IsZero() {
		return nil, bellman.FirstID(time.Now().Add(time.Hour)), nil
	}
	if before[15] == byte(len(f.Queue)) { // the id of a task; the tasks are a millisecond apart
		before[15]--
		return nil, before, nil
	}
	tasks, next, err := s.Store.List(ctx, f, before, 7)
	if next.IsZero() && s.onLast != nil {
		s.onLast()
	}
	return tasks, next, err
}

func TestShortPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		e := &sender{Store: s}
		add(t, s, "pay", 100, time.Now())
		j := jobs(t, &sparse{Store: s}, e)
		stop := run(t, j)
		job := start(t, j, resend.Job{Filter: pay, Rate: 1000})
		time.Sleep(time.Second)
		stop()
		job = get(t, j, job.ID)
		if tasks, times := e.sent(); tasks != 100 || times != 100 || job.State != resend.Done {
			t.Errorf("%d tasks in %d resends, job %+v; want 100 and done", tasks, times, job)
		}
		dry, err := j.Count(t.Context(), pay, 0, 0)
		if err != nil || dry.Tasks != 100 || dry.More {
			t.Errorf("Count = %+v, %v; want 100", dry, err)
		}
	})
}

// A job that is cancelled when nothing is left to do stays cancelled.
func TestCancelAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sparse{Store: memory.New()}
		j := jobs(t, s, &sender{Store: s})
		job := start(t, j, resend.Job{Filter: pay})
		s.onLast = func() {
			if _, err := j.Cancel(t.Context(), job.ID, bellman.By{}); err != nil {
				t.Error(err)
			}
		}
		stop := run(t, j)
		time.Sleep(time.Second)
		stop()
		if job = get(t, j, job.ID); job.State != resend.Cancelled {
			t.Errorf("job = %+v; want it cancelled", job)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		e := &sender{Store: s}
		add(t, s, "pay", 1000, time.Now())
		j := jobs(t, s, e)
		stop := run(t, j)
		job := start(t, j, resend.Job{Filter: pay, Rate: 100})
		time.Sleep(3 * time.Second)
		cancelled, err := j.Cancel(t.Context(), job.ID, bellman.By{Who: "ops", Reason: "wrong filter"})
		if err != nil || cancelled.State != resend.Cancelled || !cancelled.Finished.Equal(time.Now()) {
			t.Fatalf("Cancel = %+v, %v; want it cancelled now", cancelled, err)
		}
		synctest.Wait()
		tasks, _ := e.sent()
		time.Sleep(time.Minute)
		job = get(t, j, job.ID)
		if after, _ := e.sent(); after != tasks || job.State != resend.Cancelled || job.Resent != int64(tasks) {
			t.Errorf("%d tasks resent at the cancel, %d a minute later, job %+v; want no more, and all counted", tasks, after, job)
		}
		if again, err := j.Cancel(t.Context(), job.ID, bellman.By{}); err != nil || again.State != resend.Cancelled || !again.Finished.Equal(job.Finished) {
			t.Errorf("Cancel again = %+v, %v; want it unchanged", again, err)
		}
		audits, _ := s.Audits(t.Context(), time.Time{}, 1)
		if len(audits) != 1 || audits[0].Action != "cancel" || audits[0].Who != "ops" || audits[0].Target != "resend/"+job.ID.String() {
			t.Errorf("the last audit is %+v; want the cancel", audits)
		}
		stop()

		// Another process also finds the job cancelled.
		stop = run(t, jobs(t, s, e))
		time.Sleep(time.Minute)
		stop()
		if after, _ := e.sent(); after != tasks {
			t.Errorf("%d tasks resent after a restart; want %d", after, tasks)
		}
	})
}

// A job that no process runs can be cancelled, by a process that did not start it.
func TestCancelUnstarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		e := &sender{Store: s}
		add(t, s, "pay", 10, time.Now())
		job := start(t, jobs(t, s, e), resend.Job{Filter: pay})
		j := jobs(t, s, e)
		if got, err := j.Cancel(t.Context(), job.ID, bellman.By{}); err != nil || got.State != resend.Cancelled {
			t.Fatalf("Cancel = %+v, %v; want it cancelled", got, err)
		}
		stop := run(t, j)
		time.Sleep(time.Minute)
		stop()
		if tasks, _ := e.sent(); tasks != 0 {
			t.Errorf("%d tasks of a cancelled job were resent; want none", tasks)
		}
		for _, id := range []bellman.ID{{}, bellman.NewID()} {
			if _, err := j.Cancel(t.Context(), id, bellman.By{}); !errors.Is(err, bellman.ErrNotFound) {
				t.Errorf("Cancel(%v) = %v; want ErrNotFound", id, err)
			}
			if _, err := j.Get(t.Context(), id); !errors.Is(err, bellman.ErrNotFound) {
				t.Errorf("Get(%v) = %v; want ErrNotFound", id, err)
			}
		}
	})
}

// An error of one task is counted. An error of the engine is retried until the engine recovers.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		e := &sender{Store: s}
		ids := add(t, s, "pay", 40, time.Now())
		begun := time.Now()
		odd := errors.New("odd")
		e.refuse = func(id bellman.ID) error {
			switch {
			case id == ids[3]:
				return fmt.Errorf("task: %w", bellman.ErrNotFound)
			case id == ids[7]:
				return &bellman.Invalid{Fields: []bellman.FieldError{{Field: "mode", Problem: "is wrong"}}}
			case id == ids[11]:
				return odd
			case id == ids[20] && time.Since(begun) < time.Minute:
				return bellman.ErrOverloaded
			case id == ids[21] && time.Since(begun) < time.Minute:
				return fmt.Errorf("read a task: %w", bellman.ErrUnreachable)
			}
			return nil
		}
		j := jobs(t, s, e)
		stop := run(t, j)
		defer stop()
		job := start(t, j, resend.Job{Filter: pay, Rate: 100})
		time.Sleep(30 * time.Second)
		if held := get(t, j, job.ID); held.State != resend.Running || held.LastError == "" {
			t.Errorf("while the engine is overloaded: %+v; want it running, with the error", held)
		}
		time.Sleep(time.Minute)
		job = get(t, j, job.ID)
		if job.State != resend.Done || job.Resent != 37 || job.Skipped != 1 || job.Failed != 2 || job.Examined != 40 {
			t.Errorf("job = %+v; want 37 resent, 1 skipped, 2 failed", job)
		}
	})
}

// A job that was delayed and in which nothing failed ends without an error.
func TestADelayIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		e := &sender{Store: s}
		add(t, s, "pay", 5, time.Now())
		begun := time.Now()
		e.refuse = func(bellman.ID) error {
			if time.Since(begun) < 30*time.Second {
				return bellman.ErrOverloaded
			}
			return nil
		}
		j := jobs(t, s, e)
		stop := run(t, j)
		defer stop()
		job := start(t, j, resend.Job{Filter: pay, Rate: 100})
		time.Sleep(10 * time.Second)
		if held := get(t, j, job.ID); held.LastError == "" {
			t.Errorf("while the engine is overloaded: %+v; want it said", held)
		}
		time.Sleep(2 * time.Minute)
		if job = get(t, j, job.ID); job.State != resend.Done || job.Resent != 5 || job.LastError != "" {
			t.Errorf("job = %+v; want it done, 5 resent, and no error", job)
		}
	})
}

// The answer to a commit is lost, and the tasks were resent. None is resent again. If they were not
// resent, they are.
func TestLostAnswers(t *testing.T) {
	for _, after := range []after{waits, attempted} {
		for _, made := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d %t", after, made), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := memory.New()
					e := &sender{Store: s, after: after}
					add(t, s, "pay", 100, time.Now())
					lost := map[bellman.ID]bool{}
					lose := func(id bellman.ID) error {
						if lost[id] {
							return nil
						}
						lost[id] = true
						return fmt.Errorf("resend: %w", bellman.ErrUnknown)
					}
					if made {
						e.lose = lose
					} else {
						var mu sync.Mutex
						e.refuse = func(id bellman.ID) error {
							mu.Lock()
							defer mu.Unlock()
							return lose(id)
						}
					}
					j := jobs(t, s, e)
					stop := run(t, j)
					defer stop()
					job := start(t, j, resend.Job{Filter: pay, Rate: 100})
					time.Sleep(time.Minute)
					job = get(t, j, job.ID)
					if tasks, times := e.sent(); tasks != 100 || times != 100 || job.State != resend.Done || job.Resent != 100 {
						t.Errorf("%d tasks were resent in %d resends, job %+v; want 100, each once", tasks, times, job)
					}
				})
			})
		}
	}
}

// A store that is away for a while costs time and nothing else.
func TestStoreGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		e := &sender{Store: s}
		add(t, s, "pay", 300, time.Now())
		f := &faulty{Store: s}
		first := start(t, jobs(t, s, e), resend.Job{Filter: pay, Rate: 100})
		j := jobs(t, f, e)
		f.broken.Store(true)
		stop := run(t, j) // the first read of the jobs fails too
		time.Sleep(10 * time.Second)
		if _, err := j.Start(t.Context(), resend.Job{Filter: pay}); !errors.Is(err, errBroken) {
			t.Errorf("Start = %v; want the store's error", err)
		}
		f.broken.Store(false)
		time.Sleep(7 * time.Second) // the store is read again after 1, 2, 4 and 8 seconds
		f.broken.Store(true)
		time.Sleep(time.Minute)
		f.broken.Store(false)
		time.Sleep(time.Minute)
		job := get(t, j, first.ID)
		if tasks, times := e.sent(); job.State != resend.Done || tasks != 300 || times != 300 || job.Resent != 300 {
			t.Errorf("%d tasks in %d resends, job %+v; want 300 and done", tasks, times, job)
		}
		stop()
	})
}

func TestOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := jobs(t, memory.New(), &sender{})
		stop := run(t, j)
		synctest.Wait()
		if err := j.Run(t.Context()); err == nil {
			t.Error("a second Run = nil; want an error")
		}
		stop()
	})
}

// Finished jobs are forgotten after a while, running ones never.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		j := jobs(t, s, &sender{Store: s})
		idle := start(t, j, resend.Job{Filter: pay})
		other := start(t, j, resend.Job{Filter: pay})
		if _, err := j.Cancel(t.Context(), other.ID, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(resend.Keep)
		start(t, j, resend.Job{Filter: pay})
		get(t, j, other.ID)
		time.Sleep(time.Second)
		start(t, j, resend.Job{Filter: pay})
		if _, err := j.Get(t.Context(), other.ID); !errors.Is(err, bellman.ErrNotFound) {
			t.Errorf("Get of a job that ended %v ago = %v; want ErrNotFound", resend.Keep+time.Second, err)
		}
		get(t, j, idle.ID)
	})
}
