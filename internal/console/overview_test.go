package console

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/attention"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

func TestOverviewSaysNoDataWhereThereIsNone(t *testing.T) {
	s := open(t)
	got := s.get(t, "/").body
	if !strings.Contains(got, `Lateness, 5 min</dt><dd><span class="none">no data`) {
		t.Error("without an attempt the lateness is not said to be no data")
	}
	if !strings.Contains(got, "Nothing needs attention now") {
		t.Error("without trouble the page does not say so")
	}
}

// Where nodes did not answer, the pages with figures say which.
func TestFiguresThatAreNotWhole(t *testing.T) {
	s := open(t)
	s.fake.queues = []figures.Queue{{Name: "pay", Kind: "notify"}}
	s.fake.silent = []string{"vm/2", "<vm>/3"}
	for _, path := range []string{"/", "/endpoints", "/queues"} {
		if got := s.get(t, path).body; !strings.Contains(got, "These figures are incomplete. No answer from: <span class=\"node\">vm/2</span>, <span class=\"node\">&lt;vm&gt;/3</span>") {
			t.Errorf("%s does not say whose figures are missing", path)
		}
	}
	s = open(t)
	if got := s.get(t, "/").body; strings.Contains(got, "not whole") || !strings.Contains(got, `no data</p>`) {
		t.Error("without figures of any time the page does not say that there is no data")
	}
}

// entries are the entries of the list of what needs a person, without markup and with single
// blanks, in order.
func entries(t *testing.T, page string) (all []string) {
	t.Helper()
	_, page, found := strings.Cut(page, `class="panel needs"`)
	if !found {
		t.Fatal("the page has no list of what needs a person")
	}
	page, _, _ = strings.Cut(page, "</section>")
	for _, entry := range strings.Split(page, "<li")[1:] {
		text := regexp.MustCompile(`(?s)<[^>]*>`).ReplaceAllString("<li"+entry, " ")
		all = append(all, html.UnescapeString(strings.Join(strings.Fields(text), " ")))
	}
	return all
}

// What needs a person stands above all figures, what affects most money first: with the time, the
// number, the sum, the last error and what to do.
func TestOverviewSaysWhatNeedsAPerson(t *testing.T) {
	s := open(t)
	now := time.Now()
	s.fake.endpoints = []figures.Endpoint{
		{Endpoint: "https://down.example:443", Breaker: "open", Waiting: 7, Attempts: 10, Hour: &figures.Recent{Since: now, Failure: &figures.Failure{Result: bellman.Unreachable, Error: "connection refused"}}},
		{Endpoint: "https://fine.example:443", Breaker: "closed", SuccessRate: 1},
	}
	s.fake.unowned = []store.Lease{{Shard: 3}}
	failed := bellman.Status{State: bellman.Failed, Finished: now}
	lost := func(no, state string, amount int64) *bellman.Task {
		return s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", Key: no, MerchantNo: "M1", OrderNo: no, Status: failed}, order.Standing{State: "UNKNOWN", Late: state}, order.Ask{Amount: amount, Currency: "CNY"}),
			now, bellman.Attempt{Started: now, Result: bellman.TimedOut, Error: "no answer within 5s"})
	}
	lost("lost-1", "", 123450)
	lost("lost-2", "", 50)
	lost("found", "PAID", 100)
	s.fake.queues = []figures.Queue{{Name: "pay", Kind: "notify", FailedHour: 1}, {Name: "orders", Kind: "order", FailedHour: 3}}
	s.fake.add(t, &bellman.Task{Queue: "pay", Key: "f", URL: "http://m.example/", Status: failed}, now, bellman.Attempt{Started: now, Result: bellman.ErrorStatus, Status: 502})
	page := s.get(t, "/", "Accept-Language: en").body
	got := entries(t, page)
	for i, want := range [][]string{
		{"Shards without a node", "1 shard", "See nodes"},
		{"Order UNKNOWN", "orders", "1235.00 CNY", "2 orders", "since", "no answer within 5s", "Ask the channel"},
		{"Endpoint fails", "https://down.example:443", "7 tasks", "since", "Unreachable · connection refused", "See or pause the endpoint"},
		{"Tasks failed in the last hour", "pay", "1 task", "HTTP 502", "Resend them"},
	} {
		for _, w := range want {
			if i >= len(got) || !strings.Contains(got[i], w) {
				t.Errorf("entry %d does not say %q: %q", i+1, w, got)
			}
		}
	}
	if len(got) != 4 || strings.Contains(strings.Join(got, " "), "fine.example") {
		t.Errorf("the list has %d entries; want 4: %q", len(got), got)
	}
	if list, tiles := strings.Index(page, "panel needs"), strings.Index(page, `class="tiles"`); list > tiles {
		t.Error("the list stands below the figures")
	}
	if strings.Contains(page, "Nothing needs attention") {
		t.Error("the page says that all is well")
	}
}

// One order is named itself, and its link leads to its page.
func TestOverviewNamesOneOrder(t *testing.T) {
	s := open(t)
	s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", Key: "u", MerchantNo: "M1", OrderNo: "lost", Status: bellman.Status{State: bellman.Failed, Finished: time.Now()}}, order.Standing{State: "UNKNOWN"}, order.Ask{}), time.Now(), bellman.Attempt{Started: time.Now()})
	if got := s.get(t, "/").body; !strings.Contains(got, `href="/orders?merchant_no=M1&amp;order_no=lost"`) {
		t.Error("the entry does not lead to the order")
	}
}

func TestTheOverviewLeavesOutAnOrderFoundPaid(t *testing.T) {
	s := open(t)
	s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", Key: "u", MerchantNo: "M1", OrderNo: "found", Status: bellman.Status{State: bellman.Failed, Finished: time.Now()}}, order.Standing{State: "UNKNOWN", Late: "PAID"}, order.Ask{}), time.Now(), bellman.Attempt{Started: time.Now()})
	if got := s.get(t, "/").body; strings.Contains(got, "found") || !strings.Contains(got, "Nothing needs attention") {
		t.Errorf("the overview lists it: %s", got)
	}
}

// Whether a queue is late, and a tile hot, is for the rules of the alarms to say.
func TestTheThresholdsAreThoseOfTheAlarms(t *testing.T) {
	s := open(t)
	due := time.Now().Add(-90 * time.Second)
	s.fake.queues = []figures.Queue{{Name: "pay", Kind: "notify", OldestOverdue: due, Waiting: 5}}
	s.fake.gauges.OldestOverdue = due
	hot := `class="tile hot"><dt>Oldest overdue`
	page := s.get(t, "/", "Accept-Language: en").body
	if got := entries(t, page); len(got) != 1 || !strings.Contains(got[0], "Queue late pay 5 tasks") || !strings.Contains(page, hot) {
		t.Errorf("90 s late without a rule: %q, tile hot: %t; want the queue, and the tile hot, after a minute", got, strings.Contains(page, hot))
	}
	s.raised.rules = []alarm.Rule{{Name: "late", When: alarm.Overdue, Above: 3600}}
	s.now.forget()
	s.needs.forget()
	if page := s.get(t, "/").body; strings.Contains(page, hot) || !strings.Contains(page, "Nothing needs attention") {
		t.Error("90 s late, with a rule above an hour: the page is alarmed all the same")
	}
	s.raised.rules = append(s.raised.rules, alarm.Rule{Name: "pay", When: alarm.Overdue, Queue: "pay", Above: 30})
	s.needs.forget()
	s.now.forget()
	if got := entries(t, s.get(t, "/").body); len(got) != 1 {
		t.Errorf("90 s late, with a rule of the queue above 30s: %q; want the queue", got)
	}
}

func TestOverviewSaysWhatIsRaised(t *testing.T) {
	s := open(t)
	s.fake.queues = []figures.Queue{{Name: "pay", Kind: "notify", OldestOverdue: time.Now().Add(-time.Hour)}}
	s.raised.alarms = []alarm.Alarm{
		{Name: "late-payments", When: "overdue", Queue: "pay", Since: t0, Untold: "there is no queue ops"},
		{Name: "decided", When: "order_decided_by_hand", Since: t0, Decision: &alarm.Decision{MerchantNo: "M1", OrderNo: "B-9", Who: "wang", Reason: "the bank says so: PAID"}},
		{Name: "calm-again", When: "overdue", Since: t0, Until: t0.Add(time.Minute)},
	}
	got := entries(t, s.get(t, "/", "Accept-Language: en").body)
	if len(got) != 2 || !strings.Contains(got[0], "Queue late pay") || !strings.Contains(got[0], "late-payments · not told: there is no queue ops") || !strings.Contains(got[1], "wang · the bank says so: PAID") {
		t.Errorf("the list is %q; want the queue with its alarm, and the decision", got)
	}
}

// While nothing is taken in, the first page and that of the queues say so, and why.
func TestIntakeIsSeen(t *testing.T) {
	s := open(t)
	s.fake.queues = []figures.Queue{{Name: "pay", Kind: "notify"}}
	s.o.Intake = func() figures.Intake {
		return figures.Intake{Waiting: 200_001, High: 200_000, Low: 150_000, Heap: 900 << 20, HeapHigh: 800 << 20}
	}
	s.fake.sources = []source.Info{
		{Name: "main/order.paid", Into: "pay", State: "paused", Since: t0, Why: "overloaded: 200001 tasks wait", Stored: 7, Dead: 1},
		{Name: "main/order.closed", Into: "pay", State: "consuming", Since: t0},
	}
	s.o.Sources = s.fake.named
	s.fake.gauges.Refusing = 1
	for path, wants := range map[string][]string{
		"/": {"No new tasks accepted", "200,001 tasks wait. Above 200,000, new tasks are rejected until fewer than 150,000 wait. · heap 900 of 800 MiB", "main/order.paid", "overloaded: 200001 tasks wait"},
		"/queues": {"New tasks are rejected", "200,001 tasks wait. Above 200,000", "main/order.paid", "overloaded: 200001 tasks wait", "main/order.closed", "Consuming",
			`<th scope="col">State</th><th scope="col">Source</th>`},
	} {
		got := s.get(t, path).body
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not say %q", path, want)
			}
		}
		if strings.Contains(got, "Nothing needs attention") || path == "/" && strings.Contains(got, "main/order.closed") {
			t.Errorf("%s says that nothing needs anybody, or names a source that is well", path)
		}
	}
	s = open(t)
	s.fake.gauges.Refusing = 2 // others, of which this node knows no more
	if got := s.get(t, "/").body; !strings.Contains(got, "No new tasks accepted") || strings.Contains(got, "Nothing needs attention") {
		t.Error("the overview does not say that other nodes take nothing in")
	}
	s = open(t)
	s.fake.queues = []figures.Queue{{Name: "pay", Kind: "notify"}}
	s.o.Intake = func() figures.Intake { return figures.Intake{Open: true, Waiting: 3, High: 10, Low: 5} }
	if got := s.get(t, "/").body; strings.Contains(got, "New tasks are") || !strings.Contains(got, "Nothing needs attention") {
		t.Error("the overview speaks of flow control while new tasks are accepted")
	}
	if got := s.get(t, "/queues").body; !strings.Contains(got, "New tasks are accepted") || strings.Contains(got, "MiB") {
		t.Error("the page of the queues does not say that new tasks are accepted")
	}
}

// What a pause holds is on hold: it is not overdue, and not due in the next hour either,
// whether it waits in line or was set aside.
func TestOnHoldIsNotOverdue(t *testing.T) {
	s := open(t)
	now := time.Now()
	for i := range 3 {
		s.fake.add(t, &bellman.Task{Queue: "pay", Key: fmt.Sprint("held", i)}, now.Add(-20*time.Minute))
	}
	aside := s.fake.add(t, &bellman.Task{Queue: "pay", Key: "aside"}, now.Add(-20*time.Minute))
	to := aside.Status
	to.VisibleAt = now.Add(3 * time.Minute)
	b := store.Batch{Changes: []store.Change{{ID: aside.ID, Version: aside.Version, To: to}}}
	if err := s.fake.Commit(t.Context(), &b); err != nil || b.Changes[0].Err != nil {
		t.Fatal(err, b.Changes[0].Err)
	}
	paused := s.fake.add(t, &bellman.Task{Queue: "pay", Key: "its merchant is paused"}, now.Add(-20*time.Minute))
	to = paused.Status
	to.VisibleAt = time.UnixMilli(1<<52 + 7)
	b = store.Batch{Changes: []store.Change{{ID: paused.ID, Version: paused.Version, To: to}}}
	if err := s.fake.Commit(t.Context(), &b); err != nil || b.Changes[0].Err != nil {
		t.Fatal(err, b.Changes[0].Err)
	}
	s.fake.gauges.Held = 3
	got := s.get(t, "/").body
	for _, want := range []string{"Overdue</dt><dd>0<", "On hold</dt><dd>5<", "Next hour</dt><dd>0<", `Oldest overdue</dt><dd><span class="none">none`} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// Merchants that accept nothing need somebody, and are named with their last failure.
func TestOverviewNamesMerchantsThatFail(t *testing.T) {
	s := open(t)
	for i := range attention.MostItems + 3 {
		s.fake.failing = append(s.fake.failing, figures.FailingMerchant{MerchantNo: fmt.Sprintf("F%03d", i), Since: t0})
	}
	s.fake.add(t, &bellman.Task{Queue: "pay", Key: "waits", MerchantNo: "F007", Event: "order.paid", OrderNo: "A-7", Body: []byte(`{"amount":700,"currency":"JPY"}`)}, time.Now())
	s.fake.recent = []figures.Recent{{Name: "F007", Failure: &figures.Failure{Result: bellman.Refused, Status: 200, Response: `{"code":"FAIL","token":"abcdef"}`}}}
	page := s.get(t, "/", "Accept-Language: en").body
	got := entries(t, page)
	if len(got) != attention.MostItems || !strings.Contains(page, "and 3 more") {
		t.Fatalf("%d entries; want %d, and that there are 3 more", len(got), attention.MostItems)
	}
	for _, want := range []string{"Merchant accepts nothing", "F007", "700 JPY", "1 task", `Refused · HTTP 200 · {"code":"FAIL"`} {
		if !strings.Contains(got[0], want) {
			t.Errorf("the first entry does not say %q: %q", want, got[0])
		}
	}
	if strings.Contains(got[0], "abcdef") {
		t.Error("a token of the answer is shown")
	}
}

// A merchant that somebody paused, and a host that is sent less than waits for it, need a
// person: the first page names them, the latter with its rate and not as normal.
func TestOverviewNamesThePausedAndTheThrottled(t *testing.T) {
	s := open(t)
	s.fake.pausedMerchants = []figures.MerchantPause{{MerchantNo: "M1005", Pause: figures.Pause{At: t0, Who: "wang", Reason: "their holiday"}}}
	s.fake.endpoints = []figures.Endpoint{
		{Endpoint: "https://slow.example:443", Breaker: "closed", Rate: 1.25, Waiting: 1089, SuccessRate: 0.687},
		{Endpoint: "https://deaf.example:443", Breaker: "closed", Attempts: 3},
	}
	got := s.get(t, "/").body
	for _, want := range []string{"M1005", "wang · their holiday", "slow.example", "Endpoint throttled · 1.25/s"} {
		if !strings.Contains(got, want) {
			t.Errorf("the first page does not say %q", want)
		}
	}
	if strings.Contains(got, "Nothing needs attention") {
		t.Error("the first page says that nothing needs anybody")
	}
	if got := s.get(t, "/endpoints").body; !strings.Contains(got, "Throttled · 1.25/s") || !strings.Contains(got, "Failing<") || strings.Contains(got, "Normal<") {
		t.Error("the page of the endpoints does not say that one endpoint is throttled, and one accepts nothing")
	}
}

// The list of tasks says of a task that a pause holds what is paused.
func TestListSaysWhyATaskDoesNotMove(t *testing.T) {
	s := open(t)
	s.fake.add(t, &bellman.Task{Queue: "pay", Key: "k"}, time.Now())
	s.fake.held = map[string]*figures.Pause{"pay": {At: t0}}
	if got := s.get(t, "/tasks").body; !strings.Contains(got, "Paused: queue/pay") {
		t.Errorf("the list does not say that the queue is paused")
	}
}

// Endpoints lead with their health: the share of accepted attempts of the last hour, the last
// failure, and a picture of the hour. Filters are in the address.
func TestEndpointsLeadWithTheirHealth(t *testing.T) {
	s := open(t)
	now := time.Now()
	bad := figures.Recent{Name: "https://bad.example:443", Attempts: 8, Accepted: 2, Since: now, Failed: 5, Failure: &figures.Failure{At: now, Result: bellman.Unreachable, Error: "connection refused"}}
	s.fake.endpoints = []figures.Endpoint{
		{Endpoint: "https://bad.example:443", Breaker: "open", Hour: &bad, Waiting: 3, Oldest: now.Add(-time.Hour)},
		{Endpoint: "https://still.example:443", Breaker: "closed", Pause: &figures.Pause{At: t0, Who: "wang", Reason: "moves"}, SuccessRate: -1},
		{Endpoint: "https://well.example:443", Breaker: "closed", SuccessRate: 1, Attempts: 5},
	}
	minutes := bad
	minutes.Minutes = []figures.Minute{{At: now.Unix()/60 - 4, Attempts: 6, Accepted: 2}, {At: now.Unix() / 60, Attempts: 2}}
	s.fake.recent = []figures.Recent{minutes}
	page := s.get(t, "/endpoints", "Accept-Language: en").body
	for _, want := range []string{"25.0 %", "of 8", "Unreachable · connection refused", "Last hour: 8 attempts, 2 accepted", `class="of-ok"`, `href="/endpoints?state=late"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := strings.Count(page, `class="of-bad"`); n != 2 {
		t.Errorf("%d columns of the picture have failures; want 2", n)
	}
	s.fake.endpoints = append(s.fake.endpoints, figures.Endpoint{Endpoint: "Shop-Orders", Breaker: "closed"}) // a queue
	for part, want := range map[string]string{"BAD.Example": "bad.example", "shop-orders": "Shop-Orders"} {
		page := s.get(t, "/endpoints?part="+part).body
		for _, name := range []string{"bad.example", "Shop-Orders"} {
			if strings.Contains(page, name) != (name == want) {
				t.Errorf("with the part %q the list has %s: %t", part, name, strings.Contains(page, name))
			}
		}
	}
	for state, want := range map[string]string{"failing": "bad.example", "late": "bad.example", "paused": "still.example", "": "well.example"} {
		page := s.get(t, "/endpoints?state="+state).body
		for _, name := range []string{"bad.example", "still.example", "well.example"} {
			if strings.Contains(page, name) != (name == want || state == "") {
				t.Errorf("with the filter %q the list has %s: %t", state, name, strings.Contains(page, name))
			}
		}
	}
}
