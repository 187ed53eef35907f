package resend_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// after says what state the sender leaves a resent task in.
type after int

const (
	waits     after = iota // for its attempt by hand
	attempted              // by hand without success, and ended as before
	takenOver              // the node of its attempt by hand has died, and the attempt is not recorded
	repeated               // the same, and attempted after that
	goesOn                 // with its schedule from the start
	unchanged              // which no engine does
)

// sender resends tasks like an engine, and remembers which tasks were resent when.
type sender struct {
	store.Store
	after  after
	behind time.Duration             // of the clock of the node that attempts the tasks
	refuse func(id bellman.ID) error // nil: nothing is rejected
	lose   func(id bellman.ID) error // the error of a resend that was made; nil: none
	mu     sync.Mutex
	calls  map[bellman.ID][]time.Time
	by     bellman.By
}

func (e *sender) Resend(ctx context.Context, id bellman.ID, mode engine.ResendMode, by bellman.By) (*bellman.Task, error) {
	if e.refuse != nil {
		if err := e.refuse(id); err != nil {
			return nil, err
		}
	}
	t, err := e.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	if e.after != unchanged {
		now := time.Now().Add(-e.behind)
		c := store.Change{ID: id, Version: t.Version, To: t.Status}
		c.To.Updated = now
		switch e.after {
		case waits:
			c.To.State, c.To.Trigger = bellman.Pending, bellman.ByHand
		case attempted:
			c.Attempt = &bellman.Attempt{Number: int(t.Attempts) + 1, Trigger: bellman.ByHand, Started: now}
		case takenOver:
			c.To.State, c.To.Phase = bellman.Pending, bellman.Announced
			c.To.Before = &bellman.Before{State: t.State, Finished: t.Finished}
		case repeated:
			c.Attempt = &bellman.Attempt{Number: int(t.Attempts) + 2, Trigger: bellman.ByTakeover, Started: now}
		case goesOn:
			c.To.State, c.To.Began = bellman.Pending, now
			c.Attempt = &bellman.Attempt{Number: int(t.Attempts) + 2, Trigger: bellman.BySchedule, Started: now}
		}
		b := &store.Batch{Changes: []store.Change{c}}
		if err := e.Commit(ctx, b); err != nil {
			return nil, err
		}
		if err := b.Changes[0].Err; err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.calls == nil {
		e.calls = map[bellman.ID][]time.Time{}
	}
	e.calls[id] = append(e.calls[id], time.Now())
	e.by = by
	if e.lose != nil {
		if err := e.lose(id); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// sent returns the number of resent tasks and the number of resends.
func (e *sender) sent() (tasks, times int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.calls {
		times += len(c)
	}
	return len(e.calls), times
}

// add puts n failed tasks of three merchants into s. They are created a millisecond apart up to
// now. It returns their ids, the oldest first.
func add(t *testing.T, s store.Store, queue string, n int, now time.Time) []bellman.ID {
	t.Helper()
	return addKind(t, s, queue, bellman.KindNotify, n, now)
}

func addKind(t *testing.T, s store.Store, queue string, kind bellman.Kind, n int, now time.Time) []bellman.ID {
	t.Helper()
	ids := make([]bellman.ID, n)
	for i := range ids {
		ids[i] = bellman.FirstID(now.Add(time.Duration(i-n) * time.Millisecond))
		ids[i][15] = byte(len(queue))
		task := &bellman.Task{
			ID: ids[i], Queue: queue, Kind: kind, MerchantNo: fmt.Sprintf("M%d", i%10/4),
			Status: bellman.Status{State: bellman.Failed, Reason: "attempts_used_up", Version: 1, Attempts: 3, Updated: ids[i].Time(), Finished: ids[i].Time()},
		}
		b := &store.Batch{Adds: []store.Add{{Task: task}}}
		if err := s.Commit(t.Context(), b); err != nil || b.Adds[0].Err != nil {
			t.Fatal(err, b.Adds[0].Err)
		}
	}
	return ids
}

func jobs(t *testing.T, s resend.Store, tasks resend.Tasks) *resend.Jobs {
	t.Helper()
	j, err := resend.New(resend.Options{Store: s, Tasks: tasks, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// run runs j until the returned function is called, which waits for the end of Run.
func run(t *testing.T, j *resend.Jobs) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- j.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v; want nil", err)
		}
	}
}

func get(t *testing.T, j *resend.Jobs, id bellman.ID) resend.Job {
	t.Helper()
	job, err := j.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func start(t *testing.T, j *resend.Jobs, in resend.Job) resend.Job {
	t.Helper()
	job, err := j.Start(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

var pay = resend.Pick{Filter: store.Filter{Queue: "pay"}}

func TestJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		e := &sender{Store: s}
		add(t, s, "other", 20, time.Now())
		ids := add(t, s, "pay", 1000, time.Now())
		j := jobs(t, s, e)
		stop := run(t, j)
		begun := time.Now()
		job := start(t, j, resend.Job{Filter: pay, Rate: 100, Who: "ops", Reason: "merchant was down", Mode: "restart"})
		if job.State != resend.Running || job.Mode != engine.ResendRestart || !job.Filter.CreatedTo.Equal(begun) {
			t.Errorf("Start = %+v; want a running job of tasks created before now", job)
		}
		late := add(t, s, "pay", 5, time.Now().Add(time.Second))

		time.Sleep(5 * time.Second)
		synctest.Wait()
		if job := get(t, j, job.ID); job.Resent < 490 || job.Resent > 520 || job.State != resend.Running {
			t.Errorf("after 5 s at 100/s: %d resent, %s; want about 500, running", job.Resent, job.State)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		job = get(t, j, job.ID)
		if job.State != resend.Done || job.Resent != 1000 || job.Examined != 1000 || job.Failed+job.Skipped != 0 || job.Finished.IsZero() {
			t.Errorf("after 10 s: %+v; want it done with 1000 resent", job)
		}
		if tasks, times := e.sent(); tasks != 1000 || times != 1000 {
			t.Errorf("%d tasks were resent in %d resends; want 1000 in 1000", tasks, times)
		}
		for _, id := range ids {
			if len(e.calls[id]) != 1 {
				t.Errorf("task %v was resent %d times; want once", id, len(e.calls[id]))
			}
		}
		for _, id := range late {
			if len(e.calls[id]) != 0 {
				t.Errorf("task %v was created after the job and resent", id)
			}
		}
		if want := (bellman.By{Who: "ops", Reason: "merchant was down", Job: "resend/" + job.ID.String()}); e.by != want {
			t.Errorf("resent by %+v; want %+v", e.by, want)
		}
		audits, err := s.Audits(t.Context(), time.Time{}, 10)
		want := []store.Audit{{At: begun.UTC(), Who: "ops", Action: "resend", Target: "resend/" + job.ID.String(), Reason: "merchant was down"}}
		if err != nil || !reflect.DeepEqual(audits, want) {
			t.Errorf("audits = %+v, %v; want %+v", audits, err, want)
		}
		stop()
		if kept := get(t, jobs(t, s, e), job.ID); !reflect.DeepEqual(kept, job) {
			t.Errorf("the store keeps %+v; want %+v", kept, job)
		}
	})
}

// At each rate a job takes as long as the rate says, and bursts are limited to a tenth of a
// second's worth.
func TestRate(t *testing.T) {
	for _, perSecond := range []float64{0.5, 1, 50, 1000} {
		t.Run(fmt.Sprint(perSecond), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				e := &sender{Store: s}
				n := int(perSecond*4) + 2
				add(t, s, "pay", n, time.Now())
				j := jobs(t, s, e)
				stop := run(t, j)
				begun := time.Now()
				job := start(t, j, resend.Job{Filter: pay, Rate: perSecond})
				for job.State == resend.Running {
					time.Sleep(10 * time.Millisecond)
					job = get(t, j, job.ID)
				}
				took, want := time.Since(begun).Seconds(), float64(n)/perSecond
				if took < want-max(0.2, 1.1/perSecond) || took > want+max(0.2, 1.1/perSecond) {
					t.Errorf("%d tasks took %.2f s; want about %.2f", n, took, want)
				}
				stop()
			})
		})
	}
}

// A job for a queue that is not configured would resend nothing. Start and Count reject it.
func TestNoSuchQueue(t *testing.T) {
	db := memory.New()
	j, err := resend.New(resend.Options{Store: db, Tasks: &sender{Store: db}, Queues: func() []string { return []string{"orders", "pay"} }})
	if err != nil {
		t.Fatal(err)
	}
	for _, queue := range []string{"pay", "py", ""} {
		f := resend.Pick{Filter: store.Filter{Queue: queue, MerchantNo: "M1"}}
		_, counted := j.Count(t.Context(), f, 0, 0)
		_, started := j.Start(t.Context(), resend.Job{Filter: f})
		for what, err := range map[string]error{"Count": counted, "Start": started} {
			var invalid *bellman.Invalid
			if wrong := errors.As(err, &invalid); wrong != (queue == "py") || wrong && (invalid.Fields[0].Field != "filter.queue" || invalid.Fields[0].Problem != `no queue "py" is configured: want one of orders, pay`) {
				t.Errorf("%s of queue %q: %v; want an error of the field queue", what, queue, err)
			}
		}
	}
}

func TestStartRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := jobs(t, memory.New(), &sender{})
		now := time.Now()
		tests := []struct {
			job   resend.Job
			field string
		}{
			{resend.Job{}, "filter"},
			{resend.Job{Filter: pay, Mode: "twice"}, "mode"},
			{resend.Job{Filter: pay, Rate: -1}, "rate"},
			{resend.Job{Filter: pay, Rate: 10_001}, "rate"},
			{resend.Job{Filter: pay, Rate: 0.9 / 3600}, "rate"},
			{resend.Job{Filter: pay, Rate: math.NaN()}, "rate"},
			{resend.Job{Filter: resend.Pick{Filter: store.Filter{CreatedFrom: now.Add(time.Hour)}}}, "filter.created_from"},
			{resend.Job{Filter: resend.Pick{Filter: store.Filter{CreatedFrom: now.Add(-time.Hour), CreatedTo: now.Add(-2 * time.Hour)}}}, "filter.created_from"},
		}
		for _, tt := range tests {
			_, err := j.Start(t.Context(), tt.job)
			if invalid, is := errors.AsType[*bellman.Invalid](err); !is || len(invalid.Fields) != 1 || invalid.Fields[0].Field != tt.field {
				t.Errorf("Start(%+v) = %v; want an error of the field %s", tt.job, err, tt.field)
			}
		}
		_, err := j.Start(t.Context(), resend.Job{Mode: "twice", Rate: -1})
		if invalid, is := errors.AsType[*bellman.Invalid](err); !is || len(invalid.Fields) != 3 {
			t.Errorf("Start with three wrong fields = %v; want all three named", err)
		}

		for range resend.MaxRunning {
			start(t, j, resend.Job{Filter: pay})
		}
		if _, err := j.Start(t.Context(), resend.Job{Filter: pay}); !errors.Is(err, bellman.ErrOverloaded) {
			t.Errorf("Start above MaxRunning = %v; want ErrOverloaded", err)
		}
		all, err := j.List(t.Context(), 100)
		if err != nil || len(all) != resend.MaxRunning {
			t.Fatalf("List = %d jobs, %v; want %d", len(all), err, resend.MaxRunning)
		}
		if first := get(t, j, all[0].ID); !all[0].ID.Time().After(all[31].ID.Time()) && all[0].ID.String() < all[31].ID.String() || first.Mode != "once" || first.Rate != 50 {
			t.Errorf("List begins with %+v; want the newest, with the defaults", first)
		}
		if some, _ := j.List(t.Context(), 3); len(some) != 3 || some[2].ID != all[2].ID {
			t.Errorf("List of 3 = %d jobs; want the newest three", len(some))
		}
		if _, err := j.Cancel(t.Context(), all[5].ID, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		start(t, j, resend.Job{Filter: pay}) // there is room for a job again
	})
}

func TestCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		add(t, s, "other", 50, time.Now())
		ids := add(t, s, "pay", 1000, time.Now())
		j := jobs(t, s, &sender{})
		oldest, newest := ids[0].Time(), ids[999].Time()
		tests := []struct {
			limit int
			want  resend.Count
		}{
			{0, resend.Count{Tasks: 1000, Merchants: 3, Oldest: oldest, Newest: newest,
				Top: []resend.MerchantCount{{MerchantNo: "M0", Tasks: 400}, {MerchantNo: "M1", Tasks: 400}, {MerchantNo: "M2", Tasks: 200}}}},
			{1000, resend.Count{Tasks: 1000, Merchants: 3, Oldest: oldest, Newest: newest,
				Top: []resend.MerchantCount{{MerchantNo: "M0", Tasks: 400}, {MerchantNo: "M1", Tasks: 400}, {MerchantNo: "M2", Tasks: 200}}}},
			{2, resend.Count{Tasks: 2, More: true, Merchants: 1, Oldest: ids[998].Time(), Newest: newest,
				Top: []resend.MerchantCount{{MerchantNo: "M2", Tasks: 2}}}},
		}
		for _, tt := range tests {
			got, err := j.Count(t.Context(), pay, tt.limit, 0)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Count(%d) = %+v, %v; want %+v", tt.limit, got, err, tt.want)
			}
		}
		slow := jobs(t, &slowLists{Store: s, takes: 15 * time.Millisecond}, &sender{})
		for within, want := range map[time.Duration]resend.Count{
			10 * time.Millisecond: {Tasks: 200, More: true}, // one page is read, however long it takes
			40 * time.Millisecond: {Tasks: 400, More: true}, // two pages; a third one would be late
			time.Second:           {Tasks: 1000},
			0:                     {Tasks: 1000},
		} {
			if got, err := slow.Count(t.Context(), pay, 0, within); err != nil || got.Tasks != want.Tasks || got.More != want.More {
				t.Errorf("Count() within %v = %+v, %v; want %d, more: %t", within, got, err, want.Tasks, want.More)
			}
		}
		if got, err := j.Count(t.Context(), resend.Pick{Filter: store.Filter{Queue: "none"}}, 0, 0); err != nil || !reflect.DeepEqual(got, resend.Count{Top: []resend.MerchantCount{}}) {
			t.Errorf("Count of nothing = %+v, %v; want zero", got, err)
		}
		var invalid *bellman.Invalid
		if _, err := j.Count(t.Context(), resend.Pick{Filter: store.Filter{}}, 0, 0); !errors.As(err, &invalid) {
			t.Errorf("Count of an empty filter = %v; want it invalid", err)
		}
	})
}

// slowLists is a store whose lists take a while.
type slowLists struct {
	store.Store
	takes time.Duration
}

func (s *slowLists) List(ctx context.Context, f store.Filter, before bellman.ID, limit int) ([]*bellman.Task, bellman.ID, error) {
	time.Sleep(s.takes) // the time of a bubble
	return s.Store.List(ctx, f, before, limit)
}

func TestJobAsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := bellman.Failed
		job := start(t, jobs(t, memory.New(), &sender{}), resend.Job{Filter: resend.Pick{Filter: store.Filter{Queue: "pay", State: &failed}}})
		text, err := json.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"state":"running"`, `"mode":"once"`, `"rate":50`, `"id":"` + job.ID.String() + `"`,
			`"filter":{"queue":"pay","state":"failed","created_to":"2000-01-01T00:00:00Z"}`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("JSON = %s; want %s in it", text, want)
			}
		}
		var again resend.Job
		if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(again, job) {
			t.Errorf("read back: %+v, %v; want %+v", again, err, job)
		}
	})
}
