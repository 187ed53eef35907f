package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/agendacheck"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A receiver is a handler that answers by script and records the time of each attempt.
type receiver struct {
	answer func(t *bellman.Task, number int) bellman.Verdict

	mu   sync.Mutex
	seen []time.Time
}

func (r *receiver) Attempt(_ context.Context, t *bellman.Task, number int) bellman.Verdict {
	r.mu.Lock()
	r.seen = append(r.seen, time.Now())
	r.mu.Unlock()
	return r.answer(t, number)
}

func (r *receiver) times() []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

func always(v bellman.Verdict) func(*bellman.Task, int) bellman.Verdict {
	return func(*bellman.Task, int) bellman.Verdict { return v }
}

var (
	accept = always(bellman.Verdict{Next: bellman.Succeed})
	refuse = always(bellman.Verdict{Result: bellman.Refused})
)

// run starts an engine over store in the test's bubble. It returns the engine and a function that
// stops it.
func run(t *testing.T, store store.Store, queues ...engine.Queue) (*engine.Engine, func()) {
	t.Helper()
	return runWith(t, engine.Options{Store: store, Queues: queues})
}

func runWith(t *testing.T, o engine.Options) (*engine.Engine, func()) {
	t.Helper()
	o.Node, o.Process, o.Logger = "n", cmp.Or(o.Process, "1"), cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	e, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	checked := checkAgenda(t, e, o.Store, 10*time.Second)
	return e, sync.OnceFunc(func() {
		checked()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// checkAgenda compares the agenda of e with the due tasks of s, until the returned function is
// called: each second at first, each five seconds in longer tests. A difference that lasts for
// atLeast is an error. Only the first tasks of the store are compared. If reading s disturbs the
// test, s has a method under that returns the store to read instead, or nil while nothing can be
// compared.
func checkAgenda(t *testing.T, e *engine.Engine, s store.Store, atLeast time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		const pace, often = 990 * time.Millisecond, 30
		ticker := time.NewTicker(pace)
		defer ticker.Stop()
		var w agendacheck.Watch
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if n == often {
				ticker.Reset(5 * pace)
			}
			from := s
			if u, ok := s.(interface{ under() store.Store }); ok {
				from = u.under()
			}
			if from == nil || e.Ready(ctx) != nil {
				w.Forget()
				continue
			}
			if lasting := w.Look(ctx, e, from, 5000/fewer, atLeast); len(lasting) > 0 {
				t.Errorf("for %d tasks the agenda differs from the store, for %v: %v", len(lasting), atLeast, lasting[0])
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

func add(t *testing.T, e *engine.Engine, task *bellman.Task) bellman.ID {
	t.Helper()
	a := e.Add(t.Context(), task)[0]
	if a.Err != nil {
		t.Fatalf("Add(%+v): %v", task, a.Err)
	}
	return a.ID
}

// lookup finds a task by its key. It is for tests in which a variable hides the package store.
func lookup(t *testing.T, s store.Store, queue, key string) (bellman.ID, error) {
	return store.Lookup(t.Context(), s, queue, key)
}

func get(t *testing.T, s store.Store, id bellman.ID) *bellman.Task {
	t.Helper()
	task, err := s.Task(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func attempts(t *testing.T, s store.Store, id bellman.ID) []bellman.Attempt {
	t.Helper()
	log, err := s.Attempts(t.Context(), id, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// A day of WeChat's schedule: 16 attempts, at exactly the listed times.
func TestDayOfWeChat(t *testing.T) {
	gaps := []time.Duration{0, 15 * time.Second, 15 * time.Second, 30 * time.Second, 3 * time.Minute, 10 * time.Minute,
		20 * time.Minute, 30 * time.Minute, 30 * time.Minute, 30 * time.Minute, time.Hour,
		3 * time.Hour, 3 * time.Hour, 3 * time.Hour, 6 * time.Hour, 6 * time.Hour}
	schedule, day := "", 24*time.Hour+4*time.Minute // empty: the default
	if fewer > 1 {                                  // only the first hours
		gaps, schedule, day = gaps[:11], "0s, 15s*2, 30s, 3m, 10m, 20m, 30m*3, 1h", 3*time.Hour+4*time.Minute
	}
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		r := &receiver{answer: refuse}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: r, Schedule: schedule})
		defer stop()
		start := time.Now()
		id := add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(day + time.Hour) // in the bubble's time
		got := r.times()
		var want time.Duration
		for i, gap := range gaps {
			want += gap
			if i >= len(got) || got[i].Sub(start) != want {
				t.Fatalf("attempt %d was made at %v; want %v after the start", i+1, at(got, i, start), want)
			}
		}
		if len(got) != len(gaps) || want != day {
			t.Errorf("%d attempts over %v; want %d over %v", len(got), want, len(gaps), day)
		}
		if task := get(t, store, id); task.State != bellman.Failed || task.Reason != "attempts_used_up" || int(task.Attempts) != len(gaps) {
			t.Errorf("ended as %v, %s, %d attempts; want failed, attempts_used_up, %d", task.State, task.Reason, task.Attempts, len(gaps))
		}
		log := attempts(t, store, id)
		if len(log) != len(gaps) {
			t.Errorf("%d attempts in the log; want %d", len(log), len(gaps))
		}
		for i, a := range log {
			if a.Number != i+1 || a.Lateness() != 0 || a.Trigger != bellman.BySchedule || a.Node != "n/1" {
				t.Errorf("attempt %d: %+v; want that number, on time, by schedule, at n/1", i+1, a)
			}
		}
	})
}

func at(times []time.Time, i int, start time.Time) string {
	if i >= len(times) {
		return "never"
	}
	return times[i].Sub(start).String()
}

// The verdict of a handler is written to the log of attempts.
func TestAttemptIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		said := bellman.Verdict{Next: bellman.Succeed, Result: bellman.Accepted, Status: 201, Response: "yes", Error: "by a hair",
			Action: "query", Reading: "PENDING", Timing: bellman.Timing{DNS: time.Millisecond, Connect: 2 * time.Millisecond, TLS: 3 * time.Millisecond}}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: bellman.HandlerFunc(
			func(context.Context, *bellman.Task, int) bellman.Verdict { return said })})
		defer stop()
		start := time.Now()
		id := add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(time.Second)
		want := bellman.Attempt{Number: 1, Due: start.UTC(), Started: start.UTC(), Node: "n/1", Result: said.Result, Status: said.Status,
			Response: said.Response, Error: said.Error, Action: said.Action, Reading: said.Reading, Timing: said.Timing}
		if got := attempts(t, store, id); len(got) != 1 || got[0] != want {
			t.Errorf("the log is %+v, want %+v", got, want)
		}
	})
}

// A stop and a start in the middle of a schedule do not change it. Attempts that fell due while the
// engine was stopped are made at once.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		r := &receiver{answer: refuse}
		q := engine.Queue{Name: "q", Handler: r, Schedule: "0s, 15s, 15s, 30s"}
		e, stop := run(t, store, q)
		start := time.Now()
		id := add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(20 * time.Second)
		stop() // after 0s and 15s; the next is due at 30s
		time.Sleep(20 * time.Second)
		_, stop = run(t, store, q)
		defer stop()
		time.Sleep(time.Minute)
		want := []time.Duration{0, 15 * time.Second, 40 * time.Second, 70 * time.Second}
		got := r.times()
		if len(got) != len(want) {
			t.Fatalf("%d attempts; want %d", len(got), len(want))
		}
		for i := range want {
			if got[i].Sub(start) != want[i] {
				t.Errorf("attempt %d at %v; want %v", i+1, got[i].Sub(start), want[i])
			}
		}
		if late := attempts(t, store, id)[2].Lateness(); late != 10*time.Second {
			t.Errorf("attempt 3 was %v late; want 10s after its due time", late)
		}
	})
}

func TestEnds(t *testing.T) {
	tests := []struct {
		name     string
		task     bellman.Task
		answer   func(*bellman.Task, int) bellman.Verdict
		state    bellman.State
		reason   string
		attempts int
	}{
		{"accepted", bellman.Task{}, accept, bellman.Succeeded, "accepted", 1},
		{"accepted with a reason", bellman.Task{}, always(bellman.Verdict{Next: bellman.Succeed, Reason: "paid"}), bellman.Succeeded, "paid", 1},
		{"gave up", bellman.Task{}, always(bellman.Verdict{Next: bellman.GiveUp}), bellman.Failed, "gave_up", 1},
		{"used up", bellman.Task{Schedule: "0s, 1s*2"}, refuse, bellman.Failed, "attempts_used_up", 3},
		{"max age of the task", bellman.Task{Schedule: "0s, 1s*", MaxAge: 5 * time.Second}, refuse, bellman.Failed, "max_age", 6},
		{"max age of the schedule", bellman.Task{Schedule: "0s, 1s*; max 3s"}, refuse, bellman.Failed, "max_age", 4},
		{"a panic is an attempt", bellman.Task{Schedule: "0s, 1s"}, func(*bellman.Task, int) bellman.Verdict { panic("boom") }, bellman.Failed, "attempts_used_up", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				e, stop := run(t, store, engine.Queue{Name: "q", Handler: &receiver{answer: tt.answer}})
				defer stop()
				tt.task.Queue = "q"
				id := add(t, e, &tt.task)
				time.Sleep(10 * time.Minute)
				task := get(t, store, id)
				if task.State != tt.state || task.Reason != tt.reason || int(task.Attempts) != tt.attempts {
					t.Errorf("ended as %v, %q after %d attempts; want %v, %q after %d",
						task.State, task.Reason, task.Attempts, tt.state, tt.reason, tt.attempts)
				}
				if task.Finished.IsZero() || !task.Due.IsZero() {
					t.Errorf("finished %v, due %v; want a time and none", task.Finished, task.Due)
				}
			})
		})
	}
}

// Retry-After delays the next attempt, but by no more than the next two gaps of the schedule.
func TestRetryAfter(t *testing.T) {
	tests := []struct {
		after time.Duration
		want  time.Duration // of the second attempt
	}{
		{0, 10 * time.Second},
		{5 * time.Second, 10 * time.Second},
		{20 * time.Second, 20 * time.Second},
		{40 * time.Second, 40 * time.Second},
		{time.Hour, 40 * time.Second},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &receiver{answer: always(bellman.Verdict{Status: 503, RetryAfter: tt.after})}
				e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: r, Schedule: "0s, 10s, 30s"})
				defer stop()
				start := time.Now()
				add(t, e, &bellman.Task{Queue: "q"})
				time.Sleep(time.Minute)
				if got := r.times(); len(got) < 2 || got[1].Sub(start) != tt.want {
					t.Errorf("Retry-After %v: second attempt at %v; want %v", tt.after, at(got, 1, start), tt.want)
				}
			})
		})
	}
}

// The gap to the next attempt counts from the start of the previous one. The next attempt never
// starts before the previous one has ended.
func TestGapCountsFromStart(t *testing.T) {
	tests := []struct{ took, want time.Duration }{
		{time.Second, 10 * time.Second},
		{12 * time.Second, 12 * time.Second},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			r := &receiver{answer: func(*bellman.Task, int) bellman.Verdict {
				time.Sleep(tt.took)
				return bellman.Verdict{}
			}}
			e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: r, Schedule: "0s, 10s", Timeout: time.Minute})
			defer stop()
			start := time.Now()
			add(t, e, &bellman.Task{Queue: "q"})
			time.Sleep(time.Minute)
			if got := r.times(); len(got) != 2 || got[1].Sub(start) != tt.want {
				t.Errorf("after an attempt of %v the next was at %v; want %v", tt.took, at(got, 1, start), tt.want)
			}
		})
	}
}

// A repeating task starts again after it has ended, never overlaps itself, and goes on until it is
// cancelled.
func TestRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		r := &receiver{answer: func(*bellman.Task, int) bellman.Verdict {
			time.Sleep(90 * time.Second)
			return bellman.Verdict{Next: bellman.Succeed}
		}}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: r, Timeout: 5 * time.Minute})
		defer stop()
		start := time.Now()
		id := add(t, e, &bellman.Task{Queue: "q", Repeat: "1m"})
		time.Sleep(10 * time.Minute)
		if _, err := e.Cancel(t.Context(), id, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		got := r.times()
		for i := range got {
			if want := time.Duration(i) * 90 * time.Second; got[i].Sub(start) != want {
				t.Errorf("round %d began at %v; want %v, right after the round before", i+1, got[i].Sub(start), want)
			}
		}
		if len(got) != 7 {
			t.Errorf("%d rounds; want 7 in 10m", len(got))
		}
		if task := get(t, store, id); task.State != bellman.Cancelled || task.Attempts != 7 {
			t.Errorf("%v after %d attempts; want cancelled after 7: with the last answer in the log", task.State, task.Attempts)
		}
	})
}
