package server_test

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// A channel that says FREQUENCY_LIMITED is asked less, as a whole account, and no
// order's fate changes by it.
func TestFrequencyLimited(t *testing.T) {
	const limit = 20 // requests in 100 ms
	var limited, paid atomic.Bool
	var mu sync.Mutex
	var window time.Time
	var used, refused, answered int
	d := newDesk(t)
	d.answer = func(no, _ string, _ int, _ *http.Request) (int, string) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(window) >= 100*time.Millisecond {
			window, used = now, 0
		}
		if used++; limited.Load() && used > limit {
			refused++
			return http.StatusTooManyRequests, `{"code":"FREQUENCY_LIMITED","message":"频率超限"}`
		}
		answered++
		if n, _ := strconv.Atoi(no); paid.Load() && n%2 == 0 {
			return says("SUCCESS")
		}
		return says("NOTPAY")
	}
	counts := func() (int, int) { mu.Lock(); defer mu.Unlock(); return answered, refused }
	rate := func(over time.Duration) (requests float64) {
		before := d.requests()
		time.Sleep(over) // the span that is measured
		return float64(d.requests()-before) / over.Seconds()
	}

	api, _ := d.serve(t, d.settings(t, "then: tell", "schedule: 50ms*", "late_watch: 0s", "on_exhausted: close"))
	refs := many(t, api, 200, "1h")
	passes(t, "polling", func() bool { return d.requests() > 400 })
	free := rate(500 * time.Millisecond)
	limited.Store(true)
	rate(500 * time.Millisecond) // in which the account finds its pace
	_, before := counts()
	slowed := rate(1500 * time.Millisecond)
	_, after := counts()
	t.Logf("%.0f requests/s, and %.0f/s, %d of them refused, with a limit of %d/s", free, slowed, after-before, 10*limit)
	if slowed > 1.5*10*limit || slowed < 10 || free < 3*10*limit {
		t.Errorf("%.0f requests/s, and %.0f/s once the channel allows %d/s", free, slowed, 10*limit)
	}
	for _, ref := range refs {
		if o, err := api.Order(t.Context(), ref, 0); err != nil || o.OrderState != "PENDING" {
			t.Fatalf("order %s: %+v, %v; want it PENDING: nothing is decided by being asked for less", ref.OrderNo, o, err)
		}
	}

	paid.Store(true)
	for i, ref := range refs {
		if i%2 != 0 {
			continue
		}
		passes(t, "paid", func() bool {
			o, err := api.Order(t.Context(), ref, 0)
			return err == nil && o.OrderState == "PAID"
		})
		if _, told := d.ends(t, api, ref); events(told) != "order.paid" {
			t.Errorf("order %s: told %s; want order.paid", ref.OrderNo, events(told))
		}
	}
	for i, ref := range refs {
		if o, err := api.Order(t.Context(), ref, 0); i%2 != 0 && (err != nil || o.OrderState != "PENDING" || o.Tasks[0].State != "pending") {
			t.Errorf("order %s: %+v, %v; want it PENDING still", ref.OrderNo, o, err)
		}
	}
}

// While nobody listens at the channel nothing is decided, though orders expire;
// when somebody does again all are.
func TestChannelDown(t *testing.T) {
	d := newDesk(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	d.channel = "http://" + addr
	d.answer = func(no, what string, _ int, _ *http.Request) (int, string) {
		n, _ := strconv.Atoi(no)
		switch {
		case n%2 == 0 && what == "query":
			return says("SUCCESS")
		case what == "close":
			return http.StatusNoContent, ""
		case strings.Contains(d.was(no), "close"):
			return says("CLOSED")
		}
		return says("NOTPAY")
	}
	api, _ := d.serve(t, d.settings(t, "then: tell", "schedule: 100ms*", "confirm: 0s", "late_watch: 0s", "on_exhausted: close"))
	l.Close() // connections are refused from here on
	refs := many(t, api, 30, "500ms")
	states := func() map[string]int {
		states := map[string]int{}
		for _, ref := range refs {
			o, err := api.Order(t.Context(), ref, 0)
			if err != nil {
				t.Fatal(err)
			}
			states[o.OrderState]++
		}
		return states
	}
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
		if now := states(); now["PENDING"] != len(refs) {
			t.Fatalf("%v while the channel is down; want all PENDING", now)
		}
	}
	if l, err = net.Listen("tcp", addr); err != nil {
		t.Skip("another process took the port: ", err)
	}
	channel := &http.Server{Handler: http.HandlerFunc(d.serveChannel)}
	var serving sync.WaitGroup
	serving.Go(func() { channel.Serve(l) })
	defer func() { channel.Close(); serving.Wait() }()
	passes(t, "all decided", func() bool { now := states(); return now["PAID"] == 15 && now["CLOSED"] == 15 })
	refused := 0
	for i, ref := range refs {
		want := []string{"order.paid", "order.closed"}[i%2]
		o, told := d.ends(t, api, ref)
		if events(told) != want {
			t.Errorf("order %s: told %s; want %s", ref.OrderNo, events(told), want)
		}
		if o.Attempts[0].Result == "unreachable" {
			refused++
		}
	}
	if refused < 10 { // what opens a breaker; the others wait behind it
		t.Errorf("%d orders were asked about while the channel was down; want 10 or more", refused)
	}
}

// What then.json takes from the answer that decides reaches the merchant, as it
// is, beside what the order brought and under its own fields. A field that the
// answer lacks is left out, and nothing else.
func TestThenJSON(t *testing.T) {
	d := newDesk(t)
	d.answer = func(string, string, int, *http.Request) (int, string) { return says("SUCCESS") }
	queues := d.parse(t, `
queues:
  orders:
    kind: order
    query: {method: GET, url: "CHANNEL/{order_no}"}
    close: {method: POST, url: "CHANNEL/{order_no}/close"}
    states: {PAID: 'json.trade_state == "SUCCESS"', PENDING: 'json.trade_state == "NOTPAY"'}
    close_states: wechat_v3
    schedule: 10ms*
    on_exhausted: close
    then:
      queue: tell
      json:
        txn: json.transaction_id
        yuan: double(json.amount.total) / 100.0
        cents: json.amount.total
        money: json.amount
        who: 'merchant_no + "/" + order_no + ": " + order_state'
        shop: vars.shop
        bad: json.nope.more
  tell: {}
`)
	api, _ := d.serve(t, queues)
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "7", Vars: map[string]string{"shop": "7"},
		Notify: &client.Notify{URL: d.merchant, JSON: []byte(`{"own":[1,2],"txn":"of the order"}`)}})
	_, told := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: "7"})
	if len(told) != 1 {
		t.Fatalf("told %v; want one", told)
	}
	says := told[0].Says
	delete(says, "decided_at")
	want := map[string]any{"txn": "4200001", "yuan": 12.99, "cents": 1299.0, "money": map[string]any{"total": 1299.0, "currency": "CNY"},
		"who": "M1/7: PAID", "shop": "7", "own": []any{1.0, 2.0}, "order_state": "PAID", "merchant_no": "M1", "order_no": "7"}
	if fmt.Sprint(says) != fmt.Sprint(want) {
		t.Errorf("told %v; want %v", says, want)
	}
}
