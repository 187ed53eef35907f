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
	"github.com/bellmanhq/bellman/internal/freeport"
)

// A channel that answers FREQUENCY_LIMITED gets fewer requests for the whole account, and no
// order's state changes by it.
func TestFrequencyLimited(t *testing.T) {
	var limit atomic.Int64 // requests in 100 ms; 0: any number
	var paid atomic.Bool
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
		if used++; limit.Load() > 0 && used > int(limit.Load()) {
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
	// rate is that of the next so many requests, which may take any time.
	rate := func(n int) (requests float64) {
		before, began := d.requests(), time.Now()
		passes(t, "asked", func() bool { return d.requests() >= before+n })
		return float64(d.requests()-before) / time.Since(began).Seconds()
	}

	api, _ := d.serve(t, d.settings(t, "then: tell", "schedule: 50ms*", "late_watch: 0s", "on_exhausted: close"))
	refs := many(t, api, 100, "1h")
	passes(t, "polling", func() bool { return d.requests() > 200 })
	free := rate(500)
	allowed := 10 * max(2, int64(free/100)) // a tenth of what this machine does unlimited
	limit.Store(allowed / 10)
	var slowed float64
	passes(t, "asked less than half as often", func() bool {
		slowed = rate(int(allowed))
		return slowed < free/2
	})
	_, after := counts()
	t.Logf("%.0f requests/s, and %.0f/s, %d in all refused, with a limit of %d/s", free, slowed, after, allowed)
	if after == 0 {
		t.Errorf("none of the requests was refused, with a limit of %d/s", allowed)
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

// While the channel is down, nothing is decided, although orders expire. When it is back, all are
// decided.
func TestChannelDown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	addr := freeport.Address(t)
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
	refused := func() (n int) {
		for _, ref := range refs {
			o, err := api.Order(t.Context(), ref, 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(o.Attempts) > 0 && o.Attempts[0].Result == "unreachable" {
				n++
			}
		}
		return n
	}
	// Beyond the expiry; and ten failures open a breaker, behind which the others wait.
	end := time.Now().Add(1500 * time.Millisecond)
	passes(t, "expired, and refused", func() bool {
		if now := states(); now["PENDING"] != len(refs) {
			t.Fatalf("%v while the channel is down; want all PENDING", now)
		}
		return time.Now().After(end) && refused() >= 10
	})
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	channel := &http.Server{Handler: http.HandlerFunc(d.serveChannel)}
	var serving sync.WaitGroup
	serving.Go(func() { channel.Serve(l) })
	defer func() { channel.Close(); serving.Wait() }()
	passes(t, "all decided", func() bool { now := states(); return now["PAID"] == 15 && now["CLOSED"] == 15 })
	for i, ref := range refs {
		want := []string{"order.paid", "order.closed"}[i%2]
		if _, told := d.ends(t, api, ref); events(told) != want {
			t.Errorf("order %s: told %s; want %s", ref.OrderNo, events(told), want)
		}
	}
}

// The fields that then.json takes from the deciding answer reach the merchant unchanged. They
// override the fields of the order's notify.json, and bellman's own fields override both. A field
// that the answer lacks is left out, and no other.
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
