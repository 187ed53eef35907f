package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/store"
)

func bareTask() *bellman.Task { return &bellman.Task{Queue: "q", URL: "http://m/n"} }

// dial starts a server over m on loopback and returns a client of it.
func dial(t *testing.T, m *made, key string) *client.Client {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	c, err := client.New(client.Options{Server: server.URL + "/", Key: key, HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The client and the API understand one another in every call.
func TestClient(t *testing.T) {
	resends := &fakeResends{}
	m := make1(t, Options{Resends: resends, Nodes: twoNodes, Keys: testKeys})
	c := dial(t, m, "a-key")
	ctx := t.Context()
	in := client.CreateTask{Queue: "q", Key: "a/b/../c", URL: "http://m/n?a=<1>", JSON: []byte(`{"x":"<>"}`), Due: client.At(t0), MaxAge: "1d"}
	task, created, err := c.Create(ctx, in)
	if err != nil || !created || task.State != "pending" || !task.Due.Equal(t0) || task.MaxAge != "1d" && task.MaxAge != "24h" {
		t.Fatalf("Create = %+v, %t, %v", task, created, err)
	}
	if again, created, err := c.Create(ctx, in); err != nil || created || again.ID != task.ID {
		t.Errorf("Create again = %+v, %t, %v", again, created, err)
	}
	in.Event = "other"
	_, _, err = c.Create(ctx, in)
	if p, is := errors.AsType[*client.Problem](err); !is || client.StatusOf(err) != 409 || p.Instance != "/v1/tasks/"+task.ID {
		t.Errorf("Create with other content: %v", err)
	}
	results, err := c.CreateBatch(ctx, []client.CreateTask{{Queue: "q", URL: "http://m/n", Body: "x"}, {Queue: "q"}})
	if err != nil || len(results) != 2 || results[0].Task == nil || results[1].Error.Errors[0].Location != "body.tasks[1].url" {
		t.Errorf("CreateBatch = %+v, %v", results, err)
	}
	in.Event = ""
	tried, err := c.TryBatch(ctx, []client.CreateTask{{Queue: "q", Key: "tried", URL: "http://m/n"}, {Queue: "q"}, in, {Queue: "q", Key: in.Key, URL: "http://m/n"}, {Queue: "q", Key: "tried", URL: "http://m/n"}})
	if err != nil || len(tried) != 5 || tried[4].Status != 200 || tried[4].Task != nil || tried[0].Status != 201 || tried[0].Task.ID != (bellman.ID{}).String() || tried[1].Error.Errors[0].Location != "body.tasks[1].url" ||
		tried[2].Status != 200 || tried[2].Task.ID != task.ID || tried[3].Status != 409 || tried[3].Error.Instance != "/v1/tasks/"+task.ID {
		t.Errorf("TryBatch = %+v, %v", tried, err)
	}
	if _, err := c.Task(ctx, client.ByKey("q", "tried")); client.StatusOf(err) != 404 {
		t.Errorf("after TryBatch: %v; want no task", err)
	}
	if results, err := c.CreateBatch(ctx, []client.CreateTask{{Queue: "q", URL: "http://m/n", Resume: &client.Resume{Attempts: 1}}}); err != nil || results[0].Status != 201 {
		t.Errorf("CreateBatch without resume.last = %+v, %v; want it left to the engine, which says what is missing", results, err)
	}
	for _, ref := range []client.Ref{client.ByID(task.ID), client.ByKey("q", "a/b/../c")} {
		d, err := c.Task(ctx, ref)
		if err != nil || d.ID != task.ID || d.Request.Body != `{"x":"<>"}` || d.Request.URL != "http://m/n?a=<1>" {
			t.Errorf("Task(%v) = %+v, %v", ref, d, err)
		}
		_, err = c.Resend(ctx, ref, client.ResendTask{Mode: "restart", Reason: "r"})
		check(t, m, err, `resend restart "root" "r"`)
		_, err = c.Cancel(ctx, ref, client.Because{Reason: "r"})
		check(t, m, err, `cancel "root" "r"`)
		_, err = c.Complete(ctx, ref, client.CompleteTask{Outcome: "PAID"})
		check(t, m, err, `complete "PAID" "root" "callback"`)
		_, err = c.Reschedule(ctx, ref, client.RescheduleTask{Due: client.At(t0)})
		check(t, m, err, `reschedule 2026-11-20T15:04:05Z "root" ""`)
		if log, err := c.AttemptsAfter(ctx, ref, 5); err != nil || len(log) != 0 {
			t.Errorf("AttemptsAfter = %v, %v", log, err)
		}
	}
	check(t, m, c.PauseQueue(ctx, "q", client.Because{Reason: "r"}), `pause queue q "root" "r"`)
	check(t, m, c.ResumeQueue(ctx, "q", client.Because{}), `resume queue q "root" ""`)
	_, err = c.PauseEndpoint(ctx, "https://m.example", client.Because{})
	check(t, m, err, `pause endpoint https://m.example:443 "root" ""`)
	_, err = c.ResumeEndpoint(ctx, "https://m.example:443", client.Because{})
	check(t, m, err, `resume endpoint https://m.example:443 "root" ""`)
	check(t, m, c.Backup(ctx, "/copies/1", client.Because{}), `backup /copies/1`)
	_, err = c.Stats(ctx, 90*time.Second)
	check(t, m, err, `stats 1m30s`)
	check(t, m, c.Ready(ctx), ``)

	scene(t, m)
	if queues, err := c.Queues(ctx); err != nil || len(queues.Queues) != 2 || queues.Nodes != 3 || queues.Queues[0].Paused.Who != "ops" {
		t.Errorf("Queues = %+v, %v", queues, err)
	}
	if endpoints, err := c.Endpoints(ctx); err != nil || len(endpoints.Endpoints) != 2 || endpoints.Endpoints[1].SuccessRate != nil {
		t.Errorf("Endpoints = %+v, %v", endpoints, err)
	}
	if n, err := c.Nodes(ctx); err != nil || len(n.Nodes) != 2 || !n.Nodes[0].Self || n.Nodes[1].Alive || n.Unowned[0].Epoch != 4 {
		t.Errorf("Nodes = %+v, %v", n, err)
	}
	if n, err := c.CountResend(ctx, client.BulkResend{Filter: client.Filter{Queue: "q"}}); err != nil || n.Tasks != 3 {
		t.Errorf("CountResend = %+v, %v", n, err)
	}
	job, err := c.StartResend(ctx, client.BulkResend{Filter: client.Filter{State: "failed"}, DryRun: true, Rate: "10/s"})
	if err != nil || job.ID != resendID.String() || resends.started.Who != "root" || resends.started.Rate != 10 {
		t.Errorf("StartResend = %+v, %v; started %+v", job, err, resends.started)
	}
	if j, err := c.BulkResend(ctx, job.ID); err != nil || j.State != "running" {
		t.Errorf("BulkResend = %+v, %v", j, err)
	}
	if j, err := c.CancelResend(ctx, job.ID, client.Because{}); err != nil || j.State != "cancelled" {
		t.Errorf("CancelResend = %+v, %v", j, err)
	}
	if all, err := c.BulkResends(ctx); err != nil || len(all) != 1 {
		t.Errorf("BulkResends = %+v, %v", all, err)
	}
}

func check(t *testing.T, m *made, err error, want string) {
	t.Helper()
	if got := m.fake.called(); err != nil || got != want {
		t.Errorf("%v, called %s; want %s", err, got, want)
	}
}

func TestClientGoesThroughPages(t *testing.T) {
	m := make1(t, Options{})
	c := dial(t, m, "")
	for range 450 {
		m.fake.Add(t.Context(), bareTask())
	}
	seen := map[string]bool{}
	for task, err := range c.Tasks(t.Context(), client.Filter{Queue: "q", State: "pending", CreatedFrom: client.At(t0)}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[task.ID] = true
	}
	if len(seen) != 450 {
		t.Errorf("%d tasks; want 450", len(seen))
	}
	for i := range 401 {
		at := t0.Add(time.Duration(i) * time.Second)
		if err := m.fake.Commit(t.Context(), &store.Batch{Audits: []store.Audit{{At: at, Who: "w", Action: "cancel"}}}); err != nil {
			t.Fatal(err)
		}
	}
	last, n := time.Time{}, 0
	for a, err := range c.Audits(t.Context(), client.AuditFilter{}) {
		if err != nil || n > 0 && !a.At.Before(last) {
			t.Fatalf("record %d at %v after %v: %v", n, a.At, last, err)
		}
		last = a.At.Time
		n++
	}
	if n != 401 {
		t.Errorf("%d records; want 401", n)
	}
	for _, err := range c.Tasks(t.Context(), client.Filter{State: "lost"}) {
		if client.StatusOf(err) != 422 {
			t.Errorf("error %v; want a 422", err)
		}
	}
}

func TestEvents(t *testing.T) {
	m := make1(t, Options{})
	c := dial(t, m, "")
	a := &bellman.Attempt{Number: 1, Due: t0, Started: t0.Add(time.Millisecond), Result: bellman.Accepted, Status: 200, Response: "line\nline"}
	done := *bareTask()
	done.Status = bellman.Status{State: bellman.Succeeded, Reason: "accepted", Attempts: 1, Updated: t0, Finished: t0}
	go func() {
		<-m.fake.waiting
		ch := m.fake.events[0]
		ch <- engine.Event{Task: &bellman.Task{Queue: "another"}, Added: true}
		ch <- engine.Event{Task: bareTask(), Added: true}
		ch <- engine.Event{Task: &done, Attempt: a}
		close(ch) // as at shutdown
	}()
	var got []string
	for e, err := range c.Events(t.Context(), "q") {
		if err != nil {
			t.Fatal(err)
		}
		s := fmt.Sprintf("%s %s %t", e.Type, e.Task.State, e.Added)
		if e.Attempt != nil {
			s += fmt.Sprintf(" %d %s %q, last %d", e.Attempt.LatenessMS, e.Attempt.Result, e.Attempt.Response, e.Task.Last.Number)
		}
		got = append(got, s)
	}
	want := `[task pending true attempt succeeded false 1 accepted "line\nline", last 1]`
	if fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

// A stream that nothing happens on is kept alive, and ends with its reader.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := make1(t, Options{})
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, "GET", "/v1/events", nil)
		r.Host = "localhost"
		in, out := io.Pipe()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			m.ServeHTTP(&streamed{header: http.Header{}, w: out}, r)
			out.Close()
		}()
		start := time.Now()
		b := make([]byte, 100)
		for i, want := range []string{": connected\n\n", ": alive\n\n", ": alive\n\n"} {
			n, err := in.Read(b)
			if err != nil || string(b[:n]) != want || time.Since(start) != time.Duration(i)*heartbeat {
				t.Errorf("after %v: %q, %v; want %q", time.Since(start), b[:n], err, want)
			}
		}
		leave()
		<-ended
	})
}

func TestTooManyStreams(t *testing.T) {
	m := make1(t, Options{})
	for range maxListeners {
		m.listeners.Enter("", maxListeners, maxOfKey)
	}
	if w := m.do("GET", "/v1/events", ""); w.Code != 429 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// One key cannot take the streams of all.
func TestTooManyStreamsOfOneKey(t *testing.T) {
	m := make1(t, Options{Keys: []access.Key{{Name: "one", Role: access.Read, SHA256: hash("one-key")}, {Name: "other", Role: access.Read, SHA256: hash("other-key")}}})
	for range maxOfKey {
		m.listeners.Enter("one", maxListeners, maxOfKey)
	}
	ctx, leave := context.WithCancel(t.Context())
	leave() // the stream that is let in ends at once
	for key, want := range map[string]int{"one": 429, "other": 200} {
		r := httptest.NewRequestWithContext(ctx, "GET", "/v1/events", nil)
		r.Header.Set("Authorization", "Bearer "+key+"-key")
		w := httptest.NewRecorder()
		m.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("a stream of key %s: %d %s; want %d", key, w.Code, w.Body, want)
		}
	}
}

func TestTooManyBatches(t *testing.T) {
	m := make1(t, Options{})
	m.inBatches.Store(maxInBatches)
	if w := m.do("POST", "/v1/tasks/batch", `{"tasks":[{"queue":"q","url":"http://m/n"}]}`); w.Code != 429 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if m.inBatches.Load() != maxInBatches {
		t.Errorf("%d bytes are held after the refusal", m.inBatches.Load()-maxInBatches)
	}
}

// streamed is a ResponseWriter that can be flushed, for a stream.
type streamed struct {
	header http.Header
	w      io.Writer
}

func (s *streamed) Header() http.Header              { return s.header }
func (s *streamed) WriteHeader(int)                  {}
func (s *streamed) Write(b []byte) (int, error)      { return s.w.Write(b) }
func (s *streamed) Flush()                           {}
func (s *streamed) SetWriteDeadline(time.Time) error { return nil }

func TestRequestIDs(t *testing.T) {
	m := make1(t, Options{})
	for given, kept := range map[string]bool{"abc-123": true, "": false, "a b": false, strings.Repeat("x", 129): false} {
		w := m.do("GET", "/healthz", "", "X-Request-Id: "+given)
		if got := w.Header().Get("X-Request-Id"); got == "" || (got == given) != kept {
			t.Errorf("request id %q becomes %q", given, got)
		}
	}
	m.log.Reset()
	m.do("GET", "/v1/tasks?key=secret", "", "X-Request-Id: abc")
	if log := m.log.String(); !strings.Contains(log, "request=abc") || strings.Contains(log, "secret") {
		t.Errorf("log %s", log)
	}
}
