package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// t0 is the time of everything that the fake engine does.
var t0 = time.Date(2026, 11, 20, 15, 4, 5, 120_000_000, time.UTC)

// A fake is an engine that accepts tasks and attempts none.
type fake struct {
	*memory.Store
	mu        sync.Mutex
	fail      error // of every call, if not nil
	calls     []string
	endpoints []figures.Endpoint
	queues    []figures.Queue
	recent    []figures.Recent
	silent    []string // nodes that do not say their figures
	events    []chan engine.Event
	panics    bool
	discard   bool // accepts tasks and keeps none, for benchmarks
	waiting   chan struct{}
	hold      time.Duration                                   // what an attempt takes that is waited for
	alias     func(t *bellman.Task) string                    // of a task that is added; nil: none
	settled   func(t *bellman.Task, to *bellman.Status) error // nil: a settled task stays as it is
}

func newFake() *fake {
	return &fake{Store: memory.New(), waiting: make(chan struct{}, 100)}
}

func (f *fake) Add(ctx context.Context, tasks ...*bellman.Task) []bellman.Added {
	out := make([]bellman.Added, len(tasks))
	if f.panics {
		panic("told to")
	}
	for i, t := range tasks {
		out[i] = f.add(ctx, t)
	}
	return out
}

func (f *fake) add(ctx context.Context, t *bellman.Task) bellman.Added {
	if f.fail != nil {
		return bellman.Added{Err: f.fail}
	}
	digest := t.Digest()
	t.Schedule = cmp.Or(t.Schedule, "0s, 15s*2, 30s")
	if f.alias != nil {
		t.SetAlias(f.alias(t))
	}
	if err := f.Check(t); err != nil {
		return bellman.Added{Err: err}
	}
	if t.Queue != "orders" {
		t.Method = cmp.Or(t.Method, "POST")
	}
	t.Timeout = cmp.Or(t.Timeout, 5*time.Second)
	t.Success = cmp.Or(t.Success, "success_text")
	t.ID = bellman.NewID()
	due := t0.Add(t.Delay)
	if !t.StartAt.IsZero() {
		due = t.StartAt
	}
	t.Status = bellman.Status{Version: 1, Began: due, Due: due, VisibleAt: due, Updated: t0}
	if f.discard {
		return bellman.Added{ID: t.ID}
	}
	b := store.Batch{Adds: []store.Add{{Task: t, Digest: digest}}}
	if err := f.Commit(ctx, &b); err != nil {
		return bellman.Added{Err: err}
	}
	a := b.Adds[0]
	if !a.Existing.IsZero() {
		return bellman.Added{ID: a.Existing, Existing: a.Err == nil, Err: a.Err}
	}
	return bellman.Added{ID: t.ID}
}

// Try finds what is wrong with tasks, and the keys that are there.
func (f *fake) Try(ctx context.Context, tasks ...*bellman.Task) []bellman.Added {
	out := make([]bellman.Added, len(tasks))
	taken := map[string]bool{}
	for i, t := range tasks {
		digest := t.Digest()
		if out[i].Err = errors.Join(f.fail, f.Check(t)); out[i].Err != nil || t.Key == "" {
			continue
		}
		found, err := f.Find(ctx, []store.Key{{Queue: t.Queue, Key: t.Key}})
		if err != nil {
			panic(err)
		}
		if found[0].ID.IsZero() {
			out[i].Existing, taken[t.Queue+" "+t.Key] = taken[t.Queue+" "+t.Key], true
			continue
		}
		if out[i].ID, out[i].Existing = found[0].ID, found[0].Digest == digest; !out[i].Existing {
			out[i].Err = bellman.ErrKeyTaken
		}
	}
	return out
}

func (f *fake) Check(t *bellman.Task) error {
	var invalid bellman.Invalid
	if _, err := schedule.Parse(cmp.Or(t.Schedule, "0s")); err != nil {
		invalid.Add("schedule", err.Error())
	}
	if t.URL == "" && t.Queue != "orders" {
		invalid.Add("url", "is required")
	}
	if t.Queue == "gone" {
		invalid.Add("queue", "there is no such queue")
	}
	return invalid.Err()
}

// Settle makes of each task what settled says, if it says anything.
func (f *fake) Settle(ctx context.Context, _ bellman.By, ids ...bellman.ID) ([]engine.Settled, error) {
	return f.settle(ctx, "settle", ids), f.fail
}

func (f *fake) SettleOverdue(ctx context.Context, ids ...bellman.ID) ([]engine.Settled, error) {
	return f.settle(ctx, "overdue", ids), f.fail
}

func (f *fake) settle(ctx context.Context, how string, ids []bellman.ID) []engine.Settled {
	out := make([]engine.Settled, len(ids))
	for i, id := range ids {
		out[i] = engine.Settled{ID: id, Err: f.note("%s %s", how, id)}
		if f.hold > 0 {
			select {
			case <-ctx.Done():
				out[i].Err = fmt.Errorf("%w: %w", bellman.ErrWaiting, ctx.Err())
			case <-time.After(f.hold):
			}
		}
		t, err := f.Task(context.WithoutCancel(ctx), id)
		if err == nil && f.settled != nil && out[i].Err == nil {
			to := t.Status
			if out[i].Err = f.settled(t, &to); out[i].Err == nil {
				err = f.move(ctx, t, to)
			}
		}
		if err != nil {
			panic(err)
		}
	}
	return out
}

// move changes a task, with an attempt.
func (f *fake) move(ctx context.Context, t *bellman.Task, to bellman.Status) error {
	to.Attempts++
	at := t0.Add(time.Duration(to.Attempts) * time.Second)
	b := store.Batch{Changes: []store.Change{{ID: t.ID, Version: t.Version, To: to,
		Attempt: &bellman.Attempt{Number: int(to.Attempts), Trigger: bellman.BySettle, Due: at, Started: at, Action: "query", Result: bellman.Accepted, Status: 200}}}}
	return errors.Join(f.Commit(ctx, &b), b.Changes[0].Err)
}

// Commit sets the kinds of tasks, as the engine does.
func (f *fake) Commit(ctx context.Context, b *store.Batch) error {
	for i := range b.Adds {
		if t := b.Adds[i].Task; t.Kind == bellman.KindUnknown {
			t.Kind = kindOf(t.Queue)
		}
	}
	return f.Store.Commit(ctx, b)
}

// kinds has one queue of orders.
func kinds(queue string) string {
	return map[string]string{"orders": "order", "gone": ""}[queue] + map[bool]string{true: "notify"}[queue != "orders" && queue != "gone" && !strings.ContainsAny(queue, ". /:")]
}

// kindOf is what the tasks of a queue are.
func kindOf(queue string) bellman.Kind {
	if queue == "orders" {
		return bellman.KindOrder
	}
	return bellman.KindNotify
}

func withOrders() Options { return Options{Kinds: kinds} }

// life is the data of a task whose order stands so.
func life(s order.Standing) []byte {
	l := order.Life{Stage: order.Polling, State: s.State, Late: s.Late}
	switch {
	case s.Beside:
		l.Stage = order.Watching
	case s.State != order.StatePending:
		l.Stage = order.Decided
	case s.Acting:
		l.Stage = order.Close
	case s.Timed:
		l.Stage = order.Confirming
	case s.Closing:
		l.Stage = order.Closing
	}
	data, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	return data
}

// placed is the body of an order that was placed then, and can be paid for so long.
func placed(at time.Time, expires time.Duration) []byte {
	body, err := (&order.Ask{Created: at, Expires: expires}).Encode()
	if err != nil {
		panic(err)
	}
	return body
}

// note remembers a call.
func (f *fake) note(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
	return f.fail
}

// called returns the calls since it was called last.
func (f *fake) called() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := strings.Join(f.calls, "; ")
	f.calls = nil
	return s
}

func (f *fake) read(ctx context.Context, id bellman.ID, err error) (*bellman.Task, error) {
	if err != nil {
		return nil, err
	}
	return f.Task(ctx, id)
}

func (f *fake) Cancel(ctx context.Context, id bellman.ID, by bellman.By) (*bellman.Task, error) {
	return f.read(ctx, id, f.note("cancel %q %q", by.Who, by.Reason))
}

func (f *fake) Complete(ctx context.Context, id bellman.ID, with bellman.Completion, by bellman.By) (*bellman.Task, error) {
	return f.read(ctx, id, f.note("complete %q %q %q", with.Outcome, by.Who, by.Reason))
}

func (f *fake) Decide(ctx context.Context, id bellman.ID, with bellman.Completion, by bellman.By) (*bellman.Task, error) {
	return f.read(ctx, id, f.note("decide %q %q %q", with.Outcome, by.Who, by.Reason))
}

func (f *fake) Resend(ctx context.Context, id bellman.ID, mode engine.ResendMode, by bellman.By) (*bellman.Task, error) {
	return f.read(ctx, id, f.note("resend %s %q %q", mode, by.Who, by.Reason))
}

func (f *fake) Reschedule(ctx context.Context, id bellman.ID, due time.Time, by bellman.By) (*bellman.Task, error) {
	return f.read(ctx, id, f.note("reschedule %s %q %q", due.Format(time.RFC3339), by.Who, by.Reason))
}

func (f *fake) known(name string) error {
	if name == "nothing" {
		return fmt.Errorf("queue %q: %w", name, bellman.ErrNotFound)
	}
	return nil
}

func (f *fake) PauseQueue(_ context.Context, name string, by bellman.By) error {
	return errors.Join(f.known(name), f.note("pause queue %s %q %q", name, by.Who, by.Reason))
}

func (f *fake) ResumeQueue(_ context.Context, name string, by bellman.By) error {
	return errors.Join(f.known(name), f.note("resume queue %s %q %q", name, by.Who, by.Reason))
}

func (f *fake) PauseEndpoint(_ context.Context, name string, by bellman.By) error {
	return f.note("pause endpoint %s %q %q", name, by.Who, by.Reason)
}

func (f *fake) ResumeEndpoint(_ context.Context, name string, by bellman.By) error {
	return f.note("resume endpoint %s %q %q", name, by.Who, by.Reason)
}

func (f *fake) Figures(_ context.Context, ask figures.Ask) (figures.Figures, error) {
	out := figures.Figures{Nodes: 3 - len(f.silent), Silent: f.silent}
	if ask.Queues {
		out.Queues = f.queues
	}
	if ask.Endpoints {
		out.Endpoints = f.endpoints
	}
	if ask.Recent != nil {
		out.RecentMerchants = f.recent
	}
	for _, window := range ask.Windows {
		out.Windows = append(out.Windows, f.stats(window))
	}
	return out, f.fail
}

func (f *fake) stats(window time.Duration) figures.Stats {
	f.note("stats %v", window)
	return figures.Stats{
		Since:    t0.Add(-window),
		Counts:   figures.Counts{Added: 5, Attempts: map[bellman.Result]int64{bellman.Accepted: 3, bellman.TimedOut: 1}, Succeeded: 3, Failed: 1},
		Lateness: figures.Percentiles{Count: 4, P50: 420 * time.Microsecond, P90: time.Millisecond, P99: 1100 * time.Microsecond, Max: 3 * time.Millisecond},
		Took:     figures.Percentiles{Count: 4, P50: 41 * time.Millisecond, P90: 50 * time.Millisecond, P99: 5 * time.Second, Max: 5 * time.Second},
	}
}

func (f *fake) Subscribe(buffer int) (<-chan engine.Event, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan engine.Event, buffer)
	f.events = append(f.events, ch)
	f.waiting <- struct{}{}
	return ch, func() {}
}

func (f *fake) Ready(context.Context) error { return f.fail }

func (f *fake) Backup(_ context.Context, dir string, _ bellman.By) error {
	return f.note("backup %s", dir)
}

// made is an API over a fake, for requests without a network.
type made struct {
	*API
	fake *fake
	log  *bytes.Buffer
}

func make1(t testing.TB, o Options) *made {
	t.Helper()
	f := newFake()
	log := &bytes.Buffer{}
	if o.Engine == nil {
		o.Engine = f
	}
	o.Reader, o.Backup = f, f
	o.Log = slog.New(slog.NewTextHandler(&lockedWriter{w: log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if _, isTest := t.(*testing.T); !isTest {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &made{API: a, fake: f, log: log}
}

type lockedWriter struct {
	sync.Mutex
	w io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.w.Write(b)
}

// do makes one request. A header is "Name: value".
func (m *made) do(method, target, body string, header ...string) *httptest.ResponseRecorder {
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, in)
	r.Host = "127.0.0.1:2355"
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	return w
}

// problemOf reads a problem document, which an answer of 400 or more must be.
func problemOf(t testing.TB, w *httptest.ResponseRecorder) (detail string, locations []string) {
	t.Helper()
	var p struct {
		Title, Detail string
		Status        int
		Errors        []struct{ Location, Message string }
	}
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type of a %d is %q", w.Code, got)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code || p.Title != http.StatusText(w.Code) {
		t.Errorf("answer %d is no problem document (%v): %s", w.Code, err, w.Body)
	}
	for _, e := range p.Errors {
		if e.Message == "" {
			t.Errorf("no message at %s: %s", e.Location, w.Body)
		}
		locations = append(locations, e.Location)
	}
	return p.Detail, locations
}

func hash(key string) [sha256.Size]byte { return sha256.Sum256([]byte(key)) }
