package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// serve starts a server that gives every request the same answer.
func serve(t *testing.T, answer http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c, err := client.New(client.Options{Server: server.URL, Key: "k", HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewRefuses(t *testing.T) {
	for _, server := range []string{"localhost:2355", "ftp://a", "http://", "http://a?x=1", "://", "127.0.0.1:2355"} {
		if _, err := client.New(client.Options{Server: server}); err == nil || !strings.Contains(err.Error(), "want an address such as http://127.0.0.1:2355") {
			t.Errorf("New with server %q: %v; want an error with what would be right", server, err)
		}
	}
	if _, err := client.New(client.Options{}); err != nil {
		t.Errorf("New with default options: %v", err)
	}
}

func TestProblems(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   client.Problem
	}{
		{"problem", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(429)
			w.Write([]byte(`{"title":"Too Many Requests","status":429,"detail":"later"}`))
		}, client.Problem{Status: 429, Title: "Too Many Requests", Detail: "later", RetryAfter: 3 * time.Second}},
		{"proxy", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(502)
			w.Write([]byte("<html>bad gateway</html>\n"))
		}, client.Problem{Status: 502, Title: "Bad Gateway", Detail: "it is a web page: is this the address of a bellman server, and no proxy's?"}},
		{"proxy of plain words", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(503)
			w.Write([]byte("no backend\n"))
		}, client.Problem{Status: 503, Title: "Service Unavailable", Detail: "no backend"}},
		{"redirect", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(304) }, client.Problem{Status: 304, Title: "Not Modified"}},
	}
	for _, tt := range tests {
		c := serve(t, tt.answer)
		_, err := c.Queues(t.Context())
		if p, is := errors.AsType[*client.Problem](err); !is || fmt.Sprintf("%+v", *p) != fmt.Sprintf("%+v", tt.want) {
			t.Errorf("%s: %v; want %+v", tt.name, err, tt.want)
		}
		if client.StatusOf(err) != tt.want.Status {
			t.Errorf("%s: StatusOf = %d; want that of the answer", tt.name, client.StatusOf(err))
		}
		var errs []error
		for _, err := range c.Events(t.Context(), "") {
			errs = append(errs, err)
		}
		if len(errs) != 1 || client.StatusOf(errs[0]) != tt.want.Status {
			t.Errorf("%s: Events gave %v; want one error with status %d", tt.name, errs, tt.want.Status)
		}
	}
}

func TestUnusableAnswers(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"no JSON": func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("hello")) },
		"cut off": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.Write([]byte(`{"queues":[`))
		},
		"another type": func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(`{"queues":5}`)) },
	} {
		c := serve(t, answer)
		if _, err := c.Queues(t.Context()); err == nil || client.StatusOf(err) != 0 {
			t.Errorf("%s: %v; want an error other than a Problem", name, err)
		}
	}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("<!doctype html><title>shop</title>")) })
	if _, err := c.Queues(t.Context()); err == nil || !strings.Contains(err.Error(), "web page") {
		t.Errorf("a web page: %v; want an error that says so", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c = serve(t, func(http.ResponseWriter, *http.Request) {})
	if _, err := c.Queues(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a request with a cancelled context: %v; want context.Canceled", err)
	}
}

func TestRequests(t *testing.T) {
	var got string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Method + " " + r.URL.EscapedPath() + " " + r.Header.Get("Authorization") + " " + r.Header.Get("Content-Type")
		w.Write([]byte("{}"))
	})
	for ref, want := range map[client.Ref]string{
		client.ByID("1"):             "/v1/tasks/1/cancel",
		client.ByKey("q", "a/b"):     "/v1/queues/q/keys/a%2Fb/cancel",
		client.ByKey("a/b", ".."):    "/v1/queues/a%2Fb/keys/%2E%2E/cancel",
		client.ByKey("支", "a b?c#d"): "/v1/queues/%E6%94%AF/keys/a%20b%3Fc%23d/cancel",
	} {
		if _, err := c.Cancel(t.Context(), ref, client.Because{}); err != nil {
			t.Fatal(err)
		}
		if want := "POST " + want + " Bearer k application/json"; got != want {
			t.Errorf("sent %s; want %s", got, want)
		}
	}
}

// A redirect that turns a request into a GET is an error, because nothing was created or changed.
// Proxies redirect http to https in this way.
func TestRedirects(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("{}")) }))
	defer target.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL+r.URL.Path, status) })
		_, _, create := c.Create(t.Context(), client.CreateTask{Queue: "q", Key: "k"})
		remove := c.DeleteMerchant(t.Context(), "M1", "")
		_, list := c.Queues(t.Context())
		for name, err := range map[string]error{"Create": create, "DeleteMerchant": remove} {
			if kept := status >= 307; (err == nil) != kept || !kept && (client.StatusOf(err) != status || !strings.Contains(err.Error(), target.URL)) {
				t.Errorf("%d: %s: %v; want a Problem that names %s unless the method is kept: %t", status, name, err, target.URL, kept)
			}
		}
		if list != nil {
			t.Errorf("%d: Queues: %v; want the answer of the other server", status, list)
		}
	}
}

// Attempts are numbered from 1. The server takes 0 for all attempts.
func TestAttemptZero(t *testing.T) {
	for _, log := range []string{"", `{"number":1},{"number":2}`} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"attempt_log":[%s]}`, log) })
		if a, err := c.Attempt(t.Context(), client.ByID("1"), 0); err == nil {
			t.Errorf("attempt 0 of a task with the attempts [%s] is %+v; want an error", log, a)
		}
	}
}

func TestTimes(t *testing.T) {
	at := time.Date(2026, 11, 20, 23, 4, 5, 120_999_999, time.FixedZone("", 8*3600))
	text, err := json.Marshal(client.At(at))
	if err != nil || string(text) != `"2026-11-20T15:04:05.120Z"` {
		t.Errorf("the time as JSON: %s, %v; want UTC in whole milliseconds", text, err)
	}
	var read client.Time
	if err := json.Unmarshal(text, &read); err != nil || read != client.At(at) {
		t.Errorf("the JSON read back: %v, %v; want the same time", read, err)
	}
	for in, want := range map[string]string{
		`null`:                        `null`,
		`"2026-11-20T15:04:05Z"`:      `"2026-11-20T15:04:05.000Z"`,
		`"2026-11-20T15:04:05+08:00"`: `"2026-11-20T07:04:05.000Z"`,
		`"2026-11-20T15:04:05.1239Z"`: `"2026-11-20T15:04:05.123Z"`,
	} {
		var v client.Time
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("%s read and written again: %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{`""`, `"now"`, `5`, `"2026-11-20"`, `"2026-11-20T15:04:05"`} {
		var v client.Time
		if err := json.Unmarshal([]byte(in), &v); err == nil {
			t.Errorf("%s was read as %v; want an error", in, v)
		}
	}
	create, err := json.Marshal(client.CreateTask{Queue: "q"})
	if err != nil || string(create) != `{"queue":"q"}` {
		t.Errorf("CreateTask as JSON: %s, %v; want only the fields that are set", create, err)
	}
}

func ExampleClient_Create() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // stands for bellman serve
		w.WriteHeader(http.StatusCreated)
		w.Write([]byte(`{"queue":"default","key":"M1001/1/paid","state":"pending"}`))
	}))
	defer server.Close()

	c, err := client.New(client.Options{Server: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	task, created, err := c.Create(context.Background(), client.CreateTask{
		Queue: "default",
		Key:   "M1001/1/paid",
		URL:   "https://merchant.example/notify",
		JSON:  json.RawMessage(`{"state":"SUCCESS"}`),
	})
	if err != nil {
		fmt.Println(strings.TrimSpace(err.Error()))
		return
	}
	fmt.Println(task.Key, task.State, created)
	// Output: M1001/1/paid pending true
}

// The json of a task arrives byte for byte as given: its author may have signed it, or may repeat
// the request through another client.
func TestJSONIsSentAsGiven(t *testing.T) {
	type sent struct {
		Queue  string          `json:"queue"`
		JSON   json.RawMessage `json:"json"`
		Tasks  []sent          `json:"tasks"`
		DryRun bool            `json:"dry_run"`
	}
	var got sent
	asked := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		got = sent{}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Errorf("the request is no JSON: %v", err)
		}
		w.Write([]byte("{}"))
	})
	const text = "{\"amount\": 8800,\n\t\"say\": \"<&>\\u4f60\"}"
	task := client.CreateTask{Queue: "q<", JSON: json.RawMessage(text)}
	if _, _, err := c.Create(t.Context(), task); err != nil || got.Queue != "q<" || string(got.JSON) != text {
		t.Errorf("Create sent %s: %v; want %s", got.JSON, err, text)
	}
	tasks := []client.CreateTask{task, {Queue: "q"}, task}
	for _, try := range []bool{false, true} {
		call := c.CreateBatch
		if try {
			call = c.TryBatch
		}
		if _, err := call(t.Context(), tasks); err != nil || len(got.Tasks) != 3 || got.DryRun != try ||
			string(got.Tasks[0].JSON) != text || got.Tasks[1].JSON != nil || string(got.Tasks[2].JSON) != text {
			t.Errorf("a batch, dry %t, sent %+v: %v; want %s twice", try, got, err, text)
		}
	}
	task.JSON = json.RawMessage(`{"amount"}`)
	before := asked
	_, _, err := c.Create(t.Context(), task)
	if _, batched := c.CreateBatch(t.Context(), []client.CreateTask{task}); err == nil || batched == nil || asked != before {
		t.Errorf("json that is none: %v and %v, %d requests; want errors and none", err, batched, asked-before)
	}
}
