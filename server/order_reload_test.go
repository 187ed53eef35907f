package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
)

// Changed rules apply to orders that exist: the orders continue where they were, are queried, read
// and notified by the new rules, and keep their schedule.
func TestReloadKeepsOrders(t *testing.T) {
	d := newDesk(t)
	d.answer = func(_, _ string, _ int, r *http.Request) (int, string) {
		if strings.HasPrefix(r.URL.RawQuery, "v=2") {
			return http.StatusOK, `{"status":"paid"}`
		}
		return says("NOTPAY")
	}
	api, s := d.serve(t, d.settings(t, "then: tell", "schedule: 20ms*", "on_exhausted: close"))
	ref := many(t, api, 1, "1h")[0]
	passes(t, "polled", func() bool { return strings.Count(d.was("0"), "query") >= 3 })
	before, err := api.Order(t.Context(), ref, 0)
	if err != nil {
		t.Fatal(err)
	}
	changed := &config.Config{Queues: d.parse(t, `
queues:
  orders:
    kind: order
    query: {method: GET, url: "CHANNEL/{order_no}?v=2"}
    close: {method: POST, url: "CHANNEL/{order_no}/close"}
    states: {PAID: 'json.status == "paid"'}
    close_states: wechat_v3
    schedule: 1h*
    on_exhausted: alert
    then: {queue: tell2, json: {by: '"the new rules"'}}
  tell2: {url: "MERCHANT/notify"}
`)}
	if err := s.Reload(changed); err != nil {
		t.Fatal(err)
	}
	o, told := decided(t, d, api, ref)
	if o.OrderState != "PAID" || len(told) != 1 || told[0].Says["by"] != "the new rules" {
		t.Errorf("%s, told %v; want it PAID by the new rules", o.OrderState, told)
	}
	task := o.Tasks[0]
	if task.ID != before.Tasks[0].ID || task.Schedule != "20ms*" || task.Attempts < before.Tasks[0].Attempts || o.Tasks[1].Queue != "tell2" {
		t.Errorf("the task was %+v, and is %+v", before.Tasks[0], task)
	}
	for i, a := range o.Attempts[:task.Attempts] {
		if a.Number != i+1 {
			t.Errorf("attempt %d is number %d of the log", i+1, a.Number)
		}
	}
}

// decided waits until an order is.
func decided(t *testing.T, d *desk, api *client.Client, ref client.OrderRef) (*client.Order, []notice) {
	t.Helper()
	passes(t, "decided", func() bool {
		o, err := api.Order(t.Context(), ref, 0)
		return err == nil && o.OrderState != "PENDING"
	})
	return d.ends(t, api, ref)
}

// The orders of a queue that is no longer configured wait: the channel is not queried, nothing is
// decided, and they continue when the queue is back.
func TestQueueRemoved(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	open := d.closes()
	rules := []string{"then: tell", "schedule: 20ms*", "confirm: 0s", "late_watch: 0s", "on_exhausted: close"}
	api, s := d.serve(t, d.settings(t, rules...))
	refs := many(t, api, 20, "1s")
	created := time.Now()
	passes(t, "polled", func() bool { return d.requests() > 60 })
	if err := s.Reload(&config.Config{Queues: d.parse(t, `queues: {tell: {url: "MERCHANT/notify"}}`)}); err != nil {
		t.Fatal(err)
	}
	// What was in flight comes to its end; then it is quiet, beyond the expiry.
	quiet, since := d.requests(), time.Now()
	passes(t, "quiet for 300ms, and expired", func() bool {
		if now := d.requests(); now != quiet {
			quiet, since = now, time.Now()
		}
		return time.Since(since) > 300*time.Millisecond && time.Since(created) > 1100*time.Millisecond
	})
	for _, ref := range refs {
		o, err := api.Order(t.Context(), ref, 0)
		if err != nil || len(o.Tasks) != 1 || o.Tasks[0].State != "pending" || o.OrderState != "PENDING" {
			t.Fatalf("order %s without its queue: %+v, %v; want it PENDING", ref.OrderNo, o, err)
		}
	}
	_, _, err := api.Create(t.Context(), client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "more"})
	if client.StatusOf(err) != http.StatusUnprocessableEntity {
		t.Errorf("an order for a queue that is not there: %v; want 422", err)
	}
	results, err := api.SettleOrders(t.Context(), refs[:1], 100*time.Millisecond, client.Because{})
	if err != nil || results[0].Status != http.StatusAccepted || results[0].Asked || results[0].OrderState != "PENDING" {
		t.Errorf("settle an order without its queue: %+v, %v; want it still to come", results, err)
	}
	// Who would be told of the payment?
	if _, err = api.CompleteOrder(t.Context(), refs[0], client.CompleteTask{Outcome: "PAID"}); client.StatusOf(err) != http.StatusConflict {
		t.Errorf("complete an order without its queue: %v; want 409", err)
	}
	before := map[string]int{} // a slow machine comes to the expiry before the queue is removed
	for _, ref := range refs {
		before[ref.OrderNo] = strings.Count(d.was(ref.OrderNo), "close")
	}
	open.Store(true)
	if err := s.Reload(&config.Config{Queues: d.settings(t, rules...)}); err != nil {
		t.Fatal(err)
	}
	for _, ref := range refs {
		if o, told := decided(t, d, api, ref); o.OrderState != "CLOSED" || events(told) != "order.closed" || strings.Count(d.was(ref.OrderNo), "close") != before[ref.OrderNo]+1 {
			t.Errorf("order %s: %s, told %s, asked %s; want it CLOSED, once", ref.OrderNo, o.OrderState, events(told), d.was(ref.OrderNo))
		}
	}
}

// So does one that is missing at the next start.
func TestQueueMissingAtStart(t *testing.T) {
	d := newDesk(t)
	open := d.closes()
	dir := t.TempDir()
	start := func(queues []config.Queue) (*client.Client, func()) {
		api, _, stop := serve(t, dir, func(c *config.Config) { c.Queues = queues })
		return api, stop
	}
	orders := d.settings(t, "then: tell", "schedule: 300ms*", "confirm: 0s", "late_watch: 0s", "on_exhausted: close")
	api, stop := start(orders)
	ref := many(t, api, 1, "1s")[0]
	stop()
	asked := d.requests()

	api, stop = start(d.parse(t, `queues: {tell: {url: "MERCHANT/notify"}}`))
	o, err := api.Order(t.Context(), ref, 500*time.Millisecond) // it is overdue by then
	if err != nil || o.OrderState != "PENDING" || o.Tasks[0].Kind != "order" || o.Tasks[0].State != "pending" || d.requests() != asked {
		t.Errorf("an order without its queue: %+v, %v, %d requests; want it PENDING, and nobody asked", o, err, d.requests()-asked)
	}
	stop()

	open.Store(true)
	api, stop = start(orders)
	defer stop()
	if o, told := decided(t, d, api, ref); o.OrderState != "CLOSED" || events(told) != "order.closed" {
		t.Errorf("order %s: %s, told %s; want it CLOSED", ref.OrderNo, o.OrderState, events(told))
	}
}

// If a queue changes its kind, the tasks of the old kind wait: the data of an order is sent to
// nobody, and a notification is not read as an order.
func TestKindChanged(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rules := []string{"then: tell", "schedule: 20ms*", "late_watch: 0s", "on_exhausted: close"}
	api, s := d.serve(t, d.settings(t, rules...))
	ref := many(t, api, 1, "1h")[0]
	passes(t, "polled", func() bool { return strings.Count(d.was("0"), "query") >= 2 })
	held := func(id string) {
		t.Helper()
		passes(t, "held", func() bool {
			task, err := api.Task(t.Context(), client.ByID(id))
			return err == nil && task.State == "pending" && task.Last != nil && strings.HasPrefix(task.Last.Error, "not attempted: ")
		})
	}
	goOn := func(id string) {
		t.Helper()
		if _, err := api.Reschedule(t.Context(), client.ByID(id), client.RescheduleTask{Delay: "0s"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Reload(&config.Config{Queues: d.parse(t, `queues: {orders: {url: "MERCHANT/notify", schedule: "20ms*"}}`)}); err != nil {
		t.Fatal(err)
	}
	o, err := api.Order(t.Context(), ref, 0)
	if err != nil {
		t.Fatal(err)
	}
	held(o.Tasks[0].ID)
	notification := create(t, api, client.CreateTask{Queue: "orders", JSON: []byte(`{"n":1}`), Delay: "1h", Schedule: "0s, 1s*9"}).ID // not due before the queue changes
	if err := s.Reload(&config.Config{Queues: d.settings(t, rules...)}); err != nil {
		t.Fatal(err)
	}
	goOn(notification)
	goOn(o.Tasks[0].ID)
	polled := strings.Count(d.was("0"), "query")
	passes(t, "polled again", func() bool { return strings.Count(d.was("0"), "query") > polled })
	held(notification)
	if n := d.notices(); n != 0 {
		t.Errorf("the merchant heard %d things; want nothing", n)
	}
	if err := s.Reload(&config.Config{Queues: d.parse(t, `queues: {orders: {url: "MERCHANT/notify"}}`)}); err != nil {
		t.Fatal(err)
	}
	goOn(notification)
	passes(t, "told", func() bool { return d.notices() == 1 })
}

// A reload changes the pool's bounds at once.
func TestPoolReloaded(t *testing.T) {
	_, s, stop := serve(t, t.TempDir(), func(c *config.Config) { c.Pool = config.Pool{Floor: 3, Ceiling: 30} })
	defer stop()
	pool := func() config.Pool {
		g := s.Engine().Gauges(t.Context())
		return config.Pool{Floor: g.PoolFloor, Ceiling: g.PoolCeiling}
	}
	if got := pool(); got != (config.Pool{Floor: 3, Ceiling: 30}) {
		t.Errorf("the pool is %+v; want 3 and 30", got)
	}
	c := config.Default()
	c.Pool = config.Pool{Floor: 5, Ceiling: 50}
	if err := s.Reload(c); err != nil {
		t.Fatal(err)
	}
	if got := pool(); got != c.Pool {
		t.Errorf("after a reload the pool is %+v; want %+v", got, c.Pool)
	}
}
