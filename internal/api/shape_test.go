package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

// scene is a task with two attempts, and everything else there is to show.
func scene(t testing.TB, m *made) (id string) {
	t.Helper()
	task := &bellman.Task{
		ID: bellman.FirstID(t0), Queue: "merchant-notify", Key: "M1001/20261120000001/paid",
		MerchantNo: "M1001", OrderNo: "20261120000001", Event: "payment.succeeded",
		URL: "https://merchant.example/notify", Method: "POST", Header: map[string]string{"Content-Type": "application/json"},
		Body: []byte(`{"order_no":"20261120000001","state":"SUCCESS"}`), Schedule: "0s, 15s*2, 30s", Success: "success_text",
		Timeout: 5 * time.Second, MaxAge: 24 * time.Hour,
		Status: bellman.Status{Version: 1, Began: t0, Due: t0, VisibleAt: t0, Updated: t0},
	}
	commit := func(b store.Batch) {
		if err := m.fake.Commit(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
		for _, c := range b.Changes {
			if c.Err != nil {
				t.Fatal(c.Err)
			}
		}
	}
	commit(store.Batch{Adds: []store.Add{{Task: task}}})
	status := task.Status
	timing := bellman.Timing{DNS: 1200 * time.Microsecond, TLS: 8 * time.Millisecond} // the second finds the connection there
	for i, response := range []string{"busy", "fail"} {
		at := t0.Add(time.Duration(i) * 15 * time.Second)
		status.Attempts, status.Step = int32(i+1), int32(i+1)
		status.Due = at.Add(15 * time.Second)
		status.VisibleAt, status.Updated = status.Due, at.Add(44*time.Millisecond)
		commit(store.Batch{Changes: []store.Change{{ID: task.ID, Version: uint32(i + 1), To: status, Attempt: &bellman.Attempt{
			Number: i + 1, Due: at, Started: at.Add(3 * time.Millisecond), Took: 41 * time.Millisecond,
			Timing: timing, Action: []string{"", "query"}[i], Reading: []string{"", "PENDING"}[i], Result: bellman.Refused, Status: 200, Response: response, Node: "n1",
			Header: []string{"", "Retry-After: 5\nX-Shop: secret\n"}[i],
		}}}})
		timing = bellman.Timing{FirstByte: 32 * time.Millisecond}
	}
	commit(store.Batch{Audits: []store.Audit{
		{At: t0, Who: "ops", Action: "pause", Target: "queue/merchant-notify", Reason: "their maintenance"},
		{At: t0.Add(time.Minute), Who: "ops", Action: "resume", Target: "queue/merchant-notify", From: "198.51.100.7"},
	}})
	m.fake.queues = []figures.Queue{{
		Name: "merchant-notify", Kind: "notify", Schedule: "wechat_notify", Success: "success_text", Timeout: 5 * time.Second,
		Concurrency: 500, Rate: 1000, EndpointConcurrency: 32, EndpointRate: 200,
		Pause: &figures.Pause{At: t0, Who: "ops", Reason: "their maintenance"},
		Depth: store.Depth{Queue: "merchant-notify", Pending: 12, Succeeded: 1000, Failed: 3, Cancelled: 1}, OldestOverdue: t0, Waiting: 4, Held: 1, InFlight: 2,
		LastMinute: figures.Counts{Added: 60, Attempts: map[bellman.Result]int64{bellman.Accepted: 58, bellman.Unreachable: 4}, Succeeded: 58, Failed: 1},
	}, {Name: "default", Kind: "notify", Schedule: "wechat_notify", Success: "success_text", Timeout: 90 * time.Second, MaxAge: 36 * time.Hour, Delay: 30 * time.Minute}}
	m.fake.endpoints = []figures.Endpoint{
		{Endpoint: "https://merchant.example:443", InFlight: 2, Limit: 32, Rate: 12.5, Waiting: 4, Oldest: t0, SuccessRate: 0.9375, Breaker: "half_open", Pause: &figures.Pause{At: t0}},
		{Endpoint: "http://10.1.0.7:8080", Limit: 8, SuccessRate: -1, Breaker: "closed"},
	}
	return task.ID.String()
}

// The golden files in testdata are the JSON of each shape, as docs/reference/api.md describes it.
// To update one, delete it, run the test, and review the change.
func TestShapes(t *testing.T) {
	m := make1(t, Options{Resends: &fakeResends{}, Reconciliations: &fakeReconciliations{}, Nodes: twoNodes, Sources: twoSources, Alarms: twoAlarms{}, Intake: shut})
	id := scene(t, m)
	tests := []struct{ name, method, path, body string }{
		{"task", "GET", "/v1/tasks/" + id, ""},
		{"task_page", "GET", "/v1/tasks?merchant_no=M1001", ""},
		{"resend_task", "POST", "/v1/tasks/" + id + "/resend", `{"mode":"once"}`},
		{"queues", "GET", "/v1/queues", ""},
		{"endpoints", "GET", "/v1/endpoints", ""},
		{"paused_queue", "POST", "/v1/queues/default/pause", `{"reason":"x"}`},
		{"paused_host", "POST", "/v1/endpoints/merchant.example/pause", ""},
		{"nodes", "GET", "/v1/nodes", ""},
		{"sources", "GET", "/v1/sources", ""},
		{"alarms", "GET", "/v1/alarms", ""},
		{"stats", "GET", "/v1/stats?window=5m", ""},
		{"audit", "GET", "/v1/audit?limit=1", ""},
		{"resend", "GET", "/v1/resends/" + resendID.String(), ""},
		{"resend_ended", "POST", "/v1/resends/" + resendID.String() + "/cancel", ""},
		{"resends", "GET", "/v1/resends", ""},
		{"resend_started", "POST", "/v1/resends", `{"filter":{"queue":"q"}}`},
		{"resend_count", "POST", "/v1/resends", `{"filter":{"queue":"q"},"dry_run":true}`},
		{"reconciliation", "POST", "/v1/reconciliations", `{"queue":"orders","date":"2026-11-19"}`},
		{"reconciliations", "GET", "/v1/reconciliations", ""},
		{"differences", "GET", "/v1/reconciliations/" + reconciliationID + "/differences", ""},
		{"backup", "POST", "/v1/backup", `{"dir":"/copies/1"}`},
		{"health", "GET", "/healthz", ""},
		{"problem_400", "POST", "/v1/tasks", `{"queue":`},
		{"problem_404", "GET", "/v1/tasks/01a1fba8-6e50-7001-bce2-95e97a844697", ""},
		{"problem_409", "POST", "/v1/tasks", `{"queue":"merchant-notify","key":"M1001/20261120000001/paid","url":"http://m/n"}`},
		{"problem_422", "POST", "/v1/tasks", `{"queue":"q","schedule":"often","colour":"red"}`},
		{"problem_422_huma", "POST", "/v1/tasks/" + id + "/resend", `{"mode":"often","colour":"red"}`},
	}
	for _, tt := range tests {
		w := m.do(tt.method, tt.path, tt.body)
		got := fmt.Appendf(nil, "%d %s\n", w.Code, w.Header().Get("Content-Type"))
		indented := &bytes.Buffer{}
		if err := json.Indent(indented, w.Body.Bytes(), "", "  "); err != nil {
			t.Errorf("%s: %v: %s", tt.name, err, w.Body)
			continue
		}
		got = append(append(got, bytes.TrimSpace(indented.Bytes())...), '\n')
		file := filepath.Join("testdata", "shape", tt.name+".json")
		want, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
			t.Errorf("%s did not exist; it was written: look whether it is right", file)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s %s is\n%s\nwant as in %s\n%s", tt.method, tt.path, got, file, want)
		}
	}
}

// What a create answers is byte for byte what encoding/json would write.
func TestAppendTask(t *testing.T) {
	m := make1(t, Options{Kinds: func(q string) string { return map[bool]string{true: "order", false: "kind of " + q}[q == "orders"] }})
	last := &bellman.Attempt{Number: 3, Trigger: bellman.BySettle, Action: "query", Reading: "PENDING", Result: bellman.TimedOut, Started: t0, Error: "no answer \"in\" time"}
	for _, task := range []*bellman.Task{
		{},
		{ID: bellman.NewID(), Queue: "q", Key: "a/b", URL: "http://m/n?a=1&b=<2>", Method: "GET", Schedule: "5m*", Repeat: "10m"},
		{ID: bellman.NewID(), MerchantNo: "商户\u2028\x7f\x00\"\\", OrderNo: "\xff", Event: "é", Timeout: time.Minute, MaxAge: 36 * time.Hour,
			Success: "status == 200 && body < \"x\"", Schedule: "0s, 15s*2, 30s", Last: last,
			Status: bellman.Status{State: bellman.Failed, Reason: "max_age", Attempts: 3, Step: 2, Updated: t0, Finished: t0.Add(time.Second)}},
		{Status: bellman.Status{Due: t0.Add(880 * time.Millisecond), Updated: t0.Add(80 * time.Millisecond)}},
		{Queue: "q", OrderingKey: "M1\"/1", Supersedes: true, Origin: &bellman.Origin{CreatedBy: "订单\""}},
		{Queue: "q", OrderingKey: "o"},
		{Queue: "orders", MerchantNo: "M1", OrderNo: "1", Schedule: "3s*20"},
		{Queue: "orders", Schedule: "3s*20", Last: last, Status: bellman.Status{State: bellman.Succeeded, Reason: "closed", Data: life(order.Standing{State: "CLOSED", Late: "PAID"})}},
		{Kind: bellman.KindOrder, Queue: "orders", Schedule: "3s*20", Status: bellman.Status{State: bellman.Succeeded, Reason: "paid",
			Data: []byte(`{"stage":"decided","order_state":"PAID","taken":{"transaction_id":"4200<1>","amount":8888,"currency":"CNY","paid_at":"2026-11-20T15:04:05Z","buyer":"b"}}`)}},
		refundTask(`{"channel_ref_no":"5000<1>","channel_state":"SUCCESS","amount":100,"currency":"CNY","finished_at":"2026-11-20T15:04:02Z","extra":1}`), refundTask(`{"fail_reason":"CLOSED"}`), refundTask(`{}`),
	} {
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(m.Shown(task)); err != nil {
			t.Fatal(err)
		}
		if got := m.appendTask(nil, task); string(got)+"\n" != want.String() {
			t.Errorf("got  %s\nwant %s", got, want.String())
		}
	}
}

// refundTask returns a refund that is decided with what was taken from the channel's answer.
func refundTask(taken string) *bellman.Task {
	return &bellman.Task{Kind: bellman.KindPoll, Queue: "refunds", Body: []byte(`{"ref_no":"R1"}`), Status: bellman.Status{State: bellman.Succeeded, Reason: "done",
		Data: []byte(`{"stage":"decided","poll_state":"DONE","taken":` + taken + `}`)}}
}

// A refund says what the channel said about it, once it is decided.
func TestRefundSaysWhatTheChannelSaid(t *testing.T) {
	m := make1(t, Options{})
	for taken, want := range map[string]*client.AtChannel{
		`{"channel_ref_no":"5000","channel_state":"SUCCESS","amount":100,"currency":"CNY","finished_at":"2026-11-20T15:04:02Z"}`: {RefNo: "5000", State: "SUCCESS",
			Amount: 100, Currency: "CNY", FinishedAt: client.At(time.Date(2026, 11, 20, 15, 4, 2, 0, time.UTC))},
		`{"fail_reason":"NOT_ENOUGH"}`: {FailReason: "NOT_ENOUGH"},
		`{}`:                           nil,
	} {
		if got := m.Shown(refundTask(taken)); !reflect.DeepEqual(got.AtChannel, want) || got.PollState != "DONE" {
			t.Errorf("taken %s: %+v in state %s; want %+v", taken, got.AtChannel, got.PollState, want)
		}
	}
}

func TestEndlessScheduleHasNoMaxAttempts(t *testing.T) {
	m := make1(t, Options{})
	w := m.do("POST", "/v1/tasks", `{"queue":"q","url":"http://m/n","schedule":"0s, 5m*"}`)
	if w.Code != 201 || !strings.Contains(w.Body.String(), `"max_attempts":null,`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestJSONIsSentAsGiven(t *testing.T) {
	m := make1(t, Options{})
	const raw = `{ "b":1.0,  "a":[1e3, "\u00e9"] }`
	for _, tt := range []struct{ headers, name, want string }{
		{"", "Content-Type", "application/json"},
		{`,"headers":{"content-type":"application/vnd.m+json"}`, "content-type", "application/vnd.m+json"},
	} {
		w := m.do("POST", "/v1/tasks", `{"queue":"q","url":"http://m/n","json":`+raw+tt.headers+`}`)
		id, err := bellman.ParseID(strings.TrimPrefix(w.Header().Get("Location"), "/v1/tasks/"))
		if err != nil {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		task, err := m.fake.Task(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if string(task.Body) != raw || len(task.Header) != 1 || task.Header[tt.name] != tt.want {
			t.Errorf("body %s, headers %v", task.Body, task.Header)
		}
	}
}

func TestPaging(t *testing.T) {
	m := make1(t, Options{})
	var want []string
	for i := range 7 {
		added := m.fake.Add(t.Context(), &bellman.Task{Queue: "q", URL: "http://m/n", Key: fmt.Sprint(i)})
		want = append([]string{added[0].ID.String()}, want...)
	}
	var got []string
	for cursor, page := "", 0; page == 0 || cursor != ""; page++ {
		w := m.do("GET", "/v1/tasks?limit=3&cursor="+cursor, "")
		var out struct {
			Tasks      []struct{ ID string }
			NextCursor string `json:"next_cursor"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK || len(out.Tasks) > 3 || page > 5 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		for _, task := range out.Tasks {
			got = append(got, task.ID)
		}
		cursor = out.NextCursor
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v; want %v", got, want)
	}
	var first struct {
		NextCursor string `json:"next_cursor"`
	}
	if err := json.Unmarshal(m.do("GET", "/v1/tasks?limit=3&queue=q", "").Body.Bytes(), &first); err != nil {
		t.Fatal(err)
	}
	for query, status := range map[string]int{"?queue=q": 200, "?queue=q&limit=5": 200, "": 422, "?queue=other": 422, "?queue=q&key=1": 422} {
		path := "/v1/tasks" + query + map[bool]string{true: "?", false: "&"}[query == ""] + "cursor=" + first.NextCursor
		if w := m.do("GET", path, ""); w.Code != status {
			t.Errorf("GET %s with the cursor of queue=q: %d %s; want %d", query, w.Code, w.Body, status)
		}
	}
}

// sparse is a store whose pages are short.
type sparse struct {
	*fake
	reads int
}

func (s *sparse) List(ctx context.Context, f store.Filter, before bellman.ID, limit int) ([]*bellman.Task, bellman.ID, error) {
	s.reads++
	if s.reads%3 != 0 {
		if before.IsZero() {
			before = bellman.NewID()
		}
		return nil, before, nil
	}
	return s.fake.List(ctx, f, before, 1)
}

func TestShortPagesAreJoined(t *testing.T) {
	f := newFake()
	for range 3 {
		f.Add(t.Context(), &bellman.Task{Queue: "q", URL: "http://m/n"})
	}
	a, err := New(Options{Engine: f, Reader: &sparse{fake: f}})
	if err != nil {
		t.Fatal(err)
	}
	m := &made{API: a, fake: f}
	var out struct{ Tasks []any }
	w := m.do("GET", "/v1/tasks?limit=2", "")
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || len(out.Tasks) != 2 {
		t.Errorf("%d tasks; want 2: %s", len(out.Tasks), w.Body)
	}
}
