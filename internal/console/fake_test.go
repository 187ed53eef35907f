package console

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/attention"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A fake is an engine that attempts nothing, over a store in memory.
type fake struct {
	pausedMerchants []figures.MerchantPause
	failing         []figures.FailingMerchant
	*memory.Store
	mu    sync.Mutex
	fail  error  // of every call, if not nil
	ended string // the id of a task that cannot be cancelled, because it has ended
	ends  error  // of every pause that is to end, if not nil
	calls []string

	queues    []figures.Queue
	endpoints []figures.Endpoint
	gauges    figures.Gauges
	stats     figures.Stats
	minutes   []figures.Stats
	nodes     []engine.NodeInfo
	unowned   []store.Lease
	silent    []string
	answered  int // nodes; 0: one
	sources   []source.Info
	refused   []figures.Refusal
	skewed    []figures.Skew
	recent    []figures.Recent
	held      map[string]*figures.Pause // by queue
	guided    map[string]bellman.Route  // by merchant
}

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

func (f *fake) Cancel(_ context.Context, id bellman.ID, by bellman.By) (*bellman.Task, error) {
	job := ""
	if by.Job != "" {
		job = " " + by.Job
	}
	if err := f.note("cancel %s %q %q%s", id, by.Who, by.Reason, job); err != nil || id.String() != f.ended {
		return nil, err
	}
	return nil, bellman.ErrConflict
}

func (f *fake) Complete(_ context.Context, id bellman.ID, with bellman.Completion, by bellman.By) (*bellman.Task, error) {
	return nil, f.note("complete %s %q %q %q", id, with.Outcome, by.Who, by.Reason)
}

func (f *fake) Decide(_ context.Context, id bellman.ID, with bellman.Completion, by bellman.By) (*bellman.Task, error) {
	return nil, f.note("decide %s %q %q %q", id, with.Outcome, by.Who, by.Reason)
}

func (f *fake) Resend(_ context.Context, id bellman.ID, mode engine.ResendMode, by bellman.By) (*bellman.Task, error) {
	return nil, f.note("resend %s %s %q %q", id, mode, by.Who, by.Reason)
}

func (f *fake) Reschedule(_ context.Context, id bellman.ID, due time.Time, by bellman.By) (*bellman.Task, error) {
	return nil, f.note("reschedule %s %s %q %q", id, due.UTC().Format(time.RFC3339), by.Who, by.Reason)
}

func (f *fake) Settle(ctx context.Context, by bellman.By, ids ...bellman.ID) ([]engine.Settled, error) {
	out := make([]engine.Settled, len(ids))
	for i, id := range ids {
		out[i] = engine.Settled{ID: id, Err: f.note("settle %s %q %q", id, by.Who, by.Reason)}
	}
	return out, nil
}

func (f *fake) Held(t *bellman.Task) (string, *figures.Pause) {
	return "queue/" + t.Queue, f.held[t.Queue]
}

func (f *fake) Route(t *bellman.Task) bellman.Route { return f.guided[t.MerchantNo] }

func (f *fake) PauseQueue(_ context.Context, name string, by bellman.By) error {
	return f.note("pause queue %s %q %q", name, by.Who, by.Reason)
}

func (f *fake) ResumeQueue(_ context.Context, name string, by bellman.By) error {
	return cmp.Or(f.ends, f.note("resume queue %s %q %q", name, by.Who, by.Reason))
}

func (f *fake) PauseEndpoint(_ context.Context, name string, by bellman.By) error {
	return f.note("pause endpoint %s %q %q", name, by.Who, by.Reason)
}

func (f *fake) ResumeEndpoint(_ context.Context, name string, by bellman.By) error {
	return cmp.Or(f.ends, f.note("resume endpoint %s %q %q", name, by.Who, by.Reason))
}

func (f *fake) PausedMerchants() []figures.MerchantPause { return f.pausedMerchants }

// named are the sources of the fake.
func (f *fake) named() []source.Info { return f.sources }

func (f *fake) Figures(_ context.Context, ask figures.Ask) (figures.Figures, error) {
	out := figures.Figures{Gauges: f.gauges, Failing: f.failing, Nodes: max(f.answered, 1), Silent: f.silent, Refused: f.refused, Skewed: f.skewed}
	if ask.Queues {
		out.Queues = f.queues
	}
	if ask.Endpoints {
		out.Endpoints = f.endpoints
	}
	for range ask.Windows {
		out.Windows = append(out.Windows, f.stats)
	}
	if ask.Recent != nil {
		for _, r := range f.recent {
			if slices.Contains(ask.Recent.Merchants, r.Name) {
				out.RecentMerchants = append(out.RecentMerchants, r)
			}
			if slices.Contains(ask.Recent.Endpoints, r.Name) {
				out.RecentEndpoints = append(out.RecentEndpoints, r)
			}
		}
	}
	if ask.Minutes > 0 {
		out.Minutes = f.minutes
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return out, f.fail
}

func (f *fake) Nodes(context.Context) ([]engine.NodeInfo, []store.Lease, error) {
	return f.nodes, f.unowned, f.fail
}

// add keeps a task that was created at a time, with attempts that were made.
func (f *fake) add(t testing.TB, task *bellman.Task, created time.Time, log ...bellman.Attempt) *bellman.Task {
	t.Helper()
	first := bellman.FirstID(created)
	sum := sha256.Sum256(fmt.Append(nil, task.Queue, task.Key, task.OrderNo, task.MerchantNo, created.UnixNano()))
	copy(first[8:], sum[:8])
	first[6], first[8] = 0x70, first[8]&0x3f|0x80
	task.ID = first
	if task.Kind = cmp.Or(task.Kind, bellman.KindNotify); task.Queue == "orders" { // as the engine does
		task.Kind = bellman.KindOrder
	}
	status := task.Status
	task.Status = bellman.Status{Version: 1, Began: created, Due: created, VisibleAt: created, Updated: created, Data: status.Data}
	b := store.Batch{Adds: []store.Add{{Task: task}}}
	if err := f.Commit(t.Context(), &b); err != nil || b.Adds[0].Err != nil {
		t.Fatal(err, b.Adds[0].Err)
	}
	for i := range log {
		a := &log[i]
		a.Number = i + 1
		status.Attempts, status.Version = int32(a.Number), uint32(i+2)
		if status.Updated = a.Started.Add(a.Took); status.Began.IsZero() {
			status.Began = created
		}
		change := store.Batch{Changes: []store.Change{{ID: task.ID, Version: uint32(i + 1), To: status, Attempt: a}}}
		if err := f.Commit(t.Context(), &change); err != nil || change.Changes[0].Err != nil {
			t.Fatal(err, change.Changes[0].Err)
		}
	}
	kept, err := f.Task(t.Context(), task.ID)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// ordered makes a task an order's, which stands so. Where it was given up and nothing says when,
// its task has ended without a decision.
func ordered(t testing.TB, task *bellman.Task, s order.Standing, ask order.Ask) *bellman.Task {
	t.Helper()
	ask.Created = t0
	l := order.Life{Stage: order.Decided, State: s.State, Late: s.Late, Mismatch: s.Mismatch}
	for i := range s.Duplicates + 1 {
		if s.Duplicates > 0 { // the first payment has no number in taken
			l.Payments = append(l.Payments, strconv.Itoa(i))
		}
	}
	switch {
	case s.Beside:
		l.Stage = order.Watching
	case s.State == order.StatePending, s.State == order.StateUnknown && s.Decided.IsZero():
		l.Stage, l.State = order.Polling, order.StatePending
	case !s.Decided.IsZero():
		l.DecidedAt = s.Decided.UnixMilli()
	}
	body, err := ask.Encode()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	task.Kind, task.Body, task.Data = bellman.KindOrder, body, data
	return task
}

func kinds(queue string) string {
	return map[string]string{"orders": "order", "pay": "notify"}[queue]
}

// raised are alarms as they are given, and rules.
type raised struct {
	alarms []alarm.Alarm
	rules  []alarm.Rule
}

func (r *raised) List(context.Context) ([]alarm.Alarm, error) { return r.alarms, nil }

func (r *raised) Rules() []alarm.Rule { return r.rules }

// A site is a console that a browser looks at: one that keeps cookies.
type site struct {
	*Console
	fake   *fake
	raised *raised
	server *httptest.Server
	client *http.Client
	log    *bytes.Buffer
}

func open(t testing.TB, keys ...access.Key) *site {
	t.Helper()
	return openWith(t, &fake{Store: memory.New()}, Options{Keys: keys})
}

// openWith is open over a store that there is already, with more options.
func openWith(t testing.TB, f *fake, more Options) *site {
	t.Helper()
	s := &site{fake: f, raised: &raised{}, log: &bytes.Buffer{}}
	queues := func() []string { return []string{"orders", "pay"} }
	c, err := New(Options{
		Engine: s.fake, Reader: s.fake, Records: s.fake, Nodes: s.fake.Nodes, Kinds: kinds, Keys: more.Keys, Version: "test",
		Secret: more.Secret, Proxies: more.Proxies, Links: more.Links, Resends: more.Resends, Reconciliations: more.Reconciliations, Merchants: more.Merchants, Accounts: more.Accounts, Tells: more.Tells, PublicURL: more.PublicURL,
		Queues: queues, Attention: attention.New(attention.Options{Engine: f, Store: f, Nodes: f.Nodes, Alarms: s.raised, Kind: kinds, Queues: queues, Reconciliations: bills(more.Reconciliations), Sources: f.named}),
		Log: slog.New(slog.NewTextHandler(s.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.patience = time.Minute // pages that are compared have everything
	s.Console = c
	s.server = httptest.NewServer(c)
	t.Cleanup(func() { c.Stop(); s.server.Close() })
	s.client = s.browser(t)
	return s
}

// bills are the reconciliations of which the list tells; nil: there are none.
func bills(r reconcile.Desk) attention.Reconciliations {
	if r == nil {
		return nil
	}
	return r
}

// browser is one that has no cookies yet, and does not follow redirects.
func (s *site) browser(t testing.TB) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// A reply is an answer with its body read, without the places at which lines may be broken.
type reply struct {
	*http.Response
	body string
}

func (s *site) do(t testing.TB, method, path string, form url.Values, header ...string) *reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return s.send(t, r)
}

func (s *site) send(t testing.TB, r *http.Request) *reply {
	t.Helper()
	answer, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(answer.Body); err != nil {
		t.Fatal(err)
	}
	return &reply{answer, strings.ReplaceAll(b.String(), "<wbr>", "")}
}

func (s *site) get(t testing.TB, path string, header ...string) *reply {
	t.Helper()
	return s.do(t, http.MethodGet, path, nil, header...)
}

var tokenOf = regexp.MustCompile(`name="token" value="([^"]+)"`)

// token is that of the forms of a page.
func (s *site) token(t testing.TB, path string) string {
	t.Helper()
	m := tokenOf.FindStringSubmatch(s.get(t, path).body)
	if m == nil {
		t.Fatalf("no form on %s", path)
	}
	return m[1]
}

// post sends a form with the token of a page.
func (s *site) post(t testing.TB, page, path string, values ...string) *reply {
	t.Helper()
	form := url.Values{"token": {s.token(t, page)}}
	for i := 0; i+1 < len(values); i += 2 {
		form.Set(values[i], values[i+1])
	}
	return s.do(t, http.MethodPost, path, form)
}

// testKeys are one of each role; the key of a name is its name and "-key".
var testKeys = []access.Key{
	{Name: "shop", Role: access.Submit, SHA256: hash("shop-key")},
	{Name: "reader", Role: access.Read, SHA256: hash("reader-key")},
	{Name: "ops", Role: access.Operate, SHA256: hash("ops-key")},
	{Name: "root", Role: access.Admin, SHA256: hash("root-key")},
	{Name: "finance", Role: access.Decide, SHA256: hash("finance-key")},
}

func hash(key string) [sha256.Size]byte { return sha256.Sum256([]byte(key)) }

// signIn signs in with a key of testKeys.
func (s *site) signIn(t testing.TB, name string) {
	t.Helper()
	if got := s.post(t, "/signin", "/signin", "name", name, "key", name+"-key", "to", "/tasks"); got.StatusCode != http.StatusSeeOther {
		t.Fatalf("signing in as %s: %d %s", name, got.StatusCode, got.body)
	}
}
