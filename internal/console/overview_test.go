package console

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/alarm"
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
	if !strings.Contains(got, "Nothing: no breaker is open") {
		t.Error("without trouble the page does not say so")
	}
}

// Where nodes did not answer, the pages with figures say which.
func TestFiguresThatAreNotWhole(t *testing.T) {
	s := open(t)
	s.fake.queues = []figures.Queue{{Name: "pay", Kind: "notify"}}
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
	s.fake.endpoints = []figures.Endpoint{
		{Endpoint: "https://down.example:443", Breaker: "open", Waiting: 7, SuccessRate: 0},
		{Endpoint: "https://fine.example:443", Breaker: "closed", SuccessRate: 1},
	}
	s.fake.unowned = []store.Lease{{Shard: 3}}
	s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", Key: "u", MerchantNo: "M1", OrderNo: "lost", Status: bellman.Status{State: bellman.Failed, Finished: time.Now()}}, order.Standing{State: "UNKNOWN"}, order.Ask{}), time.Now(), bellman.Attempt{Started: time.Now()})
	for i := range troubleTasks + 1 {
		s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", Key: fmt.Sprint("found", i), MerchantNo: "M1", OrderNo: fmt.Sprint("found-paid-", i), Status: bellman.Status{State: bellman.Failed, Finished: time.Now()}}, order.Standing{State: "UNKNOWN", Late: "PAID"}, order.Ask{}), time.Now(), bellman.Attempt{Started: time.Now()})
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

func TestTheOverviewLeavesOutAnOrderFoundPaid(t *testing.T) {
	s := open(t)
	s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", Key: "u", MerchantNo: "M1", OrderNo: "found", Status: bellman.Status{State: bellman.Failed, Finished: time.Now()}}, order.Standing{State: "UNKNOWN", Late: "PAID"}, order.Ask{}), time.Now(), bellman.Attempt{Started: time.Now()})
	if got := s.get(t, "/").body; strings.Contains(got, "found") || !strings.Contains(got, "Nothing: no breaker") {
		t.Errorf("the overview lists it: %s", got)
	}
}

// listed are alarms as they are given.
type listed []alarm.Alarm

func (l listed) List(context.Context) ([]alarm.Alarm, error) { return l, nil }

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

// While nothing is taken in, the first page and that of the queues say so, and why.
func TestIntakeIsSeen(t *testing.T) {
	s := open(t)
	s.fake.queues = []figures.Queue{{Name: "pay", Kind: "notify"}}
	s.intake = func() figures.Intake {
		return figures.Intake{Waiting: 200_001, High: 200_000, Low: 150_000, Heap: 900 << 20, HeapHigh: 800 << 20}
	}
	s.sources = func() []source.Info {
		return []source.Info{
			{Name: "main/order.paid", Into: "pay", State: "paused", Since: t0, Why: "overloaded: 200001 tasks wait", Stored: 7, Dead: 1},
			{Name: "main/order.closed", Into: "pay", State: "consuming", Since: t0},
		}
	}
	s.fake.gauges.Refusing = 1
	for path, wants := range map[string][]string{
		"/": {"Nothing is taken in", "answer creates with 429, and whose sources wait: 1", "200,001 wait; it stops above 200,000, and goes on below 150,000 · heap 900 of 800 MiB", "main/order.paid", "overloaded: 200001 tasks wait"},
		"/queues": {"Nothing is taken in", "200,001 wait; it stops above 200,000", "main/order.paid", "overloaded: 200001 tasks wait", "main/order.closed", "Consuming",
			`<th scope="col">State</th><th scope="col">Source</th>`},
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
	s.fake.queues = []figures.Queue{{Name: "pay", Kind: "notify"}}
	s.intake = func() figures.Intake { return figures.Intake{Open: true, Waiting: 3, High: 10, Low: 5} }
	if got := s.get(t, "/").body; strings.Contains(got, "taken in") || !strings.Contains(got, "Nothing: no breaker") {
		t.Error("the overview speaks of flow control while tasks are taken in")
	}
	if got := s.get(t, "/queues").body; !strings.Contains(got, "Tasks are taken in") || strings.Contains(got, "MiB") {
		t.Error("the page of the queues does not say that tasks are taken in")
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

// A merchant that somebody paused, and a host that is sent less than waits for it, need a
// person: the first page names them, the latter with its rate and not as normal.
// Merchants that accept nothing need somebody, and are named, the longest first.
func TestOverviewNamesMerchantsThatFail(t *testing.T) {
	s := open(t)
	for i := range troubleTasks + 3 {
		s.fake.failing = append(s.fake.failing, figures.FailingMerchant{MerchantNo: fmt.Sprintf("F%02d", i), Since: t0})
	}
	got := s.get(t, "/").body
	for _, want := range []string{`/merchants/show?no=F00"`, "Failing", "F07", "and 3 more merchants are failing"} {
		if !strings.Contains(got, want) {
			t.Errorf("the first page does not say %q", want)
		}
	}
	if strings.Contains(got, "F08") || strings.Contains(got, "Nothing: no breaker") {
		t.Error("the first page names too many, or says that nothing needs anybody")
	}
}

func TestOverviewNamesThePausedAndTheThrottled(t *testing.T) {
	s := open(t)
	s.fake.pausedMerchants = []figures.MerchantPause{{MerchantNo: "M1005", Pause: figures.Pause{At: t0, Who: "wang", Reason: "their holiday"}}}
	s.fake.endpoints = []figures.Endpoint{
		{Endpoint: "https://slow.example:443", Breaker: "closed", Rate: 1.25, Waiting: 1089, SuccessRate: 0.687},
		{Endpoint: "https://deaf.example:443", Breaker: "closed", Attempts: 3},
	}
	got := s.get(t, "/").body
	for _, want := range []string{"M1005", "wang · their holiday", "slow.example", "Throttled · 1.25/s"} {
		if !strings.Contains(got, want) {
			t.Errorf("the first page does not say %q", want)
		}
	}
	if strings.Contains(got, "Nothing: no breaker") {
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
