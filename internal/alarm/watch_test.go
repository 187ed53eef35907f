package alarm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/results"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A world is an engine whose figures are set by hand, over a store in memory.
type world struct {
	*memory.Store
	t       *testing.T
	mu      sync.Mutex // of what follows: a test holds it but for when time passes
	figures figures.Figures
	away    bool // another node judges
	blind   bool // figures cannot be read
	full    bool // no task is accepted
	unsure  int  // so many commits say that nobody knows what came of them
	lost    bool // and what came of them is nothing

	meanwhile func() // what somebody else does between reading and writing; nil: nothing
	keys      map[string]int
	told      []told
}

type told struct {
	at   time.Duration // since the start
	task *bellman.Task
}

var start time.Time

func newWorld(t *testing.T) *world {
	start = time.Now()
	w := &world{Store: memory.New(), t: t, keys: map[string]int{}}
	w.figures.Gauges.Started = start.Add(-2 * time.Hour)
	w.mu.Lock()
	return w
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	w.mu.Unlock()
	defer w.mu.Lock()
	time.Sleep(d)
}

func (w *world) Figures(context.Context, figures.Ask) (figures.Figures, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.blind {
		return figures.Figures{}, errors.New("the store does not answer")
	}
	f := w.figures
	f.Queues, f.Endpoints, f.Silent = slices.Clone(f.Queues), slices.Clone(f.Endpoints), slices.Clone(f.Silent)
	return f, nil
}

func (w *world) Leads() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.away
}

func (w *world) AddWith(ctx context.Context, docs []store.Doc, tasks ...*bellman.Task) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := &store.Batch{Docs: docs}
	for _, t := range tasks {
		if t.Queue == "refuses" {
			var invalid bellman.Invalid
			invalid.Add("url", "is required")
			return invalid.Err()
		}
		t.ID, t.Version, t.VisibleAt = bellman.NewID(), 1, time.Now()
		b.Adds = append(b.Adds, store.Add{Task: t, Digest: t.Digest()})
	}
	if w.full && len(b.Adds) > 0 {
		return bellman.ErrFull
	}
	if w.meanwhile != nil {
		w.meanwhile()
		w.meanwhile = nil
	}
	return w.commit(ctx, b)
}

// Commit writes documents without tasks.
func (w *world) Commit(ctx context.Context, b *store.Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.commit(ctx, b)
}

func (w *world) commit(ctx context.Context, b *store.Batch) error {
	if w.unsure > 0 {
		w.unsure--
		if w.lost {
			return bellman.ErrUnknown
		}
		return errors.Join(w.write(ctx, b), bellman.ErrUnknown)
	}
	return w.write(ctx, b)
}

func (w *world) write(ctx context.Context, b *store.Batch) error {
	if err := w.Store.Commit(ctx, b); err != nil {
		return err
	}
	for _, a := range b.Adds {
		w.keys[a.Task.Key]++
		w.told = append(w.told, told{time.Since(start), a.Task})
	}
	return nil
}

// run starts a watch of rules, as a process does, and returns what ends it.
func (w *world) run(rules ...alarm.Rule) func() {
	watch, err := alarm.New(alarm.Options{Engine: w, Store: w, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Fatal(err)
	}
	watch.SetRules(rules, map[string]results.Queue{"ops": {Name: "ops"}, "refuses": {Name: "refuses"}})
	return w.start(watch)
}

// start starts a watch, and returns what ends it.
func (w *world) start(watch *alarm.Watch) func() {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() {
		time.Sleep(time.Second) // so that nothing is judged at the moment at which a test changes it
		ended <- watch.Run(ctx)
	}()
	return func() {
		cancel()
		w.mu.Unlock()
		defer w.mu.Lock()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	}
}

// expect says what was told so far, such as "began 10s", each within a round or two.
func (w *world) expect(want ...string) {
	w.t.Helper()
	var got []string
	for _, x := range w.told {
		got = append(got, strings.TrimPrefix(x.task.Event, "bellman.alarm.")+" "+x.at.String())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("told %v; want %v", got, want)
	}
	for key, n := range w.keys {
		if n > 1 {
			w.t.Errorf("%s was told %d times", key, n)
		}
	}
}

func (w *world) overdue(d time.Duration) {
	q := figures.Queue{Name: "pay", Kind: "notify"}
	if d > 0 {
		q.OldestOverdue = time.Now().Add(-d)
	}
	w.figures.Queues = []figures.Queue{q, {Name: "other", OldestOverdue: time.Now().Add(-time.Second)}}
}

func (w *world) slow(d time.Duration) { w.figures.Gauges.SlowCommit = d }

var (
	overdue = alarm.Rule{Name: "late", When: alarm.Overdue, Queue: "pay", Above: 60, To: "ops"}
	slow    = alarm.Rule{Name: "slow", When: alarm.StoreSlow, Above: 1, For: 30 * time.Second, To: "ops"}
)

// A condition is reported once when it begins and once when it ends, with what it is and since
// when.
func TestOnceEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.run(overdue)()
		w.overdue(0)
		w.pass(30 * time.Second)
		w.overdue(61 * time.Second)
		w.pass(10 * time.Minute)
		w.overdue(0)
		w.pass(10 * time.Minute)
		w.expect("began 31s", "ended 11m31s")
		type event struct {
			SpecVersion, ID, Source, Type, Subject, Time string
			Data                                         struct {
				Name, When, Queue, Endpoint, Since, Until, Reason, Text string
				Above, Value                                            float64
				ZH                                                      string `json:"text_zh"`
			}
		}
		var events [2]event
		for i := range events {
			if err := json.Unmarshal(w.told[i].task.Body, &events[i]); err != nil {
				t.Fatal(err)
			}
		}
		b, e := events[0], events[1]
		since := start.Add(29 * time.Second).UTC().Format("2006-01-02T15:04:05.000Z")
		if b.SpecVersion != "1.0" || b.Type != "bellman.alarm.began" || b.ID != "alarm/late/"+since+"/began" || b.ID != w.told[0].task.Key ||
			b.Source != "bellman/alarms/late" || b.Subject != "late" || b.Data.Since != since || b.Data.Until != "" || b.Data.Value != 62 || b.Data.Above != 60 ||
			b.Data.Queue != "pay" || b.Data.When != "overdue" {
			t.Errorf("began: %+v", b)
		}
		if !strings.HasPrefix(b.Data.Text, "ALARM late: a task of queue pay waited 1m2s beyond its due time, more than 1m; since ") ||
			!strings.HasPrefix(b.Data.ZH, "【告警】late：队列 pay 的任务逾期 1m2s，超过 1m；始于 ") {
			t.Errorf("began: %s %s", b.Data.Text, b.Data.ZH)
		}
		until := start.Add(10*time.Minute + 31*time.Second).UTC().Format("2006-01-02T15:04:05.000Z")
		if e.Type != "bellman.alarm.ended" || e.ID != "alarm/late/"+since+"/ended" || e.Data.Until != until || e.Data.Reason != "over" ||
			!strings.HasPrefix(e.Data.Text, "OVER late: it lasted from ") {
			t.Errorf("ended: %+v; want until %s", e, until)
		}
		alarms, err := alarm.List(t.Context(), w)
		if err != nil || len(alarms) != 1 || alarms[0].Raised() || alarms[0].To != "ops" || alarms[0].Untold != "" {
			t.Errorf("List = %+v, %v", alarms, err)
		}
		w.pass(25 * time.Hour)
		if alarms, err := alarm.List(t.Context(), w); err != nil || len(alarms) != 0 {
			t.Errorf("a day later: List = %+v, %v; want none", alarms, err)
		}
		w.expect("began 31s", "ended 11m31s")
	})
}

// An alarm that cannot be read stops neither the other alarms nor its own condition, which raises
// it again.
func TestUnreadableAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		broken := []store.Doc{{Kind: "alarm", Name: "late", Value: []byte(`{"since":1}`)}, {Kind: "alarm", Name: "old", Value: []byte(`not JSON`)}}
		if err := w.Store.Commit(t.Context(), &store.Batch{Docs: broken}); err != nil {
			t.Fatal(err)
		}
		defer w.run(overdue, slow)()
		w.pass(30 * time.Second)
		if alarms, err := alarm.List(t.Context(), w); err != nil || len(alarms) != 0 {
			t.Errorf("List = %+v, %v; want none", alarms, err)
		}
		w.overdue(61 * time.Second)
		w.pass(time.Minute)
		w.overdue(0)
		w.slow(2 * time.Second)
		w.pass(2 * time.Minute)
		w.expect("began 31s", "began 2m1s", "ended 2m31s")
		alarms, err := alarm.List(t.Context(), w)
		if err != nil || len(alarms) != 2 || alarms[0].ID != "slow" || alarms[1].ID != "late" {
			t.Errorf("List = %+v, %v; want slow and late", alarms, err)
		}
	})
}

// Unknown figures neither raise nor end an alarm: a node that does not answer, figures that cannot
// be read, a queue that is paused, an incomplete hour.
func TestNoData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		failed := alarm.Rule{Name: "failed", When: alarm.TasksFailed, Queue: "pay", Above: 3, To: "ops"}
		defer w.run(overdue, failed)()
		w.figures.Silent = []string{"b"}
		w.overdue(0)
		w.pass(time.Minute)
		w.expect()
		w.overdue(2 * time.Minute) // what one node says is enough
		w.pass(time.Minute)
		w.expect("began 1m1s")
		w.overdue(0) // and not enough for being over
		w.pass(10 * time.Minute)
		w.blind = true
		w.figures.Silent = nil
		w.pass(10 * time.Minute)
		w.blind = false
		w.figures.Queues[0].Pause = &figures.Pause{}
		w.pass(10 * time.Minute)
		w.expect("began 1m1s")
		w.overdue(0)
		w.pass(2 * time.Minute)
		w.expect("began 1m1s", "ended 33m1s")
		w.told = nil

		at := time.Since(start)
		w.figures.Queues[0].FailedHour = 4
		w.pass(time.Minute)
		w.figures.Gauges.Started, w.figures.Queues[0].FailedHour = time.Now(), 0 // it was started anew
		w.pass(59 * time.Minute)
		w.expect("began " + (at + time.Second).String())
		w.pass(3 * time.Minute)
		w.expect("began "+(at+time.Second).String(), "ended "+(at+62*time.Minute+time.Second).String())
	})
}

// An alarm is reported once, over restarts and commits of unknown outcome, whichever of two nodes
// evaluates it.
func TestOnceOverRestarts(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.lost, w.unsure = lost, 1
			w.overdue(2 * time.Minute)
			stop := w.run(overdue)
			w.pass(8 * time.Second)
			stop()
			stop = w.run(overdue)
			other := w.run(overdue) // both believe that they lead
			w.pass(10 * time.Minute)
			began := map[bool]string{false: "began 6s", true: "began 14s"}[lost]
			w.expect(began)
			w.overdue(0)
			w.pass(30 * time.Second)
			stop()
			stop = w.run(overdue)
			other()
			w.unsure = 1
			w.pass(10 * time.Minute)
			stop()
			if len(w.told) != 2 {
				t.Errorf("lost %t: told %v", lost, w.told)
			}
			for key, n := range w.keys {
				if n != 1 {
					t.Errorf("lost %t: %s was told %d times", lost, key, n)
				}
			}
		})
	}
}

// Each endpoint that fails is an alarm of its own, up to a number; the others are one.
func TestEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		rule := alarm.Rule{Name: "down", When: alarm.EndpointFailing, For: time.Minute, To: "ops"}
		defer w.run(rule)()
		set := func(breaker string, success float64, numbers ...int) {
			for _, n := range numbers {
				w.figures.Endpoints = append(w.figures.Endpoints, figures.Endpoint{Endpoint: fmt.Sprintf("https://m%02d.example:443", n), Breaker: breaker, SuccessRate: success})
			}
		}
		subjects := func() map[string]string {
			found := map[string]string{}
			for _, x := range w.told {
				var e struct{ Data struct{ Endpoint string } }
				if err := json.Unmarshal(x.task.Body, &e); err != nil {
					t.Fatal(err)
				}
				found[e.Data.Endpoint] += strings.TrimPrefix(x.task.Event, "bellman.alarm.") + " "
			}
			return found
		}
		set("open", 0.1, 1)
		set("half_open", 0.2, 2)
		set("half_open", 0.9, 3)
		set("closed", 0.1, 4)
		w.figures.Endpoints = append(w.figures.Endpoints, figures.Endpoint{Endpoint: "https://paused.example:443", Breaker: "open", Pause: &figures.Pause{}})
		w.pass(50 * time.Second)
		w.figures.Endpoints[0].Breaker = "closed" // for a moment
		w.pass(5 * time.Second)
		w.figures.Endpoints[0].Breaker = "open"
		w.pass(30 * time.Second)
		if got := subjects(); len(got) != 1 || got["https://m02.example:443"] != "began " {
			t.Errorf("told %v; want the one that is half open and fails", got)
		}
		w.pass(time.Minute)
		if got := subjects(); len(got) != 2 || got["https://m01.example:443"] != "began " {
			t.Errorf("told %v; want m01 too", got)
		}
		for n := range 40 {
			set("open", 0, 10+n)
		}
		w.pass(3 * time.Minute)
		if got := subjects(); len(got) != 21 || got["*"] != "began " {
			t.Errorf("%d are told of: %v; want 20 endpoints, and the others as one", len(got), got)
		}
		w.figures.Endpoints = nil // the dispatcher forgets what is idle
		w.pass(3 * time.Minute)
		for endpoint, moments := range subjects() {
			if moments != "began ended " {
				t.Errorf("of %s was told %s; want that it began and ended", endpoint, moments)
			}
		}
		if len(subjects()) != 21 {
			t.Errorf("told %v", subjects())
		}
	})
}

// An alarm whose rule is gone ends, and one that no task can tell is kept.
func TestRulesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.overdue(2 * time.Minute)
		stop := w.run(overdue)
		w.pass(10 * time.Second)
		stop()
		stop = w.run()
		w.pass(2 * time.Minute)
		stop()
		alarms, err := alarm.List(t.Context(), w)
		if err != nil || len(alarms) != 1 || alarms[0].Raised() || alarms[0].Reason != "rule_removed" || len(w.told) != 2 {
			t.Errorf("%+v, %v; %d told; want it ended since its rule is gone", alarms, err, len(w.told))
		}
		for _, to := range []string{"gone", "refuses"} {
			rule := overdue
			rule.Name, rule.To = to, to
			stop = w.run(rule)
			w.pass(10 * time.Second)
			stop()
			alarms, err = alarm.List(t.Context(), w)
			i := slices.IndexFunc(alarms, func(a alarm.Alarm) bool { return a.Name == to })
			if err != nil || i < 0 || !alarms[i].Raised() || alarms[i].Untold == "" {
				t.Errorf("to %s: %+v, %v; want it raised, and why it is not told", to, alarms, err)
			}
		}
		if len(w.told) != 2 {
			t.Errorf("%d told; want 2", len(w.told))
		}
		w.figures.Queues[1].OldestOverdue = time.Time{}
		changed := overdue
		changed.Name, changed.Queue = "gone", "other"
		stop = w.run(changed)
		w.pass(2 * time.Minute)
		stop()
		alarms, err = alarm.List(t.Context(), w)
		for _, a := range alarms {
			if a.Name == "gone" && (a.Raised() || a.Reason != "rule_changed") {
				t.Errorf("%+v, %v; want it ended since its rule is about something else", a, err)
			}
		}
	})
}

// Who does not lead judges nothing, and goes on when it does.
func TestLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.away = true
		w.overdue(2 * time.Minute)
		defer w.run(overdue)()
		w.pass(time.Minute)
		w.expect()
		w.away = false
		w.pass(time.Minute)
		w.expect("began 1m1s")
	})
}

// Of two nodes that find the same at once, for the first shard moves, one tells.
func TestOneOfTwoTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.overdue(2 * time.Minute)
		w.meanwhile = func() {
			told := store.Doc{Kind: "alarm", Name: "late", Was: []byte{},
				Value: []byte(`{"id":"late","name":"late","when":"overdue","queue":"pay","above":60,"to":"ops","since":"2000-01-01T00:00:00Z"}`)}
			if err := w.Store.Commit(t.Context(), &store.Batch{Docs: []store.Doc{told}}); err != nil {
				t.Error(err)
			}
		}
		defer w.run(overdue)()
		w.pass(time.Minute)
		if w.meanwhile != nil {
			t.Error("nothing was written")
		}
		w.expect()
	})
}
