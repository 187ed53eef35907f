package server_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/server"
)

// serve runs a server over the store in dir. It returns a client of the server, the server, and a
// function that stops it before the end of the test.
func serve(t *testing.T, dir string, change func(*config.Config)) (*client.Client, *server.Server, func()) {
	t.Helper()
	return serveLogged(t, dir, slog.New(slog.DiscardHandler), change)
}

func serveLogged(t *testing.T, dir string, log *slog.Logger, change func(*config.Config)) (*client.Client, *server.Server, func()) {
	t.Helper()
	return serveWith(t, server.Options{Logger: log}, func(c *config.Config) {
		c.Store = "pebble:" + dir
		if change != nil {
			change(c)
		}
	})
}

// serveWith runs a server that may deliver to 127.0.0.1. Without a configuration it has the default
// one, and without a logger it logs nothing.
func serveWith(t testing.TB, o server.Options, change func(*config.Config)) (*client.Client, *server.Server, func()) {
	t.Helper()
	o.Config = cmp.Or(o.Config, config.Default())
	o.Config.Listen = "127.0.0.1:0"
	o.Config.Egress.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	change(o.Config)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	s, err := server.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	var transport http.Transport
	stop := sync.OnceFunc(func() {
		cancel()
		transport.CloseIdleConnections()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	t.Cleanup(stop)
	api, err := client.New(client.Options{Server: "http://" + s.Addr(), HTTP: &http.Client{Transport: &transport}})
	if err != nil {
		t.Fatal(err)
	}
	return api, s, stop
}

// exchange sends a request to the API and returns its answer. header has names and values in turn.
func exchange(t *testing.T, s *server.Server, method, path, body string, header ...string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	return roundTrip(t, r)
}

// fetch reads what is at an address.
func fetch(t *testing.T, address string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return roundTrip(t, req)
}

// roundTrip sends a request and reads its answer.
func roundTrip(t *testing.T, req *http.Request) (status int, text string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func create(t *testing.T, api *client.Client, in client.CreateTask) *client.Task {
	t.Helper()
	task, _, err := api.Create(t.Context(), in)
	if err != nil {
		t.Fatalf("create %+v: %v", in, err)
	}
	return task
}

// patient is how long a test waits for what must come: long enough for a slow and busy machine.
const patient = 5 * time.Minute

// until asks for a task until it is as wanted.
func until(t *testing.T, api *client.Client, id string, wanted func(*client.TaskDetail) bool) (task *client.TaskDetail) {
	t.Helper()
	if !eventually.Within(eventually.Limit, func() bool {
		var err error
		if task, err = api.Task(t.Context(), client.ByID(id)); err != nil {
			t.Fatal(err)
		}
		return wanted(task)
	}) {
		t.Fatalf("task is still %+v", task)
	}
	return task
}

// hang does not answer until the client goes away. It reads the body first: only then does the
// server notice that.
func hang(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func attempted(n int) func(*client.TaskDetail) bool {
	return func(t *client.TaskDetail) bool { return t.Attempts >= n }
}

// Receivers of every kind: each attempt has the documented result and the documented next due time.
func TestReceivers(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		tls     bool // with a certificate that nobody trusts
		result  string
		status  int
		state   string
		reason  string
	}{
		{name: "success", handler: answer(200, "success"), result: "accepted", status: 200, state: "succeeded", reason: "accepted"},
		{name: "success with white space", handler: answer(200, " success\n"), result: "accepted", status: 200, state: "succeeded", reason: "accepted"},
		{name: "500", handler: answer(500, "success"), result: "error_status", status: 500, state: "pending"},
		{name: "200 fail", handler: answer(200, "fail"), result: "refused", status: 200, state: "pending"},
		{name: "204", handler: answer(204, ""), result: "refused", status: 204, state: "pending"},
		{name: "410 gone", handler: answer(410, "gone"), result: "error_status", status: 410, state: "failed", reason: "gave_up"},
		{name: "hangs", handler: hang, result: "timeout", state: "pending"},
		{name: "resets in the body", handler: func(w http.ResponseWriter, _ *http.Request) {
			conn, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			buf.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsuccess")
			buf.Flush()
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}, result: "unreachable", status: 200, state: "pending"},
		{name: "endless body", handler: func(w http.ResponseWriter, r *http.Request) {
			chunk := []byte(strings.Repeat("success ", 1024))
			for r.Context().Err() == nil {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, result: "refused", status: 200, state: "pending"},
		{name: "redirects to a private address", handler: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
		}, result: "error_status", status: 302, state: "pending"},
		{name: "certificate error", handler: answer(200, "success"), tls: true, result: "unreachable", state: "pending"},
	}
	api, _, stop := serve(t, t.TempDir(), nil)
	defer stop()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			receiver := httptest.NewUnstartedServer(tt.handler)
			receiver.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			if tt.tls {
				receiver.StartTLS()
			} else {
				receiver.Start()
			}
			defer receiver.Close()
			timeout := "30s" // a machine that does much else answers late
			if tt.result == "timeout" {
				timeout = "300ms"
			}
			created := create(t, api, client.CreateTask{Queue: "default", URL: receiver.URL + "/notify?token=secret", JSON: []byte(`{"a":1}`), Timeout: timeout})
			task := until(t, api, created.ID, attempted(1))
			a := task.AttemptLog[0]
			if a.Result != tt.result || a.Status != tt.status || task.State != tt.state || task.Reason != tt.reason {
				t.Errorf("result %s, status %d, state %s, reason %q; want %s, %d, %s, %q (error %q, answer %q)",
					a.Result, a.Status, task.State, task.Reason, tt.result, tt.status, tt.state, tt.reason, a.Error, a.Response)
			}
			if n := len([]rune(a.Response)); n > 600 {
				t.Errorf("%d characters of the answer are kept; want 600 at most", n)
			}
			if strings.Contains(a.Error, "secret") {
				t.Errorf("the error gives the query away: %s", a.Error)
			}
			if task.State == "pending" {
				if gap := task.Due.Sub(a.Started.Time); gap < 15*time.Second || gap > 15*time.Second+2*time.Millisecond {
					t.Errorf("next due %v after the start of the attempt; want 15s, the schedule's first gap", gap)
				}
			}
		})
	}
}

// A forbidden address is refused when it is given, and when a name resolves to it.
func TestEgress(t *testing.T) {
	api, _, stop := serve(t, t.TempDir(), func(c *config.Config) { c.Egress.Allow = nil })
	defer stop()
	for _, url := range []string{"http://127.0.0.1/", "http://10.0.0.1/", "http://169.254.169.254/", "http://[::1]/", "http://[::ffff:10.0.0.1]/", "ftp://example.com/", "http://u:p@example.com/"} {
		_, _, err := api.Create(t.Context(), client.CreateTask{Queue: "default", URL: url})
		if client.StatusOf(err) != http.StatusUnprocessableEntity {
			t.Errorf("create with url %s: %v; want 422", url, err)
		}
	}
}

// A restart changes nothing: a task that was answered with 201 is delivered once, and a key stays
// taken.
func TestRestart(t *testing.T) {
	arrived := make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- r.Header.Get("Bellman-Task")
		io.WriteString(w, "success")
	}))
	defer receiver.Close()
	dir := t.TempDir()
	api, _, stop := serve(t, dir, nil)
	in := client.CreateTask{Queue: "default", Key: "M1/1/paid", URL: receiver.URL, Body: "x", Delay: "1s"}
	first := create(t, api, in)
	stop()
	api, _, stop = serve(t, dir, nil)
	defer stop()
	again, created, err := api.Create(t.Context(), in)
	if err != nil || created || again.ID != first.ID {
		t.Errorf("the same again after a restart: %+v, created %t, %v; want %s, not created", again, created, err, first.ID)
	}
	if got := <-arrived; got != first.ID {
		t.Errorf("arrived: %s; want %s", got, first.ID)
	}
	task := until(t, api, first.ID, func(t *client.TaskDetail) bool { return t.State == "succeeded" })
	if len(task.AttemptLog) != 1 || len(arrived) != 0 {
		t.Errorf("%d attempts, %d more arrivals; want 1, 0", len(task.AttemptLog), len(arrived))
	}
}

// A bulk resend sends again what fits its filter, and nothing else.
func TestBulkResend(t *testing.T) {
	arrived := make(chan string, 1000)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- r.Header.Get("Bellman-Task")
		w.WriteHeader(http.StatusGone)
	}))
	defer receiver.Close()
	api, _, stop := serve(t, t.TempDir(), nil)
	defer stop()
	want := make(map[string]bool)
	for i := range 40 {
		task := create(t, api, client.CreateTask{Queue: "default", MerchantNo: fmt.Sprint("M", i%2), URL: receiver.URL})
		until(t, api, task.ID, attempted(1))
		<-arrived
		if i%2 == 1 {
			want[task.ID] = true
		}
	}
	for last := time.Now(); time.Since(last) < 2*time.Millisecond; { // what is created in the same millisecond as a job is not of it
	}
	bulk := client.BulkResend{Filter: client.Filter{MerchantNo: "M1", State: "failed"}, Mode: "once", Reason: "test", Rate: "1000/s"}
	count, err := api.CountResend(t.Context(), bulk)
	if err != nil || count.Tasks != 20 {
		t.Fatalf("dry run: %+v, %v; want 20 tasks", count, err)
	}
	job, err := api.StartResend(t.Context(), bulk)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		id := <-arrived
		if !want[id] {
			t.Errorf("%s was sent again; want only those of M1, once each", id)
		}
		delete(want, id)
	}
	for job.State != "done" {
		if job, err = api.BulkResend(t.Context(), job.ID); err != nil {
			t.Fatal(err)
		}
	}
	if job.Resent != 20 || job.Failed != 0 {
		t.Errorf("job %+v; want 20 resent", job)
	}
}

// Nothing is left running after a stop, whatever was asked before.
func TestStopLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	hanging := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(hanging)
		hang(w, r)
	}))
	defer receiver.Close()
	api, s, stop := serve(t, t.TempDir(), func(c *config.Config) { c.StopTimeout = 50 * time.Millisecond })
	streamed := make(chan struct{}) // a stream that is open at the stop
	go func() {
		defer close(streamed)
		for range api.Events(t.Context(), "") {
		}
	}()
	task := create(t, api, client.CreateTask{Queue: "default", URL: receiver.URL, Timeout: "5m"})
	<-hanging
	stop()
	<-streamed
	if err := s.Engine().Ready(t.Context()); err == nil {
		t.Errorf("ready after the stop, with task %s cut off", task.ID)
	}
}
