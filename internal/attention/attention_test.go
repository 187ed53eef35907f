package attention

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A world is everything that the list asks.
type world struct {
	*memory.Store
	f       figures.Figures
	paused  []figures.MerchantPause
	nodes   []engine.NodeInfo
	unowned []store.Lease
	alarms  []alarm.Alarm
	rules   []alarm.Rule
	runs    []reconcile.Run
	differs []reconcile.Item
}

type desks struct{ *world }

func (w desks) List(_ context.Context, limit int) ([]reconcile.Run, error) {
	return w.runs[:min(limit, len(w.runs))], nil
}

func (w desks) Differences(context.Context, string, bill.DifferenceKind, int, int) ([]reconcile.Item, int, error) {
	return w.differs, 0, nil
}

type watch struct{ *world }

func (w watch) List(context.Context) ([]alarm.Alarm, error) { return w.alarms, nil }
func (w watch) Rules() []alarm.Rule                         { return w.rules }

func (w *world) Figures(context.Context, figures.Ask) (figures.Figures, error) { return w.f, nil }
func (w *world) PausedMerchants() []figures.MerchantPause                      { return w.paused }
func (w *world) Route(*bellman.Task) bellman.Route                             { return bellman.Route{} }
func (w *world) Nodes(context.Context) ([]engine.NodeInfo, []store.Lease, error) {
	return w.nodes, w.unowned, nil
}

func (w *world) desk(credentials ...alarm.Credential) *Desk {
	return New(Options{Engine: w, Store: w, Alarms: watch{w}, Nodes: w.Nodes, Reconciliations: desks{w}, Credentials: func() []alarm.Credential { return credentials },
		Sources: func() []source.Info { return nil }, Queues: func() []string { return []string{"orders", "pay"} },
		Kind: func(queue string) string { return map[string]string{"orders": "order", "pay": "notify"}[queue] }})
}

func (w *world) add(t *testing.T, task *bellman.Task, due time.Time) *bellman.Task {
	t.Helper()
	status := task.Status
	task.ID = bellman.FirstID(due)
	task.ID[15] = byte(len(task.OrderNo) + len(task.Key))
	copy(task.ID[8:14], task.Queue+task.OrderNo+task.Key)
	task.ID[6], task.ID[8] = 0x70, task.ID[8]&0x3f|0x80
	task.Status = bellman.Status{Version: 1, Began: due, Due: due, VisibleAt: due, Updated: due, Data: status.Data}
	b := store.Batch{Adds: []store.Add{{Task: task}}}
	if err := w.Commit(t.Context(), &b); err != nil || b.Adds[0].Err != nil {
		t.Fatal(err, b.Adds[0].Err)
	}
	if status.State.Ended() {
		status.Version, status.Updated, status.Attempts = 2, due, 1
		c := store.Batch{Changes: []store.Change{{ID: task.ID, Version: 1, To: status, Attempt: &bellman.Attempt{Number: 1, Started: due, Result: bellman.TimedOut, Error: "no answer"}}}}
		if err := w.Commit(t.Context(), &c); err != nil || c.Changes[0].Err != nil {
			t.Fatal(err, c.Changes[0].Err)
		}
	}
	return task
}

// unknown is an order that was given up.
func unknown(t *testing.T, no, mismatch string, amount int64) *bellman.Task {
	t.Helper()
	ask := order.Ask{Amount: amount, Currency: "CNY"}
	body, err := ask.Encode()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	data, err := json.Marshal(order.Life{Stage: order.Decided, State: order.StateUnknown, Mismatch: mismatch, DecidedAt: now.UnixMilli()})
	if err != nil {
		t.Fatal(err)
	}
	return &bellman.Task{Queue: "orders", Kind: bellman.KindOrder, Key: no, MerchantNo: "M1", OrderNo: no, Body: body, Status: bellman.Status{State: bellman.Failed, Finished: now, Data: data}}
}

func list(t *testing.T, d *Desk) List {
	t.Helper()
	l, err := d.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// line writes an item in one line.
func line(i *Item) string {
	var money []string
	for _, a := range i.Amounts {
		money = append(money, fmt.Sprintf("%d %s of %d", a.Amount, a.Currency, a.Orders))
	}
	return fmt.Sprintf("%s %s %d [%s] %s", i.Kind, i.Name, i.Tasks, strings.Join(money, ", "), i.Why)
}

func lines(l List) (all []string) {
	for i := range l.Items {
		all = append(all, line(&l.Items[i]))
	}
	return all
}

// What stops every task comes first, then what affects most money, then most tasks.
func TestMoneyComesFirst(t *testing.T) {
	now := time.Now()
	w := &world{Store: memory.New()}
	w.add(t, unknown(t, "A", "", 500), now)
	w.add(t, unknown(t, "BB", "", 700), now)
	w.add(t, unknown(t, "CCC", "another amount", 90000), now)
	w.f = figures.Figures{
		Nodes:     1,
		Gauges:    figures.Gauges{Refusing: 1, Waiting: 3},
		Queues:    []figures.Queue{{Name: "pay", Kind: "notify", OldestOverdue: now.Add(-2 * time.Minute), Waiting: 9}},
		Endpoints: []figures.Endpoint{{Endpoint: "http://a:80", Breaker: "open", Waiting: 50}},
		Skewed:    []figures.Skew{{Node: "vm/2", Ahead: -3 * time.Second}},
		Silent:    []string{"vm/3"},
		Refused:   []figures.Refusal{{Queue: "orders", Count: 4, Why: "wrong signature"}},
		Follows:   []figures.Refusal{{Queue: "orders", Count: 5, Why: "no url", Task: "T"}},
	}
	w.nodes = []engine.NodeInfo{{Name: "vm/9", Beat: now}}
	w.runs = []reconcile.Run{
		{ID: "r", Queue: "orders", Account: "shop1", Bill: reconcile.FundFlow, Date: "2026-11-20", State: reconcile.Done, Finished: now, Counts: bill.Counts{Differences: map[bill.DifferenceKind]int{"amount": 2}}},
		{ID: "s", Queue: "orders", Date: "2026-11-21", State: reconcile.Failed, Created: now, Error: "404"},
		{ID: "old", Queue: "orders", Date: "2026-11-01", State: reconcile.Done, Finished: now.Add(-25 * time.Hour), Counts: bill.Counts{Differences: map[bill.DifferenceKind]int{"amount": 2}}},
	}
	w.differs = []reconcile.Item{{Difference: bill.Difference{ChannelOrderNo: "x", There: &bill.Line{Amount: 1000, Currency: "CNY"}, Here: &bill.Decided{Amount: 400, Currency: "CNY"}}}}
	got := lines(list(t, w.desk(alarm.Credential{Name: "keys.shop", Expires: now.Add(6 * 24 * time.Hour)}, alarm.Credential{Name: "far", Expires: now.Add(60 * 24 * time.Hour)})))
	want := []string{
		"overloaded  3 [] ",
		"amount_mismatch CCC 1 [90000 CNY of 1] another amount",
		"orders_unknown orders 2 [1200 CNY of 2] no answer",
		"bill_differs orders 2026-11-20 2 [600 CNY of 1] fund_flow, account shop1: 2 amount",
		"endpoint_failing http://a:80 50 [] ",
		"queue_late pay 9 [] ",
		"follow_ups_refused orders 5 [] no url",
		"notices_refused orders 4 [] wrong signature",
		"bill_missing orders 2026-11-21 0 [] 404",
		"node_clock vm/2 0 [] ",
		"node_silent vm/3 0 [] ",
		"credential_expires keys.shop 0 [] ",
		"node_gone vm/9 0 [] ",
	}
	for _, list := range [][]string{got[8:10], got[10:]} { // these weigh the same
		slices.Sort(list)
	}
	for _, list := range [][]string{want[8:10], want[10:]} {
		slices.Sort(list)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the list is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A node that was away from the store has joined again under another id. It is not gone. A process
// that was started again is another node, and so is one whose former registration still has shards.
func TestNodeJoinedAgain(t *testing.T) {
	now := time.Now()
	name := func(process string) string { return process + "/" + bellman.NewID().String() }
	w := &world{Store: memory.New(), nodes: []engine.NodeInfo{
		{Name: name("vm/7"), Beat: now}, {Name: name("vm/7"), Beat: now, Alive: true},
		{Name: name("vm/8"), Beat: now}, {Name: name("vm/9"), Beat: now, Alive: true},
		{Name: name("vm/9"), Beat: now, Shards: []store.Lease{{Shard: 1}}},
	}}
	l := list(t, w.desk())
	var gone []string
	for i := range l.Items {
		gone = append(gone, process(l.Items[i].Name))
	}
	slices.Sort(gone)
	if want := []string{"vm/8", "vm/9"}; !slices.Equal(gone, want) {
		t.Errorf("gone: %v; want %v", gone, want)
	}
}

// A reconciliation that could not compare an account has found differences at others. Both need a
// person, however many other queues were reconciled.
func TestFailedReconciliationWithDifferences(t *testing.T) {
	now := time.Now()
	w := &world{Store: memory.New()}
	for range 100 {
		w.runs = append(w.runs, reconcile.Run{ID: "r", Queue: "others", Date: "2026-11-21", State: reconcile.Done, Finished: now})
	}
	w.runs = append(w.runs, reconcile.Run{ID: "s", Queue: "orders", Date: "2026-11-21", State: reconcile.Failed, Created: now, Finished: now, Error: "shop2", Counts: bill.Counts{Differences: map[bill.DifferenceKind]int{"amount": 1}}})
	w.differs = []reconcile.Item{{Difference: bill.Difference{ChannelOrderNo: "x", There: &bill.Line{Amount: 1000, Currency: "CNY"}, Here: &bill.Decided{Amount: 400, Currency: "CNY"}}}}
	got, want := lines(list(t, w.desk())), []string{"bill_differs orders 2026-11-21 1 [600 CNY of 1] 1 amount", "bill_missing orders 2026-11-21 0 [] shop2"}
	if !slices.Equal(got, want) {
		t.Errorf("the list is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// However many notices were refused since, an order that was given up is listed: anybody can send
// such notices.
func TestRefusedNoticesHideNoOrder(t *testing.T) {
	now := time.Now()
	w := &world{Store: memory.New()}
	w.add(t, unknown(t, "A", "", 500), now.Add(-time.Hour))
	for i := range 900 {
		no := fmt.Sprintf("%04d", i)
		record := (&order.Told{Result: order.NoticeRefused, Why: "wrong signature", OrderNo: no}).Record(&bellman.Task{Queue: "orders", OrderNo: no})
		record.Kind, record.ID = bellman.KindOrder, bellman.FirstID(now.Add(time.Duration(i)*time.Millisecond))
		record.Version, record.Updated, record.Finished = 1, now, now
		b := store.Batch{Adds: []store.Add{{Task: &record}}}
		if err := w.Commit(t.Context(), &b); err != nil || b.Adds[0].Err != nil {
			t.Fatal(err, b.Adds[0].Err)
		}
	}
	if got := lines(list(t, w.desk())); !slices.Equal(got, []string{"orders_unknown A 1 [500 CNY of 1] no answer"}) {
		t.Errorf("the list is %q; want the order", got)
	}
}

// The failure of a queue whose tasks failed is that of the merchant with the most failed tasks, and
// not the last of any.
func TestFailureOfFailedTasks(t *testing.T) {
	now := time.Now()
	w := &world{Store: memory.New()}
	failed := func(merchant, no string, ago time.Duration) *bellman.Task {
		return w.add(t, &bellman.Task{Queue: "pay", Kind: bellman.KindNotify, Key: merchant + no, MerchantNo: merchant, OrderNo: no, Status: bellman.Status{State: bellman.Failed, Finished: now.Add(-ago)}}, now.Add(-ago))
	}
	failed("M1", "A", 30*time.Minute)
	last := failed("M1", "BB", 20*time.Minute)
	w.f = figures.Figures{Queues: []figures.Queue{{Name: "pay", Kind: "notify", FailedHour: 2}}}
	check := func(merchant string) {
		t.Helper()
		l := list(t, w.desk())
		if len(l.Items) != 1 || l.Items[0].Kind != TasksFailed || l.Items[0].MerchantNo != merchant || l.Items[0].Failure == nil || l.Items[0].Failure.Task != last.ID {
			t.Errorf("the list is %+v; want the failed tasks of merchant %q, and the failure of task %s", l.Items, merchant, last.ID)
		}
	}
	check("M1")
	failed("M2", "CCC", time.Minute)
	failed("M1", "DDDD", 2*time.Hour) // too old
	check("")
	last = failed("M2", "EEEEE", 0) // as many as the other has, and later
	check("")
}

func TestNothingNeedsAPerson(t *testing.T) {
	w := &world{Store: memory.New()}
	w.f = figures.Figures{Queues: []figures.Queue{{Name: "pay", Kind: "notify", OldestOverdue: time.Now().Add(-30 * time.Second), Waiting: 2}},
		Endpoints: []figures.Endpoint{{Endpoint: "http://a:80", Breaker: "closed", Rate: 5, SuccessRate: 0.99, Attempts: 100}}}
	if l := list(t, w.desk()); len(l.Items) != 0 {
		t.Errorf("the list is %q; want nothing: 30 s late, and an endpoint at a pace that nothing waits for", lines(l))
	}
}

// The orders of the tasks that wait for an endpoint or a queue have amounts: of orders, and of
// notices of their end.
func TestMoneyThatWaits(t *testing.T) {
	now := time.Now()
	w := &world{Store: memory.New()}
	notice := func(key, event, body string) *bellman.Task {
		return &bellman.Task{Queue: "pay", Kind: bellman.KindNotify, Key: key, MerchantNo: "M7", OrderNo: key, Event: event, Endpoint: "http://a:80", Body: []byte(body)}
	}
	w.add(t, notice("k", "order.paid", `{"amount":700,"currency":"CNY"}`), now.Add(-2*time.Minute))
	w.add(t, notice("kk", "order.paid", `{"amount":7.5,"currency":"CNY"}`), now.Add(-time.Minute))
	w.add(t, notice("kkk", "payment.succeeded", `{"amount":900,"currency":"CNY"}`), now.Add(-time.Minute))
	w.f = figures.Figures{Gauges: figures.Gauges{Waiting: 3, OldestOverdue: now}, Queues: []figures.Queue{{Name: "pay", Kind: "notify", Pause: &figures.Pause{At: now, Who: "wang", Reason: "moves"}}},
		Endpoints: []figures.Endpoint{{Endpoint: "http://a:80", Breaker: "open"}}}
	w.paused = []figures.MerchantPause{{MerchantNo: "M7", Pause: figures.Pause{At: now, Reason: "asks"}}}
	d := w.desk()
	got := lines(list(t, d))
	want := []string{"endpoint_failing http://a:80 3 [700 CNY of 1] ", "merchant_paused M7 3 [700 CNY of 1] asks", "queue_paused pay 3 [700 CNY of 1] moves"}
	if !slices.Equal(got, want) {
		t.Errorf("the list is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if late, err := d.Late(t.Context()); err != nil || !slices.Equal(late, []string{"M7"}) {
		t.Errorf("late are %q, %v; want M7, 2 min", late, err)
	}
	w.rules = []alarm.Rule{{When: alarm.Overdue, Above: 600}}
	if late, err := d.Late(t.Context()); err != nil || len(late) != 0 {
		t.Errorf("late are %q, %v; want nobody within 10 min", late, err)
	}
}

// An alarm is named at the item that it is about. A case that was settled since is gone.
func TestAlarmsAreNamedAtTheirItems(t *testing.T) {
	now := time.Now()
	w := &world{Store: memory.New()}
	open := w.add(t, unknown(t, "A", "", 500), now)
	paid := unknown(t, "BB", "", 700)
	data, err := json.Marshal(order.Life{Stage: order.Decided, State: "PAID", DecidedAt: now.UnixMilli()})
	if err != nil {
		t.Fatal(err)
	}
	paid.State, paid.Data = bellman.Succeeded, data
	w.add(t, paid, now)
	raised := func(name, when string, of *bellman.Task) alarm.Alarm {
		return alarm.Alarm{Name: name, When: when, Queue: "orders", Since: now, Affected: &alarm.Case{Task: of.ID.String(), Why: "used up"}}
	}
	w.alarms = []alarm.Alarm{raised("needs", alarm.OrderNeedsAction, open), raised("needs", alarm.OrderNeedsAction, paid), raised("late", alarm.LatePayment, paid),
		{Name: "slow", When: alarm.StoreSlow, Since: now, Untold: "there is no queue ops"}}
	l := list(t, w.desk())
	want := []string{"duplicate_payment BB 1 [700 CNY of 1] used up", "orders_unknown A 1 [500 CNY of 1] no answer", "alarm slow 0 [] store_slow"}
	if got := lines(l); !slices.Equal(got, want) {
		t.Fatalf("the list is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if l.Items[0].Alarm != "late" || l.Items[1].Alarm != "needs" || l.Items[2].Untold == "" || l.Items[1].OrderNo != "A" {
		t.Errorf("the items are %+v; want each with its alarm", l.Items)
	}
}

// An alarm about one order is named at that order, before one about orders as a whole.
func TestTheAlarmOfTheOrderIsNamed(t *testing.T) {
	now := time.Now()
	w := &world{Store: memory.New()}
	wrong := w.add(t, unknown(t, "A", "another amount", 500), now)
	w.alarms = []alarm.Alarm{{Name: "unknown", When: alarm.OrdersUnknown, Since: now},
		{Name: "other", When: alarm.AmountMismatch, Queue: "orders", Since: now, Affected: &alarm.Case{Task: bellman.FirstID(now).String()}},
		{Name: "wrong-amount", When: alarm.AmountMismatch, Queue: "orders", Since: now, Affected: &alarm.Case{Task: wrong.ID.String()}}}
	if l := list(t, w.desk()); len(l.Items) != 1 || l.Items[0].Alarm != "wrong-amount" {
		t.Errorf("the items are %+v; want one with the alarm wrong-amount", l.Items)
	}
}

// An order that was given up without an error says why, in words that the console translates.
func TestWhyAnOrderIsUnknown(t *testing.T) {
	w := &world{Store: memory.New()}
	w.add(t, unknown(t, "A", "", 500), time.Now())
	if l := list(t, w.desk()); len(l.Items) != 1 || l.Items[0].Why != "no answer" || l.Items[0].Failure == nil || l.Items[0].Failure.Result != bellman.TimedOut {
		t.Errorf("the items are %+v; want the last attempt", l.Items)
	}
	task := unknown(t, "A", "", 500)
	task.Reason = "gave_up"
	if _, why := unsettled(task); why != "nothing could be decided until give_up was over" {
		t.Errorf("without an attempt: %q", why)
	}
	if page := (&Item{Kind: OrdersUnknown, Name: "orders", Queue: "orders"}).Page(); page != "/orders?order_state=UNKNOWN" {
		t.Errorf("several lead to %s; want the orders that are UNKNOWN", page)
	}
	for name, want := range map[string]string{"queues.wechat.channel.certificate": "/queues?name=wechat", "keys.shop": "/audit?by=shop", "accounts.shop1.certificate": "/accounts/show?account=shop1",
		"accounts.shop.cn.certificate": "/accounts/show?account=shop.cn", "accounts.shop.cn.platform_keys": "/accounts/show?account=shop.cn", "accounts.shop.cn.platform_keys.5157F09E": "/accounts/show?account=shop.cn",
		"accounts.2.1.alipay_public_keys[0]": "/accounts/show?account=2.1"} {
		i := Item{Kind: CredentialExpires, Name: name}
		if strings.HasPrefix(name, "queues") {
			i.Queue = "wechat"
		}
		if page := i.Page(); page != want {
			t.Errorf("%s leads to %s; want %s", name, page, want)
		}
	}
}

// Every kind leads somewhere.
func TestEveryKindHasAPage(t *testing.T) {
	for _, kind := range Kinds {
		i := Item{Kind: kind, Name: "a/b", Run: "r", Task: "t", MerchantNo: "M 1", OrderNo: "A&1"}
		if page := i.Page(); !strings.HasPrefix(page, "/") || strings.Contains(page, "A&1") {
			t.Errorf("%s leads to %q", kind, page)
		}
	}
}

// A payment that came late and one that was made twice are two things, each with its order's page.
// Each is listed for a day, unless a refund was asked for.
func TestPaymentsToRefund(t *testing.T) {
	now := time.Now()
	w := &world{Store: memory.New()}
	standing := func(no string, life order.Life) *bellman.Task {
		t.Helper()
		task := unknown(t, no, "", 500)
		life.Stage, life.DecidedAt = order.Decided, now.UnixMilli()
		data, err := json.Marshal(life)
		if err != nil {
			t.Fatal(err)
		}
		task.State, task.Data = bellman.Succeeded, data
		return w.add(t, task, now.Add(-6*time.Hour))
	}
	raised := func(when string, of *bellman.Task, ended time.Time) {
		w.alarms = append(w.alarms, alarm.Alarm{Name: when, When: when, Queue: of.Queue, Since: now.Add(-5 * time.Hour), Until: ended, Ended: ended, Affected: &alarm.Case{Task: of.ID.String(), RefNo: "R", Why: "why"}})
	}
	late := order.Life{State: "CLOSED", Late: "PAID"}
	raised(alarm.LatePayment, standing("A", late), time.Time{})
	raised(alarm.LatePayment, standing("BB", order.Life{State: "PAID", Payments: []string{"x"}}), now.Add(-4*time.Hour))
	raised(alarm.LatePayment, standing("CCC", late), time.Time{})
	raised(alarm.LatePayment, standing("DDDD", late), time.Time{})
	refund := func(no, state string) *bellman.Task {
		return w.add(t, &bellman.Task{Queue: "refunds", Kind: bellman.KindPoll, Key: no, MerchantNo: "M1", OrderNo: no, Body: []byte(`{"ref_no":"R","vars":{"amount":"400"}}`),
			Status: bellman.Status{Data: []byte(state)}}, now.Add(-time.Hour))
	}
	refund("CCC", `{"stage":"polling","poll_state":"PENDING"}`)
	refund("DDDD", fmt.Sprintf(`{"stage":"decided","poll_state":"FAILED_THERE","decided_at":%d}`, now.UnixMilli()))
	raised(alarm.PollNeedsAction, refund("A", `{"stage":"polling","poll_state":"PENDING","alerts":["exhausted"]}`), time.Time{})
	l := list(t, w.desk())
	want := []string{
		"duplicate_payment BB 1 [500 CNY of 1] why",
		"late_payment DDDD 1 [500 CNY of 1] why",
		"poll_needs_action R 1 [400 CNY of 1] why",
	}
	if got := lines(l); !slices.Equal(got, want) {
		t.Errorf("the list is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A payment whose order has not come is listed while its notice is held and after that, until the
// order is there or a person has seen to the payment.
func TestPaymentWithoutOrder(t *testing.T) {
	now := time.Now()
	w := &world{Store: memory.New()}
	held := func(no, data string, state bellman.State) *bellman.Task {
		told := order.Told{Of: order.OfPayment, Account: "wx", OrderNo: no, Reading: "PAID", Taken: order.Taken{"amount": 500, "currency": "CNY", "transaction_id": "42"}, Came: now.Add(-2 * time.Hour)}
		task := told.Held("orders")
		task.Kind, task.Status = bellman.KindOrder, bellman.Status{State: state, Data: []byte(data)}
		if state.Ended() {
			task.Finished = now
		}
		return w.add(t, &task, now.Add(-2*time.Hour))
	}
	const alerted = `{"alerted":true}`
	pending := held("1", alerted, bellman.Pending)
	w.alarms = []alarm.Alarm{{Name: "unclaimed", When: alarm.PaymentWithoutOrder, Queue: "orders", Since: now.Add(-time.Hour), Affected: &alarm.Case{Task: pending.ID.String(), Why: "why"}}}
	held("22", "", bellman.Failed)
	held("333", "{}", bellman.Failed)
	held("4444", alerted, bellman.Cancelled)
	held("55555", alerted, bellman.Failed)
	own := unknown(t, "55555", "", 500)
	own.Status = bellman.Status{}
	own.SetAlias(order.Alias("wx", order.OfPayment, "55555"))
	w.add(t, own, now)
	const one = "payment_without_order 1 1 [500 CNY of 1] a notice says that 5.00 CNY was paid, and its order has not come since: channel_order_no 1, transaction_id 42, account wx"
	l := list(t, w.desk())
	if got := lines(l); !slices.Equal(got, []string{one}) || l.Items[0].Alarm != "unclaimed" || l.Items[0].Page() != "/tasks/"+pending.ID.String() {
		t.Errorf("the list is %q, %+v; want %q", got, l.Items, one)
	}
	held("666666", alerted, bellman.Failed)
	l = list(t, w.desk())
	if got := lines(l); !slices.Equal(got, []string{"payment_without_order orders 2 [1000 CNY of 2] "}) || l.Items[0].Page() != "/tasks?event=order.notice&queue=orders&result=refused" {
		t.Errorf("the list is %q, %+v; want both in one", got, l.Items)
	}
}
