package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/bellmanhq/bellman"
)

// The answer to every error of the engine, for a create and for another operation.
func TestErrorsOfTheEngine(t *testing.T) {
	invalid := &bellman.Invalid{}
	invalid.Add("schedule", "is wrong")
	tests := []struct {
		err    error
		status int
		retry  bool
		logged bool
	}{
		{bellman.ErrOverloaded, 429, true, false},
		{bellman.ErrFull, 503, true, false},
		{bellman.ErrUnknown, 503, true, false},
		{fmt.Errorf("%w: dial tcp", bellman.ErrUnreachable), 503, true, false},
		{bellman.ErrLocked, 503, true, false},
		{bellman.ErrClosed, 503, true, false},
		{bellman.ErrFenced, 503, true, false},
		{context.DeadlineExceeded, 503, true, false},
		{bellman.ErrConflict, 409, false, false},
		{bellman.ErrKeyTaken, 409, false, false},
		{bellman.ErrAliasTaken, 409, false, false},
		{bellman.ErrNotFound, 404, false, false},
		{invalid, 422, false, false},
		{errors.New("disk on fire at /secret/path"), 500, false, true},
	}
	m := make1(t, Options{})
	id := m.fake.Add(t.Context(), &bellman.Task{Queue: "q", URL: "http://m/n"})[0].ID.String()
	for _, tt := range tests {
		m.fake.fail = fmt.Errorf("wrapped: %w", tt.err)
		for _, call := range [][3]string{
			{"POST", "/v1/tasks", `{"queue":"q","url":"http://m/n"}`},
			{"POST", "/v1/tasks/" + id + "/cancel", ""},
			{"GET", "/v1/queues", ""},
			{"POST", "/v1/tasks/batch", `{"tasks":[{"queue":"q","url":"http://m/n"},{"queue":"q","url":"http://m/n"}]}`},
		} {
			if call[1] == "/v1/tasks/batch" && tt.status < 429 {
				continue // each task has a result of its own
			}
			m.log.Reset()
			w := m.do(call[0], call[1], call[2])
			if w.Code != tt.status || (w.Header().Get("Retry-After") != "") != tt.retry {
				t.Errorf("%v: %s %s: %d, Retry-After %q; want %d, %t", tt.err, call[0], call[1], w.Code, w.Header().Get("Retry-After"), tt.status, tt.retry)
			}
			problemOf(t, w)
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the answer tells about the inside: %s", w.Body)
			}
			if logged := strings.Contains(m.log.String(), "level=ERROR"); logged != tt.logged {
				t.Errorf("%v: %s %s: logged: %t; want %t", tt.err, call[0], call[1], logged, tt.logged)
			}
		}
	}
	m.fake.fail = bellman.ErrClosed
	if w := m.do("GET", "/readyz", ""); w.Code != 503 || !strings.Contains(w.Body.String(), "not ready: closed") {
		t.Errorf("readyz: %d %s; want 503 that says why", w.Code, w.Body)
	}
	m.fake.fail = fmt.Errorf("commit: %w", bellman.ErrFull)
	if w := m.do("GET", "/readyz", ""); w.Code != 200 || w.Body.String() != "{\"status\":\"full\"}\n" {
		t.Errorf("readyz of a store that is full: %d %s; want 200", w.Code, w.Body)
	}
	if w := m.do("GET", "/healthz", ""); w.Code != 200 {
		t.Errorf("healthz: %d; want 200", w.Code)
	}
}

// A channel order number that another order of its account has is refused, with that order's name.
func TestAliasTaken(t *testing.T) {
	m := make1(t, Options{})
	m.fake.alias = func(task *bellman.Task) string { return "account/" + task.Event }
	first := &bellman.Task{Queue: "q", Key: "k", MerchantNo: "M1", OrderNo: "O1", Event: "1", URL: "http://m/n"}
	plain := &bellman.Task{Queue: "q", Event: "2", URL: "http://m/n"}
	m.fake.Add(t.Context(), first, plain)
	for event, want := range map[string]string{"1": "by order M1/O1", "2": "by task " + plain.ID.String()} {
		body := `{"queue":"q","key":"` + event + `","event":"` + event + `","url":"http://m/n"}`
		w := m.do("POST", "/v1/tasks", body)
		if _, at := problemOf(t, w); w.Code != 409 || !slices.Equal(at, []string{"body.channel_order_no"}) ||
			!strings.Contains(w.Body.String(), "the number is already used in this account "+want) || !strings.Contains(w.Body.String(), `"instance":"/v1/tasks/`) {
			t.Errorf("a taken number: %d %s; want 409 with %q", w.Code, w.Body, want)
		}
		w = m.do("POST", "/v1/tasks/batch", `{"tasks":[`+body+`,{"queue":"q","event":"b`+event+`","url":"http://m/n"},`+body+`]}`)
		if text := w.Body.String(); w.Code != 200 || strings.Count(text, `"status":201`) != 1 || strings.Count(text, want) != 2 ||
			!strings.Contains(text, "body.tasks[2].channel_order_no") {
			t.Errorf("a batch with a taken number: %d %s; want two refused with %q", w.Code, text, want)
		}
		w = m.do("POST", "/v1/tasks/batch", `{"tasks":[`+body+`]}`)
		if text := w.Body.String(); w.Code != 200 || !strings.Contains(text, `"status":409`) || !strings.Contains(text, want) {
			t.Errorf("a batch of a taken number alone: %d %s; want a result for the task", w.Code, text)
		}
	}
}

// What the caller of an order or refund did not write is not named: the number at the channel is
// order_no or ref_no then.
func TestAliasTakenNamesWhatWasWritten(t *testing.T) {
	kind := "order"
	m := make1(t, Options{Kinds: func(string) string { return kind }})
	m.fake.alias = func(*bellman.Task) string { return "account/1" }
	m.fake.Add(t.Context(), &bellman.Task{Queue: "orders", Key: "k", MerchantNo: "M1", OrderNo: "O1"})
	for _, tt := range []struct{ kind, fields, want string }{
		{"order", ``, "body.order_no"},
		{"order", `,"channel_order_no":"O1"`, "body.channel_order_no"},
		{"poll", `,"ref_no":"R1"`, "body.ref_no"},
	} {
		kind = tt.kind
		w := m.do("POST", "/v1/tasks", `{"queue":"orders","merchant_no":"M2","order_no":"O1"`+tt.fields+`}`)
		if _, at := problemOf(t, w); w.Code != 409 || !slices.Equal(at, []string{tt.want}) || !strings.Contains(w.Body.String(), "by order M1/O1") {
			t.Errorf("%s%s: %d %s; want 409 that names %s", tt.kind, tt.fields, w.Code, w.Body, tt.want)
		}
	}
}

// An order that is there with another price is refused by its number: its caller wrote no key.
func TestKeyTakenNamesWhatWasWritten(t *testing.T) {
	kind := "order"
	m := make1(t, Options{Kinds: func(string) string { return kind }})
	for _, tt := range []struct {
		kind, fields string
		want         []string
		advice       bool
	}{
		{"order", `"order_no":"O1"`, []string{"body.order_no"}, false},
		{"order", `"order_no":"O2","key":"k"`, nil, true},
		{"poll", `"order_no":"O1","ref_no":"R1","key":"M1/O1/R1"`, []string{"body.ref_no"}, false},
		{"poll", `"order_no":"O1","ref_no":"R2","key":"k2"`, nil, true},
	} {
		kind = tt.kind
		body := func(more string) string {
			return `{"queue":"orders","merchant_no":"M1",` + tt.fields + `,"vars":{"x":"` + more + `"}}`
		}
		if w := m.do("POST", "/v1/tasks", body("1")); w.Code != 201 {
			t.Fatalf("%s %s: %d %s", tt.kind, tt.fields, w.Code, w.Body)
		}
		w := m.do("POST", "/v1/tasks", body("2"))
		_, at := problemOf(t, w)
		if w.Code != 409 || !slices.Equal(at, tt.want) || strings.Contains(w.Body.String(), "give another key") != tt.advice || !strings.Contains(w.Body.String(), `"instance":"/v1/tasks/`) {
			t.Errorf("%s %s: %d %s; want 409 that names %v", tt.kind, tt.fields, w.Code, w.Body, tt.want)
		}
	}
}

func TestPanicIsAnswered(t *testing.T) {
	m := make1(t, Options{})
	m.fake.panics = true
	w := m.do("POST", "/v1/tasks?", `{"queue":"q","url":"http://m/n?token=secret"}`)
	if w.Code != 500 || !strings.Contains(m.log.String(), "told to") || strings.Contains(m.log.String(), "token=") {
		t.Errorf("%d, log %s", w.Code, m.log)
	}
	problemOf(t, w)
}

// wrongs are requests that nothing good can come of, beyond those in creates.
var wrongs = []struct {
	method, path, body string
	status             int
	wrong              []string
}{
	{"GET", "/", "", 404, nil},
	{"GET", "/v1", "", 404, nil},
	{"GET", "/v1/", "", 404, nil},
	{"GET", "/v1/task", "", 404, nil},
	{"GET", "//v1/tasks", "", 404, nil},
	{"GET", "/v1/tasks/", "", 404, nil},
	{"GET", "/v1/../v1/tasks", "", 404, nil},
	{"GET", "/v1/orders/M1/O1", "", 404, nil},
	{"GET", "/v1/orders/M1/O1?settle=3s", "", 404, nil},
	{"GET", "/v1/orders/M1/O1?settle=3", "", 422, []string{"query.settle"}},
	{"GET", "/v1/orders/M1/O1?settle=0s", "", 422, []string{"query.settle"}},
	{"GET", "/v1/orders/M1/O1?settle=61s&wait=1s", "", 422, []string{"query.wait"}},
	{"GET", "/v1/orders/M1/O1?settle=61s", "", 422, []string{"query.settle"}},
	{"GET", "/v1/orders/M1", "", 404, nil},
	{"GET", "/v1/orders/M1/O1/2", "", 404, nil},
	{"GET", "/v1/orders//O1", "", 404, nil},
	{"GET", "/v1/orders/M1/" + strings.Repeat("n", 129), "", 422, []string{"path.order_no"}},
	{"PUT", "/v1/orders/M1/O1", "", 405, nil},
	{"GET", "/v1/orders/settle", "", 405, nil},
	{"POST", "/v1/orders/M1/O1/complete", "", 400, nil},
	{"POST", "/v1/orders/M1/O1/complete", `{}`, 422, []string{"body.outcome"}},
	{"POST", "/v1/orders/M1/O1/complete", `{"outcome":1}`, 422, []string{"body.outcome"}},
	{"POST", "/v1/orders/M1/O1/complete", `{"outcome":"PAID","state":"PAID"}`, 422, []string{"body.state"}},
	{"POST", "/v1/orders/M1/O1/complete", `{"outcome":"PAID"}`, 404, nil},
	{"POST", "/v1/orders/M1/O1/cancel", "", 404, nil},
	{"POST", "/v1/orders/M1/O1/cancel", `{"reason":1}`, 422, []string{"body.reason"}},
	{"POST", "/v1/orders/M1/O1/reverse", "", 404, nil},
	{"POST", "/v1/orders/settle", "", 400, nil},
	{"POST", "/v1/orders/settle", `[]`, 422, []string{"body"}},
	{"POST", "/v1/orders/settle", `{}`, 422, []string{"body.orders"}},
	{"POST", "/v1/orders/settle", `{"orders":[]}`, 422, []string{"body.orders"}},
	{"POST", "/v1/orders/settle", `{"orders":null}`, 422, []string{"body.orders"}},
	{"POST", "/v1/orders/settle", `{"orders":{}}`, 422, []string{"body.orders"}},
	{"POST", "/v1/orders/settle", `{"orders":["M1/O1"]}`, 422, []string{"body.orders[0]"}},
	{"POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1"}]}`, 422, []string{"body.orders[0].order_no"}},
	{"POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":""}]}`, 422, []string{"body.orders[0].order_no"}},
	{"POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":1}]}`, 422, []string{"body.orders[0].order_no"}},
	{"POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":"1","queue":"q"}]}`, 422, []string{"body.orders[0].queue"}},
	{"POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":"1","order_no":"2"}]}`, 400, nil},
	{"POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":"1"}],"wait":"61s"}`, 422, []string{"body.wait"}},
	{"POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":"1"}],"wait":"0s"}`, 422, []string{"body.wait"}},
	{"POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":"1"}],"wait":10}`, 422, []string{"body.wait"}},
	{"POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":"1"}],"timeout":"1s"}`, 422, []string{"body.timeout"}},
	{"POST", "/v1/orders/settle?wait=1s", `{"orders":[{"merchant_no":"M1","order_no":"1"}]}`, 422, []string{"query.wait"}},
	{"POST", "/v1/orders/settle", `{"orders":[` + strings.Repeat(`{"merchant_no":"M1","order_no":"20261120000001"},`, 10_000) + `{"merchant_no":"M1","order_no":"1"}]}`, 422, []string{"body.orders"}},
	{"POST", "/v1/orders/settle", strings.Repeat(" ", 4<<20+1), 413, nil},
	{"GET", "/docs", "", 404, nil},
	{"GET", "/metrics", "", 404, nil},
	{"GET", "/v1/queues/q/keys/", "", 404, nil},
	{"POST", "/v1/queues/q/keys/k", "", 405, nil},
	{"POST", "/v1/queues/q/keys/k/explode", "", 404, nil},
	{"POST", "/v1/queues/../keys/k/cancel", "", 404, nil},
	{"GET", "/v1/queues/q/keys/none", "", 404, nil},
	{"POST", "/v1/queues/q/keys/none/cancel", "", 404, nil},
	{"GET", "/v1/queues/q/keys/" + strings.Repeat("k", 300), "", 404, nil},
	{"GET", "/v1/queues/q/keys/%00%ff", "", 404, nil},
	{"DELETE", "/v1/tasks", "", 405, nil},
	{"PUT", "/v1/tasks/x", "", 405, nil},
	{"OPTIONS", "/v1/tasks/batch", "", 405, nil},
	{"PATCH", "/v1/queues/q/keys/a/b", "", 405, nil},
	{"GET", "/v1/tasks/x", "", 422, []string{"path.id"}},
	{"GET", "/v1/tasks/01a1fba8-6e50-7001-bce2-95e97a844697", "", 404, nil},
	{"GET", "/v1/tasks/01a1fba8-6e50-7001-bce2-95e97a844697?attempts_after=-1&x=1", "", 422, []string{"query.attempts_after", "query.x"}},
	{"POST", "/v1/tasks?x=1", `{"queue":"q","url":"http://m/n"}`, 422, []string{"query.x"}},
	{"POST", "/v1/tasks/batch?x=1", `{"tasks":[]}`, 422, []string{"query.x"}},
	{"POST", "/v1/tasks", strings.Repeat(" ", 6*256<<10+64<<10) + `{"queue":"q","url":"http://m/n"}`, 413, nil},
	{"POST", "/v1/tasks", `{"queue":"q","url":"http://m/n","body":"` + strings.Repeat("x", 256<<10+1) + `"}`, 413, nil},
	{"POST", "/v1/tasks/batch", strings.Repeat(" ", 16<<20+1), 413, nil},
	{"POST", "/v1/tasks/x/cancel", strings.Repeat(" ", 64<<10+1), 413, nil},
	{"GET", "/v1/tasks?limit=0", "", 422, []string{"query.limit"}},
	{"GET", "/v1/tasks?limit=201", "", 422, []string{"query.limit"}},
	{"GET", "/v1/tasks?limit=ten", "", 422, []string{"query.limit"}},
	{"GET", "/v1/tasks?state=lost&merchant=1&created_from=today", "", 422, []string{"query.created_from", "query.merchant", "query.state"}},
	{"GET", "/v1/tasks?queue=a&queue=b", "", 422, []string{"query.queue"}},
	{"GET", "/v1/tasks?queue=%zz", "", 422, []string{"query"}},
	{"GET", "/v1/tasks?cursor=abc", "", 422, []string{"query.cursor"}},
	{"GET", "/v1/tasks?cursor=!!!!", "", 422, []string{"query.cursor"}},
	{"GET", "/v1/audit?cursor=AAAAAAAAAAA", "", 422, []string{"query.cursor"}},
	{"GET", "/v1/audit?limit=-5", "", 422, []string{"query.limit"}},
	{"GET", "/v1/stats?window=1y", "", 422, []string{"query.window"}},
	{"GET", "/v1/stats?window=0s", "", 422, []string{"query.window"}},
	{"GET", "/v1/events?task=1", "", 422, []string{"query.task"}},
	{"POST", "/v1/tasks/{id}/resend", `{"mode":"twice","who":"me"}`, 422, []string{"body.mode", "body.who"}},
	{"POST", "/v1/tasks/{id}/resend", `{"mode":"once","mode":"restart"}`, 400, nil},
	{"POST", "/v1/tasks/{id}/resend", `{"Mode":"once"}`, 422, []string{"body.Mode"}},
	{"POST", "/v1/tasks/{id}/resend", `null`, 422, []string{"body"}},
	{"POST", "/v1/tasks/{id}/cancel", `{"reason":1}`, 422, []string{"body.reason"}},
	{"POST", "/v1/tasks/{id}/cancel", `{"reason":"` + strings.Repeat("r", 501) + `"}`, 422, []string{"body.reason"}},
	{"POST", "/v1/tasks/{id}/cancel", `{"reason":"x"} x`, 400, nil},
	{"POST", "/v1/tasks/{id}/cancel", "{\"reason\":\"\xff\"}", 400, nil},
	{"POST", "/v1/tasks/{id}/complete", `{"outcome":["PAID"]}`, 422, []string{"body.outcome"}},
	{"POST", "/v1/tasks/{id}/reschedule", ``, 400, nil},
	{"POST", "/v1/tasks/{id}/reschedule", `{}`, 422, []string{"body.due"}},
	{"POST", "/v1/tasks/{id}/reschedule", `{"due":"2027-01-01T00:00:00Z","delay":"1m"}`, 422, []string{"body.due"}},
	{"POST", "/v1/tasks/{id}/reschedule", `{"due":"9999-01-01T00:00:00Z"}`, 422, []string{"body.due"}},
	{"POST", "/v1/tasks/{id}/reschedule", `{"delay":"-1m"}`, 422, []string{"body.delay"}},
	{"POST", "/v1/queues/nothing/pause", "", 404, nil},
	{"POST", "/v1/endpoints/un%20known/pause", "", 422, []string{"path.host"}},
	{"POST", "/v1/endpoints/http:%2F%2Fm%2Fpath/pause", "", 422, []string{"path.host"}},
	{"POST", "/v1/resends", `{"filter":{"colour":"red"},"rate":"fast"}`, 422, []string{"body.filter.colour"}},
	{"POST", "/v1/resends", `{"filter":{"queue":"q"},"rate":"0/s"}`, 422, []string{"body.rate"}},
	{"POST", "/v1/resends", `{"mode":"once"}`, 422, []string{"body.filter"}},
	{"GET", "/v1/resends/x", "", 422, []string{"path.id"}},
	{"POST", "/v1/backup", `{"dir":"copies"}`, 422, []string{"body.dir"}},
	{"POST", "/v1/backup", `{}`, 422, []string{"body.dir"}},
}

// A directory in which the server cannot write is the caller's mistake, and the answer says so.
func TestDirectoriesOfBackups(t *testing.T) {
	m := make1(t, Options{})
	for _, cause := range []error{fs.ErrExist, syscall.ENOENT, syscall.EACCES, syscall.EROFS, fs.ErrInvalid, syscall.ENOSPC} {
		m.fake.fail = fmt.Errorf("back up to /copies/1: %w", &fs.PathError{Op: "mkdir", Path: "/copies/1", Err: cause})
		w := m.do("POST", "/v1/backup", `{"dir":"/copies/1"}`)
		if _, wrong := problemOf(t, w); w.Code != http.StatusUnprocessableEntity || !slices.Equal(wrong, []string{"body.dir"}) {
			t.Errorf("%v: %d, wrong are %q; want 422, body.dir", cause, w.Code, wrong)
		}
	}
}

func TestWrongRequests(t *testing.T) {
	m := make1(t, Options{Resends: &fakeResends{}, Kinds: kinds})
	id := m.fake.Add(t.Context(), &bellman.Task{Queue: "q", URL: "http://m/n", Key: "a/b"})[0].ID.String()
	m.fake.called()
	for _, tt := range wrongs {
		w := m.do(tt.method, strings.ReplaceAll(tt.path, "{id}", id), tt.body)
		if w.Code != tt.status {
			t.Errorf("%s %.80s %.60s: %d %.200s; want %d", tt.method, tt.path, tt.body, w.Code, w.Body, tt.status)
			continue
		}
		_, got := problemOf(t, w)
		if slices.Sort(got); !slices.Equal(got, tt.wrong) {
			t.Errorf("%s %s %s: wrong are %q; want %q: %s", tt.method, tt.path, tt.body, got, tt.wrong, w.Body)
		}
		if allow := w.Header().Get("Allow"); (w.Code == 405) != (allow != "") {
			t.Errorf("%s %s: %d with Allow %q", tt.method, tt.path, w.Code, allow)
		}
		if called := m.fake.called(); called != "" && !strings.Contains(called, "nothing") {
			t.Errorf("%s %s %s reached the engine: %s", tt.method, tt.path, tt.body, called)
		}
	}
	if strings.Contains(m.log.String(), "level=ERROR") {
		t.Errorf("logged errors: %s", m.log)
	}
}

// Each wrong request over a network, a few times: no 500, and no goroutine stays behind. What a
// server keeps in memory of many of them is tested in package server.
func TestWrongRequestsOverANetwork(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	m := make1(t, Options{Resends: &fakeResends{}, Kinds: kinds})
	server := httptest.NewServer(m)
	defer server.Close()
	c := &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer c.CloseIdleConnections()
	type request struct{ method, path, body string }
	var all []request
	for _, tt := range wrongs {
		if len(tt.body) < 1<<20 && !strings.Contains(tt.path, "%zz") {
			all = append(all, request{tt.method, tt.path, tt.body})
		}
	}
	for _, tt := range creates {
		if tt.status >= 400 {
			all = append(all, request{"POST", "/v1/tasks", tt.body}, request{"POST", "/v1/tasks/batch", tt.body})
		}
	}
	for i := range 3 * len(all) {
		q := all[i%len(all)]
		r, err := http.NewRequestWithContext(t.Context(), q.method, server.URL+strings.ReplaceAll(q.path, "{id}", "x"), strings.NewReader(q.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(r)
		if err != nil {
			if len(q.body) > 200<<10 {
				continue // refused before all of it was sent
			}
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode < 400 || resp.StatusCode >= 500 {
			t.Fatalf("%s %s %.80s: %d", q.method, q.path, q.body, resp.StatusCode)
		}
	}
}
