package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

// place adds a task of order 1 of merchant M1 that stands so.
func (m *made) place(t testing.TB, queue, key string, s order.Standing, change func(*bellman.Task)) *bellman.Task {
	t.Helper()
	task := &bellman.Task{
		ID: bellman.NewID(), Queue: queue, Kind: kindOf(queue), Key: key, MerchantNo: "M1", OrderNo: "1", Body: []byte("{}"), Schedule: "0s, 1m",
		Status: bellman.Status{Version: 1, Due: t0, VisibleAt: t0, Began: t0, Updated: t0, Data: life(s)},
	}
	if queue != "orders" {
		task.URL, task.Data = "http://m/n", nil
	}
	if change != nil {
		change(task)
	}
	b := store.Batch{Adds: []store.Add{{Task: task}}}
	if err := m.fake.Commit(t.Context(), &b); err != nil || b.Adds[0].Err != nil {
		t.Fatal(err, b.Adds[0].Err)
	}
	return task
}

// tried adds an attempt that started so many seconds after t0.
func (m *made) tried(t testing.TB, task *bellman.Task, action string, seconds ...int) {
	t.Helper()
	for _, s := range seconds {
		now, err := m.fake.Task(t.Context(), task.ID)
		if err != nil {
			t.Fatal(err)
		}
		to := now.Status
		to.Attempts++
		at := t0.Add(time.Duration(s) * time.Second)
		b := store.Batch{Changes: []store.Change{{ID: task.ID, Version: now.Version, To: to,
			Attempt: &bellman.Attempt{Number: int(to.Attempts), Due: at, Started: at, Action: action, Result: bellman.Accepted, Status: 200}}}}
		if err := m.fake.Commit(t.Context(), &b); err != nil || b.Changes[0].Err != nil {
			t.Fatal(err, b.Changes[0].Err)
		}
	}
}

func ended(task *bellman.Task) {
	task.State, task.Reason, task.Due, task.Finished = bellman.Succeeded, "closed", time.Time{}, t0
}

// An order whose queue is no longer configured is an order all the same.
func TestOrderOfNoQueue(t *testing.T) {
	m := make1(t, withOrders())
	c := dial(t, m, "")
	own := m.place(t, "orders", "M1/1", order.Standing{State: "PAID"}, func(o *bellman.Task) {
		ended(o)
		o.Queue, o.Body = "gone", placed(t0, 0)
	})
	m.place(t, "gone", "told", order.Standing{}, nil)
	o, err := c.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: "1"}, 0)
	if err != nil || o.OrderState != "PAID" || len(o.Tasks) != 2 {
		t.Fatalf("%+v, %v; want it PAID, with two tasks", o, err)
	}
	for _, k := range o.Tasks {
		if kind := map[bool]string{true: "order", false: "notify"}[k.ID == own.ID.String()]; k.Kind != kind {
			t.Errorf("%s is shown as of kind %s; want %s", k.Key, k.Kind, kind)
		}
	}
}

// An order says its price and numbers, and the payment that decided it or came late, whichever of
// its tasks found it.
func TestOrderSaysWhatWasPaid(t *testing.T) {
	m := make1(t, withOrders())
	c := dial(t, m, "")
	number, asked := 0, `{"account":"shop1","channel_order_no":"P1","amount":8888,"currency":"CNY"}`
	taken := func(text string) func(*bellman.Task) {
		return func(o *bellman.Task) {
			o.OrderNo, o.Body = fmt.Sprint(number), []byte(asked)
			if l, err := order.ParseLife(o.Data); err == nil && text != "" {
				l.Taken = json.RawMessage(text)
				o.Data, _ = json.Marshal(l)
			}
		}
	}
	const paid = `{"transaction_id":"T1","amount":8888,"currency":"CNY","paid_at":"2026-11-20T23:04:05+08:00","buyer":"b"}`
	whole := &client.Payment{TransactionID: "T1", Amount: 8888, Currency: "CNY", PaidAt: client.At(t0.Truncate(time.Second))}
	for _, tt := range []struct {
		state, taken, late string
		want               *client.Payment
	}{
		{"PENDING", "", "", nil},
		{"PAID", paid, "", whole},
		{"CLOSED", "", paid, whole},
		{"UNKNOWN", `{"transaction_id":"T2","amount":1,"currency":"CNY"}`, "", &client.Payment{TransactionID: "T2", Amount: 1, Currency: "CNY"}},
		{"PAID", `{"transaction_id":7,"amount":"88.88","paid_at":"soon","currency":"CNY"}`, "", &client.Payment{Currency: "CNY"}},
		{"PAID", `{"buyer":"b"}`, "", nil},
	} {
		number++
		own := m.place(t, "orders", fmt.Sprint("own", number), order.Standing{State: tt.state}, taken(tt.taken))
		if tt.late != "" {
			m.place(t, "orders", fmt.Sprint("late", number), order.Standing{State: tt.state, Late: "PAID", Beside: true}, taken(tt.late))
		}
		o, err := c.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: fmt.Sprint(number)}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(o.Payment, tt.want) || o.ChannelOrderNo != "P1" || o.Account != "shop1" || o.Amount != 8888 || o.Currency != "CNY" {
			t.Errorf("%s, taken %s, late %s: payment %+v in %+v; want %+v", tt.state, tt.taken, tt.late, o.Payment, o, tt.want)
		}
		if k, err := c.Task(t.Context(), client.ByID(own.ID.String())); err != nil || tt.late == "" && !reflect.DeepEqual(k.Payment, tt.want) {
			t.Errorf("%s: the task has payment %+v, %v; want %+v", tt.state, k.Payment, err, tt.want)
		}
	}
}

// An order is found behind more notices than are shown.
func TestOrderBehindManyNotices(t *testing.T) {
	m := make1(t, withOrders())
	c := dial(t, m, "")
	m.place(t, "orders", "M1/1", order.Standing{State: "PAID"}, nil)
	for i := range 2*orderTasks + 10 {
		m.place(t, "orders", fmt.Sprint("n", i), order.Standing{State: "PAID"}, func(n *bellman.Task) {
			n.Event, n.Data, n.Body = order.EventNotice, nil, []byte(`{"notice":{"result":"duplicate","of":"payment"}}`)
		})
	}
	o, err := c.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: "1"}, 0)
	if err != nil || o.OrderState != "PAID" || !o.More || len(o.Tasks) != orderTasks+1 {
		t.Errorf("%v, %d tasks, state %q, more %t; want the order and the newest notices", err, len(o.Tasks), o.OrderState, o.More)
	}
	if w := m.do("POST", "/v1/orders/M1/1/cancel", `{}`); w.Code == 404 {
		t.Errorf("cancel: %d %s; want the order found", w.Code, w.Body)
	}
}

func TestOrderInTimeOrder(t *testing.T) {
	m := make1(t, withOrders())
	c := dial(t, m, "")
	if _, err := c.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: "1"}, 0); client.StatusOf(err) != 404 {
		t.Fatalf("an order that is not there: %v", err)
	}
	own := m.place(t, "orders", "M1/1", order.Standing{State: "CLOSED"}, ended)
	watch := m.place(t, "orders", "M1/1/late_watch", order.Standing{State: "CLOSED", Late: "PAID", Beside: true}, ended)
	told := m.place(t, "q", "told", order.Standing{}, nil)
	m.place(t, "orders", "M2/1", order.Standing{State: "PAID"}, func(o *bellman.Task) { o.MerchantNo = "M2" })
	m.place(t, "orders", "M1/2", order.Standing{State: "PAID"}, func(o *bellman.Task) { o.OrderNo = "2" })
	m.tried(t, own, "query", 0, 3, 8)
	m.tried(t, own, "close", 9)
	m.tried(t, told, "", 10, 25)
	m.tried(t, watch, "query", 12, 13)
	o, err := c.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: "1"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if o.MerchantNo != "M1" || o.OrderNo != "1" || o.OrderState != "CLOSED" || o.LatePayment != "PAID" || o.More {
		t.Errorf("order %+v", o)
	}
	var tasks, attempts []string
	for _, task := range o.Tasks {
		tasks = append(tasks, task.Kind+" "+task.Key+" "+task.OrderState+" "+task.LatePayment+" "+task.Method)
	}
	if got, want := strings.Join(tasks, "; "), "order M1/1 CLOSED  ; order M1/1/late_watch CLOSED PAID ; notify told   POST"; got != want {
		t.Errorf("tasks %s; want %s", got, want)
	}
	names := map[string]string{own.ID.String(): "own", watch.ID.String(): "watch", told.ID.String(): "told"}
	for _, a := range o.Attempts {
		attempts = append(attempts, fmt.Sprintf("%v %s %s %d %s", a.Started.Sub(t0), names[a.Task], a.Queue, a.Number, a.Action))
	}
	want := "0s own orders 1 query; 3s own orders 2 query; 8s own orders 3 query; 9s own orders 4 close; 10s told q 1 ; " +
		"12s watch orders 1 query; 13s watch orders 2 query; 25s told q 2 "
	if got := strings.Join(attempts, "; "); got != want {
		t.Errorf("attempts\n%s\nwant\n%s", got, want)
	}
}

func TestOrderIsBounded(t *testing.T) {
	ref := client.OrderRef{MerchantNo: "M1", OrderNo: "1"}
	t.Run("tasks", func(t *testing.T) {
		m := make1(t, withOrders())
		for i := range orderTasks {
			m.place(t, "q", fmt.Sprint(i), order.Standing{}, nil)
		}
		c := dial(t, m, "")
		if o, err := c.Order(t.Context(), ref, 0); err != nil || len(o.Tasks) != orderTasks || o.More {
			t.Errorf("%d tasks, more %t, %v; want all %d", len(o.Tasks), o.More, err, orderTasks)
		}
		m.place(t, "q", "newest", order.Standing{}, nil)
		o, err := c.Order(t.Context(), ref, 0)
		if err != nil || len(o.Tasks) != orderTasks || !o.More || o.Tasks[orderTasks-1].Key != "newest" || o.Tasks[0].Key != "1" {
			t.Errorf("%d tasks, more %t, %v; want the newest %d", len(o.Tasks), o.More, err, orderTasks)
		}
	})
	t.Run("attempts", func(t *testing.T) {
		m := make1(t, withOrders())
		var seconds []int
		for i := range newestAttempts + 1 {
			seconds = append(seconds, i)
		}
		m.tried(t, m.place(t, "q", "0", order.Standing{}, nil), "", seconds...)
		c := dial(t, m, "")
		o, err := c.Order(t.Context(), ref, 0)
		if err != nil || len(o.Attempts) != newestAttempts || !o.More || o.Attempts[0].Number != 2 {
			t.Errorf("%d attempts, more %t, %v; want the newest %d", len(o.Attempts), o.More, err, newestAttempts)
		}
		for i := range 11 {
			m.tried(t, m.place(t, "q", fmt.Sprint(i+1), order.Standing{}, nil), "", seconds[:newestAttempts]...)
		}
		o, err = c.Order(t.Context(), ref, 0)
		if err != nil || len(o.Attempts) != orderAttempts || !o.More {
			t.Fatalf("%d attempts, more %t, %v; want %d", len(o.Attempts), o.More, err, orderAttempts)
		}
		if first := o.Attempts[0].Started.Sub(t0); first < 100*time.Second || !slices.IsSortedFunc(o.Attempts, func(a, b client.OrderAttempt) int { return a.Started.Compare(b.Started.Time) }) {
			t.Errorf("the first is at %v; want the newest, in time order", first)
		}
	})
}

func TestOrderByItsNumber(t *testing.T) {
	m := make1(t, withOrders())
	c := dial(t, m, "")
	ref := client.OrderRef{MerchantNo: "M1", OrderNo: "1"}
	paid := client.CompleteTask{Outcome: "PAID"}
	refused := func(want int, what string) {
		t.Helper()
		_, err := c.CompleteOrder(t.Context(), ref, paid)
		_, also := c.CancelOrder(t.Context(), ref, client.Because{})
		if got := m.fake.called(); client.StatusOf(err) != want || client.StatusOf(also) != want || got != "" {
			t.Errorf("%s: %v, %v, called %q; want %d", what, err, also, got, want)
		}
	}
	done := func(on *bellman.Task) {
		t.Helper()
		task, err := c.CompleteOrder(t.Context(), ref, paid)
		check(t, m, err, `complete "PAID" "" "callback"`)
		if err == nil && task.ID != on.ID.String() {
			t.Errorf("completed %s; want %s", task.Key, on.Key)
		}
		task, err = c.CancelOrder(t.Context(), ref, client.Because{Reason: "twice"})
		check(t, m, err, `cancel "" "twice"`)
		if err == nil && task.ID != on.ID.String() {
			t.Errorf("cancelled %s; want %s", task.Key, on.Key)
		}
	}
	refused(404, "nothing")
	m.place(t, "q", "told", order.Standing{}, nil)
	refused(404, "a notification alone")
	done(m.place(t, "orders", "1", order.Standing{State: "CLOSED"}, ended))
	done(m.place(t, "orders", "2", order.Standing{State: "UNKNOWN"}, ended))
	open := m.place(t, "orders", "3", order.Standing{State: "PENDING"}, nil)
	done(open)
	m.place(t, "orders", "4", order.Standing{State: "PAID"}, ended)
	m.place(t, "orders", "5", order.Standing{State: "CLOSED", Beside: true}, nil)
	done(open)
	m.place(t, "orders", "6", order.Standing{State: "PENDING"}, nil)
	refused(409, "two that are pending")
}

// Numbers may hold anything that a task's may.
func TestOrderNumbersInPaths(t *testing.T) {
	m := make1(t, withOrders())
	c := dial(t, m, "")
	for _, n := range []string{"1", "a/b", "/a/", "a//b", ".", "..", "a/../b", "a b+c", "100%", "%2F", "支付/1", "settle", "complete", "?q#f"} {
		for _, ref := range []client.OrderRef{{MerchantNo: n, OrderNo: "1"}, {MerchantNo: "M", OrderNo: n}, {MerchantNo: n, OrderNo: n}} {
			key := url.QueryEscape(ref.MerchantNo + " " + ref.OrderNo)
			task, _, err := c.Create(t.Context(), client.CreateTask{Queue: "orders", Key: key, MerchantNo: ref.MerchantNo, OrderNo: ref.OrderNo})
			if err != nil {
				t.Fatal(err)
			}
			o, err := c.Order(t.Context(), ref, 0)
			if err != nil || o.MerchantNo != ref.MerchantNo || o.OrderNo != ref.OrderNo || !slices.ContainsFunc(o.Tasks, func(one client.Task) bool { return one.ID == task.ID }) {
				t.Errorf("%q: %+v, %v", ref, o, err)
			}
			if ref.MerchantNo == ref.OrderNo || ref.OrderNo == "1" && n == "1" {
				continue // there are two of these
			}
			if done, err := c.CompleteOrder(t.Context(), ref, client.CompleteTask{Outcome: "PAID"}); err != nil || done.ID != task.ID {
				t.Errorf("complete %q: %+v, %v", ref, done, err)
			}
			if done, err := c.CancelOrder(t.Context(), ref, client.Because{}); err != nil || done.ID != task.ID {
				t.Errorf("cancel %q: %+v, %v", ref, done, err)
			}
		}
	}
}

// What was asked for is shown as it was, and nothing of how it is kept.
func TestOrderAsItWasAskedFor(t *testing.T) {
	m := make1(t, withOrders())
	c := dial(t, m, "")
	in := client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "1", Expires: "15m", CodeLife: "72h", Vars: map[string]string{"app_id": "wx1"},
		Notify: &client.Notify{URL: "https://merchant.example/n?a=<b>", JSON: json.RawMessage(`{"a":"<>"}`)}}
	task, created, err := c.Create(t.Context(), in)
	if err != nil || !created || task.Key != "M1/1" || task.Kind != "order" || task.OrderState != "PENDING" || task.Method != "" || task.URL != "" {
		t.Fatalf("Create = %+v, %t, %v", task, created, err)
	}
	if again, created, err := c.Create(t.Context(), in); err != nil || created || again.ID != task.ID {
		t.Errorf("the same again: %+v, %t, %v", again, created, err)
	}
	in.Expires = "16m"
	if _, _, err := c.Create(t.Context(), in); client.StatusOf(err) != 409 {
		t.Errorf("the same with another expiry: %v; want 409", err)
	}
	d, err := c.Task(t.Context(), client.ByID(task.ID))
	if err != nil {
		t.Fatal(err)
	}
	r := d.Request
	if r.Expires != "15m" || r.CodeLife != "72h" || r.Vars["app_id"] != "wx1" || r.Notify == nil || r.Notify.URL != in.Notify.URL || r.Body != "" || r.Method != "" || len(r.Headers) != 0 {
		t.Errorf("request %+v", r)
	}
	var told map[string]string
	if err := json.Unmarshal(r.Notify.JSON, &told); err != nil || told["a"] != "<>" {
		t.Errorf("notify.json %s", r.Notify.JSON)
	}
	results, err := c.CreateBatch(t.Context(), []client.CreateTask{{Queue: "orders", MerchantNo: "M1", OrderNo: "2"}, {Queue: "orders", MerchantNo: "M1"}, {Queue: "q", URL: "http://m/n", Expires: "1m"},
		{Queue: "q", URL: "http://m/n", CodeLife: "1m"}, {Queue: "orders", MerchantNo: "M1", OrderNo: "3", CodeLife: "2"}})
	if err != nil || len(results) != 5 || results[0].Task == nil || results[0].Task.OrderState != "PENDING" ||
		results[1].Error.Errors[0].Location != "body.tasks[1].order_no" || results[2].Error.Errors[0].Location != "body.tasks[2].expires" ||
		results[3].Error.Errors[0].Location != "body.tasks[3].code_life" || results[4].Error.Errors[0].Location != "body.tasks[4].code_life" {
		t.Errorf("CreateBatch = %+v, %v", results, err)
	}
	page, err := c.List(t.Context(), client.Filter{OrderNo: "1"}, 0, "")
	if err != nil || len(page.Tasks) != 1 || page.Tasks[0].OrderState != "PENDING" {
		t.Errorf("List = %+v, %v", page, err)
	}
}

// An order says itself when it was created: then that is what was asked for.
func TestOrderCreated(t *testing.T) {
	c := dial(t, make1(t, withOrders()), "")
	at := client.At(time.Now().Add(30 * time.Second)) // the clock of whoever creates it is ahead
	for _, tt := range []struct {
		at     client.Time
		status int // 0: it is taken
	}{
		{at, 0}, {at, 0}, {client.At(at.Add(-time.Millisecond)), 409}, {client.Time{}, 409},
	} {
		task, created, err := c.Create(t.Context(), client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "1", OrderCreated: tt.at})
		if client.StatusOf(err) != tt.status {
			t.Fatalf("%v: %v; want %d", tt.at, err, tt.status)
		}
		if err != nil {
			continue
		}
		if d, err := c.Task(t.Context(), client.ByID(task.ID)); err != nil || d.Request.OrderCreated != at {
			t.Errorf("created %t: %v, %v; want %v", created, d.Request.OrderCreated, err, at)
		}
	}
	_, _, err := c.Create(t.Context(), client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "2", OrderCreated: client.At(time.Now().Add(time.Hour))})
	if err == nil || !strings.Contains(err.Error(), "body.order_created: is more than a minute after this server's now, ") {
		t.Errorf("created in an hour: %v", err)
	}
}
