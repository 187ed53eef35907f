package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A stateSetter is a handler whose check gives tasks a state that does not exist.
type stateSetter struct{ *receiver }

func (stateSetter) Check(t *bellman.Task) error {
	t.State = 9
	return nil
}

// A task with a state that does not exist is left out, whoever gives it that state, and the verdict
// stands.
func TestStateThatDoesNotExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		follows := always(bellman.Verdict{Next: bellman.Succeed, Follow: []bellman.Task{{Queue: "told", Status: bellman.Status{State: 9}}}})
		e, stop := run(t, s, engine.Queue{Name: "q", Handler: &receiver{answer: follows}}, engine.Queue{Name: "told", Handler: &receiver{answer: accept}},
			engine.Queue{Name: "set", Handler: stateSetter{&receiver{answer: accept}}})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q"})
		if task, err := e.Wait(t.Context(), id); err != nil || task.State != bellman.Succeeded {
			t.Errorf("the task is %v, %v; want succeeded", task.State, err)
		}
		if log := attempts(t, s, id); len(log) != 1 || !strings.Contains(log[0].Error, "state: 9 is no state") {
			t.Errorf("attempts %+v; want an error about the state of the follow-up task", log)
		}
		invalid := new(bellman.Invalid)
		if err := e.Add(t.Context(), &bellman.Task{Queue: "set"})[0].Err; !errors.As(err, &invalid) || !invalid.Has("state") {
			t.Errorf("Add returned %v; want an error about the state", err)
		}
	})
}

type panickingObserver struct{}

func (panickingObserver) Attempted(string, bellman.Result, time.Duration, time.Duration) {
	panic("attempted")
}
func (panickingObserver) Added(string, int)            { panic("added") }
func (panickingObserver) Ended(string, bellman.State)  { panic("ended") }
func (panickingObserver) Committed(int, time.Duration) { panic("committed") }

// A panickingTracer is also the span, which it starts or panics.
type panickingTracer struct{ starts bool }

func (panickingTracer) Trace(context.Context) *bellman.Trace                    { panic("trace") }
func (panickingTracer) Added(context.Context, []*bellman.Task, []bellman.Added) { panic("added") }
func (p panickingTracer) End(*bellman.Attempt, *bellman.Status)                 { panic("end") }
func (p panickingTracer) Attempt(ctx context.Context, _ *bellman.Task, _ *bellman.Attempt, _ string) (context.Context, bellman.Span) {
	if p.starts {
		return ctx, p
	}
	panic("attempt")
}

// A panic of an observer or a tracer costs what it would have reported. The log has the first of
// each function.
func TestPanicsOfCallbacks(t *testing.T) {
	for _, starts := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			e, err := engine.New(engine.Options{
				Store: memory.New(), Queues: []engine.Queue{{Name: "q", Handler: &receiver{answer: accept}}}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				Observer: panickingObserver{}, Tracer: panickingTracer{starts},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- e.Run(ctx) }()
			for range 2 {
				id := add(t, e, &bellman.Task{Queue: "q"})
				if task, err := e.Wait(t.Context(), id); err != nil || task.State != bellman.Succeeded {
					t.Errorf("the task is %+v, %v; want succeeded", task, err)
				}
			}
			synctest.Wait()
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			functions := []string{"Observer.Attempted", "Observer.Added", "Observer.Ended", "Observer.Committed", "Tracer.Trace", "Tracer.Added"}
			for _, function := range append(functions, map[bool]string{true: "Span.End", false: "Tracer.Attempt"}[starts]) {
				if n := strings.Count(log.String(), "callback="+function+" "); n != 1 {
					t.Errorf("the log has %d panics of %s; want 1", n, function)
				}
			}
		})
	}
}

// New refuses what could only fail later.
func TestInvalidOptions(t *testing.T) {
	var none *receiver
	good := engine.Queue{Name: "q", Handler: &receiver{answer: accept}}
	for _, tt := range []struct {
		options engine.Options
		want    string
	}{
		{engine.Options{Queues: []engine.Queue{{Name: "q"}}}, `queue "q" has no handler`},
		{engine.Options{Queues: []engine.Queue{{Name: "q", Handler: bellman.HandlerFunc(nil)}}}, `queue "q" has no handler`},
		{engine.Options{Queues: []engine.Queue{{Name: "q", Handler: none}}}, `queue "q" has no handler`},
		{engine.Options{Queues: []engine.Queue{good}, StopTimeout: -time.Second}, "StopTimeout is -1s"},
		{engine.Options{Queues: []engine.Queue{good}, Node: strings.Repeat("n", 474), Process: "1"}, "Node and Process have 475 bytes: want at most 474"},
		{engine.Options{Queues: []engine.Queue{good}, Store: (*memory.Store)(nil)}, "Options.Store is required"},
	} {
		if tt.options.Store == nil {
			tt.options.Store = memory.New()
		}
		if _, err := engine.New(tt.options); !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("New returned %v; want an error with %q", err, tt.want)
		}
	}
}

// Long texts of a verdict, and the reason of a follow-up task, are cut between characters.
func TestLongTextsOfVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, long := memory.New(), strings.Repeat("很", 1<<20)
		cut := strings.Repeat("很", bellman.MaxResponse)
		answer := always(bellman.Verdict{Next: bellman.Succeed, Reason: long, Response: long, Error: long, Action: long, Reading: long,
			Follow: []bellman.Task{{Queue: "q", Key: "told", Status: bellman.Status{State: bellman.Failed, Reason: long}}}})
		e, stop := run(t, s, engine.Queue{Name: "q", Handler: &receiver{answer: answer}})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q"})
		task, err := e.Wait(t.Context(), id)
		if err != nil || task.Reason != cut {
			t.Errorf("a reason of %d bytes, %v; want %d characters", len(task.Reason), err, bellman.MaxResponse)
		}
		if a := attempts(t, s, id)[0]; a.Response != cut || a.Error != cut || a.Action != cut || a.Reading != cut {
			t.Errorf("texts of %d, %d, %d and %d bytes; want %d characters", len(a.Response), len(a.Error), len(a.Action), len(a.Reading), bellman.MaxResponse)
		}
		told, _, err := s.List(t.Context(), store.Filter{Queue: "q"}, bellman.ID{}, 1)
		if err != nil || len(told) != 1 || told[0].Key != "told" || told[0].Reason != cut {
			t.Errorf("%v; want the follow-up task, with a reason of %d characters", err, bellman.MaxResponse)
		}
	})
}

// Orders and polls follow schedules of their own if the queue names none: that of a notification
// pauses for hours.
func TestScheduleOfKind(t *testing.T) {
	for kind, want := range map[bellman.Kind]string{
		bellman.KindNotify: "wechat_notify", bellman.KindOrder: "order_poll", bellman.KindPoll: "wechat_refund", bellman.KindOwn: "wechat_notify",
	} {
		rules, err := engine.NewRules(engine.Queue{Name: "q", Kind: kind, Handler: &receiver{answer: accept}})
		if err != nil {
			t.Fatal(err)
		}
		if add := rules.Prepare(&bellman.Task{Queue: "q"})[0]; add.Err != nil || add.Task.Schedule != want {
			t.Errorf("a task of kind %v has the schedule %q, %v; want %s", kind, add.Task.Schedule, add.Err, want)
		}
	}
}
