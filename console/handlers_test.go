package console

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/memory"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// unsteady is what differs from run to run.
var unsteady = regexp.MustCompile(`(name="token" value=")[^"]+|(/assets/)[0-9a-f]+`)

// golden compares a page's main part with the one that is kept.
func golden(t *testing.T, name, page string) {
	t.Helper()
	_, page, _ = strings.Cut(page, `<main id="main">`)
	page, _, _ = strings.Cut(page, `</main>`)
	page = unsteady.ReplaceAllString(page, "${1}${2}X")
	lines := strings.Split(page, "\n")
	kept := lines[:0]
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" {
			kept = append(kept, l)
		}
	}
	page = strings.Join(kept, "\n") + "\n"
	file := filepath.Join("testdata", "golden", name+".html")
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if page == string(want) {
		return
	}
	old := strings.Split(string(want), "\n")
	for i, l := range strings.Split(page, "\n") {
		if i >= len(old) || old[i] != l {
			t.Errorf("%s, line %d:\n%s\nwant:\n%s\n(go test -update ./console writes it anew: look at what changed)", file, i+1, l, append(old, "")[min(i, len(old))])
			return
		}
	}
	t.Errorf("%s is longer than the page", file)
}

// story fills a store with what people look at.
func (s *site) story(t testing.TB) (notice, order *bellman.Task) {
	t.Helper()
	notice = s.fake.add(t, &bellman.Task{
		Queue: "pay", Key: "M1001/A-1/paid", MerchantNo: "M1001", OrderNo: "A-1", Event: "payment.succeeded",
		URL: "https://shop:pw@m.example/notify?token=abc", Header: map[string]string{"Content-Type": "application/json", "Authorization": "Bearer x"},
		Body: []byte(`{"order_no":"A-1","amount":990.10,"secret":"s"}`), Schedule: "0s, 15s*2, 30s", Success: "success_text", Timeout: 5 * time.Second,
		Status: bellman.Status{State: bellman.Succeeded, Reason: "accepted", Step: 1, Finished: t0.Add(15*time.Second + 41*time.Millisecond)},
	}, t0,
		bellman.Attempt{Due: t0, Started: t0.Add(2 * time.Millisecond), Took: 41 * time.Millisecond, Result: bellman.Refused, Status: 200, Response: `<b>busy</b>`, Node: "vm/1"},
		bellman.Attempt{Due: t0.Add(15 * time.Second), Started: t0.Add(15 * time.Second), Took: 41 * time.Millisecond, Result: bellman.Accepted, Status: 200, Response: "success", Node: "vm/1"},
	)
	kept, err := json.Marshal(Order{State: "CLOSED", Vars: map[string]string{"appid": "wx1"}, NotifyJSON: []byte(`{"shop":"tea"}`)})
	if err != nil {
		t.Fatal(err)
	}
	query := bellman.Attempt{Action: "query", Reading: "PENDING", Result: bellman.Accepted, Status: 200, Response: `{"trade_state":"NOTPAY"}`, Took: 20 * time.Millisecond}
	at := func(a bellman.Attempt, s int) bellman.Attempt {
		a.Due = t0.Add(time.Duration(s) * time.Second)
		a.Started = a.Due
		return a
	}
	end := t0.Add(1801 * time.Second)
	order = s.fake.add(t, &bellman.Task{Queue: "orders", Key: "M1001/B-1", MerchantNo: "M1001", OrderNo: "B-1", Event: "order.watch", Body: kept, Schedule: "order_poll",
		Status: bellman.Status{State: bellman.Succeeded, Reason: "closed", Finished: end}}, t0.Add(time.Second),
		at(query, 4), at(query, 7), at(query, 1800),
		at(bellman.Attempt{Action: "close", Reading: "closed", Result: bellman.Accepted, Status: 204, Took: time.Second}, 1800))
	s.fake.add(t, &bellman.Task{Queue: "pay", Key: "orders/M1001/B-1/decided", MerchantNo: "M1001", OrderNo: "B-1", Event: "order.closed", URL: "http://m.example/n", Schedule: "0s, 1s",
		Status: bellman.Status{State: bellman.Succeeded, Reason: "accepted", Finished: end}}, end,
		bellman.Attempt{Due: end, Started: end, Result: bellman.Accepted, Status: 200, Response: "success"})
	return notice, order
}

func TestGolden(t *testing.T) {
	s := open(t)
	notice, order := s.story(t)
	for name, path := range map[string]string{
		"task":    "/tasks/" + notice.ID.String(),
		"query":   "/tasks/" + order.ID.String(),
		"tasks":   "/tasks?merchant_no=M1001&status=200",
		"order":   "/orders?merchant_no=M1001&order_no=B-1",
		"search":  "/search?q=A-1",
		"missing": "/tasks/0192f3a4-5b6c-7d8e-9f01-23456789abcd",
	} {
		got := s.get(t, path, "Accept-Language: en")
		if name == "search" { // one task: it is shown at once
			if want := "/tasks/" + notice.ID.String(); got.Header.Get("Location") != want {
				t.Errorf("GET %s leads to %q; want %q", path, got.Header.Get("Location"), want)
			}
			continue
		}
		golden(t, name, got.body)
		golden(t, name+".zh", s.get(t, path, "Accept-Language: zh-CN").body)
	}
}

func TestSearchShowsWhatATextMayMean(t *testing.T) {
	s := open(t)
	s.fake.add(t, &bellman.Task{Queue: "pay", Key: "X", URL: "http://m.example/"}, t0)
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "X", URL: "http://m.example/"}, t0.Add(time.Second))
	got := s.get(t, "/search?q=X")
	for _, want := range []string{"Tasks with this key", "Tasks of this merchant"} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if got := s.get(t, "/search?q="+strings.Repeat("x", 401)); got.StatusCode != http.StatusOK || !strings.Contains(got.body, "Nothing has this") {
		t.Errorf("a text that is too long: %d", got.StatusCode)
	}
	if got := s.get(t, "/search?q="); got.Header.Get("Location") != "/tasks" {
		t.Errorf("no text leads to %q", got.Header.Get("Location"))
	}
}

func TestHostOf(t *testing.T) {
	for text, want := range map[string]string{
		"m.example": "m.example", "m.example:8443": "m.example:8443", "https://m.example/notify?x=1": "m.example",
		"https://u:p@m.example:8443/": "m.example:8443", "127.0.0.1": "127.0.0.1", "localhost:8080": "localhost:8080", "[::1]:80": "[::1]:80",
		"M1001": "", "20261120000001": "", "M1001/A-1": "", "a b": "", "http://": "",
	} {
		if got := hostOf(text); got != want {
			t.Errorf("hostOf(%q) = %q; want %q", text, got, want)
		}
	}
}

func TestReadWish(t *testing.T) {
	w := readWish(url.Values{"merchant_no": {"M1"}, "state": {"failed"}, "status": {"500"}, "kind": {"notify"}, "from": {"2026-11-20T23:00"}, "to": {"2026-11-21"}, "zone": {"Asia/Shanghai"}})
	if len(w.Wrong) > 0 || w.MerchantNo != "M1" || *w.State != bellman.Failed || w.Status != 500 || !w.Picky() ||
		!w.CreatedFrom.Equal(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)) || !w.CreatedTo.Equal(time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", w)
	}
	again, err := url.Parse(w.Address("/tasks"))
	if err != nil {
		t.Fatal(err)
	}
	if back := readWish(again.Query()); back.Address("/tasks") != w.Address("/tasks") {
		t.Errorf("the address %s is read as %s", w.Address("/tasks"), back.Address("/tasks"))
	}
	for name, value := range map[string]string{"state": "done", "status": "99", "kind": "x", "result": "x", "from": "yesterday", "key": strings.Repeat("x", 401)} {
		w := readWish(url.Values{name: {value}})
		if len(w.Wrong) != 1 || w.Wrong[0] != name || !w.Empty() {
			t.Errorf("%s=%.20s is wrong in %v, and left is %v; want it told, and left out", name, value, w.Wrong, w.values)
		}
	}
	for _, zone := range []string{"Asia/Shangai", strings.Repeat("x", 401)} { // what is meant by a time cannot be known
		w := readWish(url.Values{"zone": {zone}, "from": {"2026-11-20T23:00"}, "to": {"2026-11-21T01:00:00Z"}})
		if !slices.Equal(w.Wrong, []string{"zone", "from"}) || !w.CreatedFrom.IsZero() || w.CreatedTo.IsZero() || w.Get("zone") != "" {
			t.Errorf("the zone %.20q: %+v; want it and the time in it told, and left out", zone, w)
		}
	}
}

// A zone that there is not is told by the list, and refused by all that acts on many.
func TestAnUnknownZone(t *testing.T) {
	s := openWith(t, &fake{Store: memory.New()}, Options{Resends: &manyResends{}})
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", URL: "http://m.example/"}, t0)
	const filter = "?merchant_no=M1&from=2026-11-20T03%3A30&zone=Asia%2FShangai"
	list := s.get(t, "/tasks"+filter).body
	if !strings.Contains(list, "cannot be read: Time zone, Created from") || strings.Contains(list, "/resends/new") {
		t.Errorf("the list does not say that the zone was left out, or offers to resend what was not asked for: %s", list)
	}
	for _, path := range []string{"/tasks.csv", "/resends/new"} {
		if got := s.get(t, path+filter); got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Time zone") {
			t.Errorf("%s: %d; want 422, and which field", path, got.StatusCode)
		}
	}
	got := s.post(t, "/tasks", "/resends", "merchant_no", "M1", "from", "2026-11-20T03:30", "zone", "Asia/Shangai", "mode", "once", "rate", "50", "reason", "test")
	if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Time zone") {
		t.Errorf("the job: %d %s; want 422, and which field", got.StatusCode, got.body)
	}
}

func TestListGoesOn(t *testing.T) {
	s := open(t)
	for i := range 120 {
		state := bellman.Status{State: bellman.Failed}
		s.fake.add(t, &bellman.Task{Queue: "pay", Key: fmt.Sprint(i), MerchantNo: "M1", URL: "http://m.example/", Status: state}, t0.Add(time.Duration(i)*time.Second),
			bellman.Attempt{Started: t0, Result: bellman.ErrorStatus, Status: 500 + i%2})
	}
	seen := map[string]bool{}
	path := "/tasks?merchant_no=M1&status=500"
	link := regexp.MustCompile(`<a href="/tasks/([0-9a-f-]{36})"`)
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`)
	for pages := 1; ; pages++ {
		got := s.get(t, path).body
		for _, m := range link.FindAllStringSubmatch(got, -1) {
			if seen[m[1]] {
				t.Errorf("task %s is on two pages", m[1])
			}
			seen[m[1]] = true
		}
		m := next.FindStringSubmatch(got)
		if m == nil {
			if pages != 2 {
				t.Errorf("%d pages of 60 tasks; want 2", pages)
			}
			break
		}
		path = strings.ReplaceAll(m[1], "&amp;", "&")
	}
	if len(seen) != 60 {
		t.Errorf("%d tasks; want 60", len(seen))
	}
	if got := s.get(t, "/tasks?before=x"); got.StatusCode != http.StatusNotFound {
		t.Errorf("a cursor that is none: %d", got.StatusCode)
	}
}

func TestExport(t *testing.T) {
	s := open(t)
	s.story(t)
	s.fake.add(t, &bellman.Task{Queue: "pay", Key: `=HYPERLINK("http://evil")`, MerchantNo: "茶,\"x\"", OrderNo: "00990.10", URL: "https://u:p@m.example/"}, t0)
	got := s.get(t, "/tasks.csv")
	if got.StatusCode != http.StatusOK || !strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment;") {
		t.Fatalf("%d %v", got.StatusCode, got.Header)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(got.body, "\ufeff"))).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows, %v; want 5", len(rows), err)
	}
	found := false
	for _, r := range rows {
		if r[3] == `'=HYPERLINK("http://evil")` && r[4] == "茶,\"x\"" && r[5] == "00990.10" && r[7] == "https://***@m.example/" {
			found = true
		}
	}
	if !found {
		t.Errorf("the hostile row is not as wanted: %q", rows)
	}
	if got := s.get(t, "/tasks.csv?state=x"); got.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a wrong filter: %d", got.StatusCode)
	}
}

func TestActions(t *testing.T) {
	s := open(t)
	task := s.task(t)
	page := "/tasks/" + task.ID.String()
	for _, tt := range []struct {
		action, reason, when string
		status               int
		called               string
	}{
		{"once", "r", "", 303, `resend ` + task.ID.String() + ` once "" "r"`},
		{"restart", "r", "", 303, `resend ` + task.ID.String() + ` restart "" "r"`},
		{"cancel", " r ", "", 303, `cancel ` + task.ID.String() + ` "" "r"`},
		{"reschedule", "r", "2026-11-20T16:00:00Z", 303, `reschedule ` + task.ID.String() + ` 2026-11-20T16:00:00Z "" "r"`},
		{"reschedule", "r", "2026-11-20 16:00", 303, `reschedule ` + task.ID.String() + ` 2026-11-20T10:30:00Z "" "r"`}, // as the page writes it
		{"reschedule", "r", "2026-11-20 16:00:00", 303, `reschedule ` + task.ID.String() + ` 2026-11-20T10:30:00Z "" "r"`},
		{"reschedule", "r", "2026-11-20 16:00:00 UTC", 303, `reschedule ` + task.ID.String() + ` 2026-11-20T16:00:00Z "" "r"`}, // without the script
		{"reschedule", "r", "soon", 422, ""},
		{"reschedule", "r", "2026-11-31 16:00", 422, ""},
		{"reschedule", "r", "", 422, ""},
		{"once", "", "", 422, ""},
		{"once", strings.Repeat("长", 501), "", 422, ""},
		{"delete", "r", "", 422, ""},
	} {
		got := s.post(t, page, page, "action", tt.action, "reason", tt.reason, "when", tt.when, "zone", "Asia/Kolkata")
		if called := s.fake.called(); got.StatusCode != tt.status || called != tt.called {
			t.Errorf("%s %.10q %q: %d, asked %q; want %d, %q", tt.action, tt.reason, tt.when, got.StatusCode, called, tt.status, tt.called)
		}
	}
	s.fake.fail = coded.Errorf("task.ended", "%w: the task is succeeded already", bellman.ErrConflict)
	if got := s.post(t, page, page, "action", "cancel", "reason", "why not"); got.StatusCode != http.StatusConflict ||
		!strings.Contains(got.body, "The task has ended already.") || !strings.Contains(got.body, `value="why not"`) {
		t.Errorf("what the engine refuses: %d; want 409, why, and the form as it was", got.StatusCode)
	}
	s.fake.fail = fmt.Errorf("secret of the inside")
	if got := s.post(t, page, page, "action", "cancel", "reason", "r"); got.StatusCode != http.StatusInternalServerError || strings.Contains(got.body, "secret of the inside") {
		t.Errorf("an error of the inside: %d, told to the outside", got.StatusCode)
	}
	if !strings.Contains(s.log.String(), "secret of the inside") {
		t.Error("an error of the inside is not in the log")
	}
}

// A task that is not attempted because of a pause says so: its next attempt would look
// forgotten.
func TestPausesAreToldOnTheTask(t *testing.T) {
	s := open(t)
	s.fake.held = map[string]*bellman.Pause{"pay": {At: t0, Who: "ann", Reason: "<the bank rests>"}}
	waits := s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", URL: "https://m.example/n"}, t0)
	over := s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M2", URL: "https://m.example/n", Status: bellman.Status{State: bellman.Succeeded}}, t0,
		bellman.Attempt{Started: t0, Result: bellman.Accepted, Status: 200})
	other := s.fake.add(t, &bellman.Task{Queue: "other", MerchantNo: "M1", URL: "https://m.example/n"}, t0)
	for task, want := range map[*bellman.Task]bool{waits: true, over: false, other: false} {
		page := s.get(t, "/tasks/"+task.ID.String()).body
		if got := strings.Contains(page, `href="/queues?name=pay">queue/pay</a> · ann · &lt;the bank rests&gt;`); got != want {
			t.Errorf("the page of a task of %s, %s: told of the pause is %t, want %t", task.Queue, task.State, got, want)
		}
	}
}

func TestByHandIsFound(t *testing.T) {
	s := open(t)
	task := s.task(t)
	later := task.Status
	later.Due, later.Updated = t0.Add(time.Hour), t0.Add(time.Minute)
	b := bellman.Batch{
		Changes: []bellman.Change{{ID: task.ID, Version: 1, To: later, Audit: &bellman.Audit{At: t0.Add(time.Minute), Who: "ops", Action: "reschedule", Target: task.ID.String(), Reason: "<later>", From: "198.51.100.7"}}},
		Audits:  []bellman.Audit{{At: t0.Add(30 * time.Second), Action: "pause", Target: "queue/pay", Reason: "<b> (resend/" + task.ID.String() + ")"}, {At: t0.Add(-time.Second), Action: "cancel", Target: task.ID.String()}},
	}
	if err := s.fake.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	got := s.get(t, "/tasks/"+task.ID.String()).body
	if !strings.Contains(got, "&lt;later&gt;") || strings.Contains(got, ">cancelled<") {
		t.Error("what was done by hand is not found, or what was done before the task was there is")
	}
	all := s.get(t, "/audit").body
	if strings.Count(all, "<tr>") != 1+3 {
		t.Errorf("the audit has %d rows; want 3", strings.Count(all, "<tr>")-1)
	}
	if want := `&lt;b&gt; · <a href="/resends/` + task.ID.String() + `">Bulk resend</a>`; !strings.Contains(all, want) {
		t.Errorf("the audit does not link the bulk resend of a reason: want %s", want)
	}
	if !strings.Contains(got, ">198.51.100.7<") || !strings.Contains(all, ">198.51.100.7<") {
		t.Error("it is not said where what was done by hand came from")
	}
	for filter, want := range map[string]int{"198.51.100.7": 1, "198.51.100": 0} {
		if one := s.get(t, "/audit?from="+filter).body; strings.Count(one, `>198.51.100.7</td>`) != want {
			t.Errorf("from=%s: %d rows; want %d", filter, strings.Count(one, `>198.51.100.7</td>`), want)
		}
	}
	if one := s.get(t, "/audit?action=pause").body; strings.Count(one, "<tr>") != 1+1 || !strings.Contains(one, `href="/queues?name=pay"`) {
		t.Error("a filter of the audit does not do")
	}
}

func TestAuditGoesOn(t *testing.T) {
	s := open(t)
	var b bellman.Batch
	for i := range 250 { // three of each millisecond, which are not torn apart
		b.Audits = append(b.Audits, bellman.Audit{At: t0.Add(time.Duration(i/3) * time.Millisecond), Action: "pause", Target: "queue/" + fmt.Sprint(i)})
	}
	if err := s.fake.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	path := "/audit"
	for path != "" {
		got := s.get(t, path).body
		for _, m := range regexp.MustCompile(`href="/queues\?name=(\d+)"`).FindAllStringSubmatch(got, -1) {
			if seen[m[1]] {
				t.Fatalf("record %s is on two pages", m[1])
			}
			seen[m[1]] = true
		}
		path = ""
		if m := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(got); m != nil {
			path = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if len(seen) != 250 {
		t.Errorf("%d records; want 250", len(seen))
	}
}

func TestOverviewSaysNoDataWhereThereIsNone(t *testing.T) {
	s := open(t)
	got := s.get(t, "/").body
	if !strings.Contains(got, `Lateness, 5 min</dt><dd><span class="none">no data`) {
		t.Error("without an attempt the lateness is not said to be no data")
	}
	if !strings.Contains(got, "Nothing: no breaker is open") {
		t.Error("without trouble the page does not say so")
	}
}

// Where nodes did not answer, the pages with figures say which.
func TestFiguresThatAreNotWhole(t *testing.T) {
	s := open(t)
	s.fake.queues = []bellman.QueueInfo{{Name: "pay", Kind: "notify"}}
	s.fake.silent = []string{"vm/2", "<vm>/3"}
	for _, path := range []string{"/", "/endpoints", "/queues"} {
		if got := s.get(t, path).body; !strings.Contains(got, "These figures are not whole. No answer from: vm/2, &lt;vm&gt;/3") {
			t.Errorf("%s does not say whose figures are missing", path)
		}
	}
	s = open(t)
	if got := s.get(t, "/").body; strings.Contains(got, "not whole") || !strings.Contains(got, `no data</p>`) {
		t.Error("without figures of any time the page does not say that there is no data")
	}
}

func TestOverviewSaysWhatNeedsAPerson(t *testing.T) {
	s := open(t)
	s.fake.endpoints = []bellman.EndpointInfo{
		{Endpoint: "https://down.example:443", Breaker: "open", Waiting: 7, SuccessRate: 0},
		{Endpoint: "https://fine.example:443", Breaker: "closed", SuccessRate: 1},
	}
	s.fake.unowned = []bellman.Lease{{Shard: 3}}
	unknown, err := json.Marshal(Order{State: "UNKNOWN"})
	if err != nil {
		t.Fatal(err)
	}
	s.fake.add(t, &bellman.Task{Queue: "orders", Key: "u", MerchantNo: "M1", OrderNo: "lost", Body: unknown, Status: bellman.Status{State: bellman.Failed, Finished: time.Now()}}, time.Now(), bellman.Attempt{Started: time.Now()})
	found, err := json.Marshal(Order{State: "UNKNOWN", Late: "PAID"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range troubleTasks + 1 {
		s.fake.add(t, &bellman.Task{Queue: "orders", Key: fmt.Sprint("found", i), MerchantNo: "M1", OrderNo: fmt.Sprint("found-paid-", i), Body: found, Status: bellman.Status{State: bellman.Failed, Finished: time.Now()}}, time.Now(), bellman.Attempt{Started: time.Now()})
	}
	s.fake.add(t, &bellman.Task{Queue: "pay", Key: "f", OrderNo: "failed-now", URL: "http://m.example/", Status: bellman.Status{State: bellman.Failed, Finished: time.Now()}}, time.Now(), bellman.Attempt{Started: time.Now()})
	s.fake.add(t, &bellman.Task{Queue: "pay", Key: "g", OrderNo: "failed-long-ago", URL: "http://m.example/", Status: bellman.Status{State: bellman.Failed, Finished: t0}}, t0, bellman.Attempt{Started: t0})
	got := s.get(t, "/").body
	for _, want := range []string{"down.example", "lost", "failed-now", "1 shards have no node"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, not := range []string{"fine.example", "failed-long-ago", "Nothing: no breaker", "found-paid"} {
		if strings.Contains(got, not) {
			t.Errorf("the page says %q", not)
		}
	}
}

// An order that was given up is of nobody's concern any more when its payment was found.
func TestALatePaymentSettlesAnOrderThatWasGivenUp(t *testing.T) {
	s := open(t)
	for late, want := range map[string]string{"": "somebody has to look at it", "PAID": "a payment was found later"} {
		kept, err := json.Marshal(Order{State: "UNKNOWN", Late: late})
		if err != nil {
			t.Fatal(err)
		}
		no := "given-up" + late
		s.fake.add(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: no, Body: kept, Status: bellman.Status{State: bellman.Failed, Finished: t0}}, t0, bellman.Attempt{Started: t0})
		if got := s.get(t, orderAddress("M1", no), "Accept-Language: en").body; !strings.Contains(got, want) || late != "" && strings.Contains(got, "somebody has to look") {
			t.Errorf("the page of one with the late payment %q does not say %q, or says more", late, want)
		}
	}
}

func TestTheOverviewLeavesOutAnOrderFoundPaid(t *testing.T) {
	s := open(t)
	found, err := json.Marshal(Order{State: "UNKNOWN", Late: "PAID"})
	if err != nil {
		t.Fatal(err)
	}
	s.fake.add(t, &bellman.Task{Queue: "orders", Key: "u", MerchantNo: "M1", OrderNo: "found", Body: found, Status: bellman.Status{State: bellman.Failed, Finished: time.Now()}}, time.Now(), bellman.Attempt{Started: time.Now()})
	if got := s.get(t, "/").body; strings.Contains(got, "found") || !strings.Contains(got, "Nothing: no breaker") {
		t.Errorf("the overview lists it: %s", got)
	}
}

// listed are alarms as they are given.
type listed []bellman.Alarm

func (l listed) List(context.Context) ([]bellman.Alarm, error) { return l, nil }

func TestOverviewSaysWhatIsRaised(t *testing.T) {
	s := open(t)
	s.alarms = listed{
		{Name: "late-payments", When: "overdue", Queue: "pay", Since: t0, Untold: "there is no queue ops"},
		{Name: "calm-again", When: "overdue", Since: t0, Until: t0.Add(time.Minute)},
	}
	got := s.get(t, "/").body
	for _, want := range []string{"late-payments", "not told: there is no queue ops"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, not := range []string{"calm-again", "Nothing: no breaker"} {
		if strings.Contains(got, not) {
			t.Errorf("the page says %q", not)
		}
	}
}

func TestPausing(t *testing.T) {
	s := open(t)
	s.fake.queues = []bellman.QueueInfo{{Name: "pay", Kind: "notify"}}
	if got := s.post(t, "/queues", "/queues", "name", "pay", "action", "pause", "reason", "why"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("pause: %d", got.StatusCode)
	}
	if got := s.post(t, "/queues", "/queues", "name", "pay", "action", "pause"); got.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("pause without a reason: %d", got.StatusCode)
	}
	name := "https://m.example:443"
	if got := s.post(t, "/endpoints?name="+url.QueryEscape(name), "/endpoints", "name", name, "action", "resume", "reason", "why"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("resume: %d", got.StatusCode)
	}
	if got, want := strings.ReplaceAll(s.fake.called(), "figures; ", ""), `pause queue pay "" "why"; resume endpoint https://m.example:443 "" "why"`; got != want {
		t.Errorf("the engine was asked %s; want %s", got, want)
	}
}

func TestLiveTellsOfChangesAndEndsWithTheSession(t *testing.T) {
	s := open(t, testKeys...)
	task := s.task(t)
	s.signIn(t, "reader")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/tasks/"+task.ID.String()+"/live?version=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	next := func(want string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == want {
				return
			}
		}
		t.Fatalf("the stream ended without %q: %v", want, lines.Err())
	}
	to := task.Status
	to.Updated = t0.Add(time.Second)
	b := bellman.Batch{Changes: []bellman.Change{{ID: task.ID, Version: 1, To: to}}}
	if err := s.fake.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	next("event: changed")
	if got := s.post(t, "/tasks", "/signout"); got.StatusCode != http.StatusSeeOther {
		t.Fatalf("signing out: %d", got.StatusCode)
	}
	next("event: over")
}

// The page of the orders has the newest, each with the way to its page.
func TestTheNewestOrders(t *testing.T) {
	s := open(t)
	if got := s.get(t, "/orders").body; !strings.Contains(got, "There are no orders among the newest tasks.") {
		t.Error("without orders the page does not say so")
	}
	s.story(t)
	watch, err := json.Marshal(Order{State: "CLOSED", Watch: true})
	if err != nil {
		t.Fatal(err)
	}
	s.fake.add(t, &bellman.Task{Queue: "orders", Key: "w", MerchantNo: "M1001", OrderNo: "B-1", Body: watch}, t0.Add(time.Hour))
	got := s.get(t, "/orders").body
	if n := strings.Count(got, `href="/orders?merchant_no=M1001&amp;order_no=B-1"`); n != 1 || strings.Contains(got, "A-1") {
		t.Errorf("the order is listed %d times, or a notice is; want it once, and no notice", n)
	}
}

// While nothing is taken in, the first page and that of the queues say so, and why.
func TestIntakeIsSeen(t *testing.T) {
	s := open(t)
	s.fake.queues = []bellman.QueueInfo{{Name: "pay", Kind: "notify"}}
	s.intake = func() bellman.Intake {
		return bellman.Intake{Waiting: 200_001, High: 200_000, Low: 150_000, Heap: 900 << 20, HeapHigh: 800 << 20}
	}
	s.sources = func() []bellman.SourceInfo {
		return []bellman.SourceInfo{
			{Name: "main/order.paid", Into: "pay", State: "paused", Since: t0, Why: "overloaded: 200001 tasks wait", Stored: 7, Dead: 1},
			{Name: "main/order.closed", Into: "pay", State: "consuming", Since: t0},
		}
	}
	s.fake.gauges.Refusing = 1
	for path, wants := range map[string][]string{
		"/":       {"Nothing is taken in", "answer creates with 429, and whose sources wait: 1", "200,001 wait; it stops above 200,000, and goes on below 150,000 · heap 900 of 800 MiB", "main/order.paid", "overloaded: 200001 tasks wait"},
		"/queues": {"Nothing is taken in", "200,001 wait; it stops above 200,000", "main/order.paid", "overloaded: 200001 tasks wait", "main/order.closed", "Consuming"},
	} {
		got := s.get(t, path).body
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not say %q", path, want)
			}
		}
		if strings.Contains(got, "Nothing: no breaker") || path == "/" && strings.Contains(got, "main/order.closed") {
			t.Errorf("%s says that nothing needs anybody, or names a source that is well", path)
		}
	}
	s = open(t)
	s.fake.gauges.Refusing = 2 // others, of which this node knows no more
	if got := s.get(t, "/").body; !strings.Contains(got, "whose sources wait: 2") || strings.Contains(got, "Nothing: no breaker") {
		t.Error("the overview does not say that other nodes take nothing in")
	}
	s = open(t)
	s.fake.queues = []bellman.QueueInfo{{Name: "pay", Kind: "notify"}}
	s.intake = func() bellman.Intake { return bellman.Intake{Open: true, Waiting: 3, High: 10, Low: 5} }
	if got := s.get(t, "/").body; strings.Contains(got, "taken in") || !strings.Contains(got, "Nothing: no breaker") {
		t.Error("the overview speaks of flow control while tasks are taken in")
	}
	if got := s.get(t, "/queues").body; !strings.Contains(got, "Tasks are taken in") || strings.Contains(got, "MiB") {
		t.Error("the page of the queues does not say that tasks are taken in")
	}
}
