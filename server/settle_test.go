package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
)

// A cashier is a payment channel that speaks as WeChat Pay's API v3 does.
type cashier struct {
	mu     sync.Mutex
	states map[string]string // trade_state by order number; none: NOTPAY
}

func (c *cashier) is(order, state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states[order] = state
}

func (c *cashier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	order, closing := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/orders/"), "/close")
	state := c.states[order]
	switch {
	case closing && state == "":
		c.states[order] = "CLOSED"
		fallthrough
	case closing && state == "CLOSED":
		w.WriteHeader(http.StatusNoContent)
	case closing:
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"code":"ORDERPAID","message":"paid"}`)
	default:
		if state == "" {
			state = "NOTPAY"
		}
		fmt.Fprintf(w, `{"out_trade_no":%q,"trade_state":%q,"transaction_id":"4200001","amount":{"total":1299}}`, order, state)
	}
}

// shop is a server with a queue of orders at a cashier, and a merchant who is told.
func shop(t *testing.T) (at *cashier, api *client.Client, told func() []map[string]any) {
	t.Helper()
	at = &cashier{states: map[string]string{}}
	channel := httptest.NewServer(at)
	t.Cleanup(channel.Close)
	var mu sync.Mutex
	var heard []map[string]any
	merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, body)
		io.WriteString(w, "success")
	}))
	t.Cleanup(merchant.Close)
	settings, err := config.Parse([]byte(strings.NewReplacer("CHANNEL", channel.URL, "MERCHANT", merchant.URL).Replace(`
queues:
  tell: {url: "MERCHANT/notify"}
  orders:
    kind: order
    query: {method: GET, url: "CHANNEL/orders/{order_no}"}
    close: {method: POST, url: "CHANNEL/orders/{order_no}/close"}
    states: wechat_v3
    close_states: wechat_v3
    schedule: 1s, 10m*
    on_exhausted: close
    confirm: 0s, 200ms
    then: tell
`)))
	if err != nil {
		t.Fatal(err)
	}
	api, _, _ = serve(t, t.TempDir(), func(c *config.Config) { c.Queues = settings.Queues })
	return at, api, func() []map[string]any {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(heard)
	}
}

// placed places an order. Without a schedule it is asked about after a second, as the queue says.
func placed(t *testing.T, api *client.Client, number, schedule string, expires time.Duration) client.OrderRef {
	t.Helper()
	task := create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: number, Schedule: schedule, Expires: fmt.Sprintf("%dms", expires.Milliseconds()),
		Vars: map[string]string{"app_id": "wx1"}, Notify: &client.Notify{JSON: json.RawMessage(`{"shop":"M1"}`)}})
	if task.Kind != "order" || task.OrderState != "PENDING" || task.State != "pending" || task.Key != "M1/"+number {
		t.Errorf("placed %+v", task)
	}
	return client.OrderRef{MerchantNo: "M1", OrderNo: number}
}

// An order that nobody pays is closed while it is settled, and the answer never shows a state that
// should have ended.
func TestSettleAnExpiredOrder(t *testing.T) {
	t.Parallel()
	at, api, told := shop(t)
	ref := placed(t, api, "1", "", 1200*time.Millisecond)
	o, err := api.Order(t.Context(), ref, 0)
	if err != nil || len(o.Tasks) == 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	expires := o.Tasks[0].Created.Add(1200 * time.Millisecond)
	if time.Now().Before(o.Tasks[0].Created.Add(time.Second)) && (o.OrderState != "PENDING" || len(o.Tasks) != 1 || len(o.Attempts) != 0) {
		t.Fatalf("%+v; want nothing asked yet", o)
	}
	passes(t, "expired", func() bool {
		if _, err := api.Order(t.Context(), ref, 0); err != nil {
			t.Fatal(err)
		}
		return time.Now().After(expires)
	})
	if o, err = api.Order(t.Context(), ref, time.Minute); err != nil || o.OrderState != "CLOSED" || o.LatePayment != "" {
		t.Fatalf("%+v, %v; want it closed", o, err)
	}
	var asked []string
	for _, a := range o.Attempts {
		if a.Queue == "orders" {
			asked = append(asked, a.Action+" "+a.Reading)
		}
	}
	// A slow machine asks only once before the close, when the order has expired already.
	if got := strings.Join(slices.Compact(asked), ", "); got != "query PENDING, close closed, query CLOSED" {
		t.Errorf("asked were %s; want a query or two, the close, and one more, and how each was read", got)
	}

	// Reconciliation finds that it was paid all the same, and tells the merchant once.
	at.is("1", "SUCCESS")
	for range 2 {
		results, err := api.SettleOrders(t.Context(), []client.OrderRef{ref, {MerchantNo: "M1", OrderNo: "none"}}, time.Minute, client.Because{})
		if err != nil || len(results) != 2 || results[1].Status != 404 || results[1].Asked {
			t.Fatalf("%+v, %v", results, err)
		}
		if r := results[0]; r.Status != 200 || !r.Asked || r.OrderState != "CLOSED" || r.LatePayment != "PAID" || r.Last == nil || r.Last.Status != 200 {
			t.Errorf("%+v; want a late payment", r)
		}
	}
	if o, err = api.Order(t.Context(), ref, time.Minute); err != nil || o.OrderState != "CLOSED" || o.LatePayment != "PAID" {
		t.Errorf("%+v, %v; want a late payment", o, err)
	}
	events := func() (events []string) {
		for _, k := range o.Tasks {
			events = append(events, k.Queue+" "+k.Event)
		}
		return events
	}
	if got := events(); !slices.Equal(got, []string{"orders order.watch", "tell order.closed", "orders order.late_watch", "tell order.late_payment"}) {
		t.Errorf("tasks %q", got)
	}
	for _, k := range o.Tasks {
		if k.Queue == "tell" {
			until(t, api, k.ID, func(d *client.TaskDetail) bool { return d.State == "succeeded" })
		}
	}
	heard := told()
	if len(heard) != 2 || heard[0]["order_state"] != "CLOSED" || heard[0]["shop"] != "M1" || heard[1]["late_payment"] != "PAID" {
		t.Errorf("the merchant was told %v", heard)
	}
}

// An expired order whose next attempt is much later is closed by a settle. An order that has not
// expired is left alone.
func TestSettleBeforeItsTurn(t *testing.T) {
	_, api, _ := shop(t)
	place := func(number, expires string) *client.Task {
		return create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: number, Schedule: "1h*", Expires: expires})
	}
	place("open", "30m")
	expired := place("expired", "1ms").Created
	for !time.Now().After(expired.Add(5 * time.Millisecond)) {
		if _, err := api.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: "open"}, 0); err != nil {
			t.Fatal(err)
		}
	}
	o, err := api.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: "expired"}, time.Minute)
	if err != nil || o.OrderState != "CLOSED" {
		t.Errorf("%+v, %v; want it closed", o, err)
	}
	start := time.Now()
	o, err = api.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: "open"}, time.Minute)
	if err != nil || o.OrderState != "PENDING" || len(o.Attempts) != 0 || time.Since(start) > 30*time.Second {
		t.Errorf("%+v, %v after %v; want it left alone", o, err, time.Since(start))
	}
}

func TestSettleAsksNow(t *testing.T) {
	at, api, _ := shop(t)
	paid, open := placed(t, api, "paid", "1h*", time.Hour), placed(t, api, "open", "1h*", time.Hour)
	at.is("paid", "SUCCESS")
	results, err := api.SettleOrders(t.Context(), []client.OrderRef{open, paid, open}, time.Minute, client.Because{})
	if err != nil || len(results) != 3 {
		t.Fatalf("%+v, %v", results, err)
	}
	for i, want := range []string{"PENDING", "PAID", "PENDING"} {
		if r := results[i]; r.Status != 200 || !r.Asked || r.OrderState != want {
			t.Errorf("%+v; want %s", r, want)
		}
	}
	d, err := api.Task(t.Context(), client.ByKey("orders", "M1/open"))
	if err != nil || len(d.AttemptLog) == 0 || d.AttemptLog[0].Trigger != "settle" || d.State != "pending" ||
		d.Request.Vars["app_id"] != "wx1" || d.Request.Expires != "1h" || d.Request.Body != "" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestCompleteAnOrder(t *testing.T) {
	_, api, _ := shop(t)
	ref := placed(t, api, "1", "", time.Hour)
	for _, outcome := range []string{"", "PENDING", "paid"} {
		_, err := api.CompleteOrder(t.Context(), ref, client.CompleteTask{Outcome: outcome})
		_, also := api.Complete(t.Context(), client.ByKey("orders", "M1/1"), client.CompleteTask{Outcome: outcome})
		for _, err := range []error{err, also} {
			if client.StatusOf(err) != 422 || !strings.Contains(err.Error(), "body.outcome") {
				t.Errorf("complete as %q: %v; want 422", outcome, err)
			}
		}
	}
	task, err := api.CompleteOrder(t.Context(), ref, client.CompleteTask{Outcome: "PAID"})
	if err != nil || task.State != "succeeded" || task.OrderState != "PAID" {
		t.Fatalf("%+v, %v", task, err)
	}
	o, err := api.Order(t.Context(), ref, time.Minute)
	if err != nil || o.OrderState != "PAID" || len(o.Tasks) != 2 || o.Tasks[1].Event != "order.paid" || o.Tasks[1].Kind != "notify" || o.Tasks[1].OrderState != "" {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := api.CompleteOrder(t.Context(), ref, client.CompleteTask{Outcome: "CLOSED"}); client.StatusOf(err) != 409 {
		t.Errorf("complete otherwise: %v; want 409", err)
	}
	if _, err := api.CancelOrder(t.Context(), ref, client.Because{}); client.StatusOf(err) != 409 {
		t.Errorf("cancel what is decided: %v; want 409", err)
	}

	other := placed(t, api, "2/3", "", time.Hour)
	if task, err = api.CancelOrder(t.Context(), other, client.Because{Reason: "test"}); err != nil || task.State != "cancelled" || task.OrderState != "UNKNOWN" {
		t.Errorf("%+v, %v", task, err)
	}
	if o, err = api.Order(t.Context(), other, 0); err != nil || o.OrderState != "UNKNOWN" || o.OrderNo != "2/3" {
		t.Errorf("%+v, %v", o, err)
	}
}

// As many orders as one call takes are asked about and waited for.
func TestSettleAThousand(t *testing.T) {
	at, api, _ := shop(t)
	var in []client.CreateTask
	var refs []client.OrderRef
	for i := range 1000 {
		n := fmt.Sprint(i)
		refs = append(refs, client.OrderRef{MerchantNo: "M1", OrderNo: n})
		in = append(in, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: n, Schedule: "1h*", Notify: &client.Notify{JSON: json.RawMessage(`{}`)}})
		if i%2 == 0 {
			at.is(n, "SUCCESS")
		}
	}
	if _, err := api.CreateBatch(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	asked := make(map[client.OrderRef]bool)
	passes(t, "all asked", func() bool { // in a minute, a slow machine asks some of them
		results, err := api.SettleOrders(t.Context(), refs, time.Minute, client.Because{})
		if err != nil || len(results) != len(refs) {
			t.Fatalf("%d results, %v", len(results), err)
		}
		for i, r := range results {
			asked[refs[i]] = asked[refs[i]] || r.Asked
			if r.OrderRef != refs[i] || r.Asked && r.OrderState != []string{"PAID", "PENDING"}[i%2] {
				t.Errorf("result %d: %+v", i, r)
			}
		}
		return !slices.Contains(slices.Collect(maps.Values(asked)), false)
	})
}
