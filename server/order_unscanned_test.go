package server_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/keytest"
)

// unscanned answers as Alipay does about codes that nobody has scanned: there is no such trade,
// neither to a query nor to a close. Of orders whose number begins with forged this is not signed
// by Alipay; those that begin with late are paid after the two queries that confirm the close.
func (p *provider) unscanned(w http.ResponseWriter, r *http.Request) {
	method, content := p.alipayAsked(r, "2014072300007148")
	m := tradeNo.FindStringSubmatch(content)
	if m == nil {
		p.t.Errorf("asked about no trade: %s", content)
		return
	}
	no := m[1]
	p.act(no, strings.TrimPrefix(method, "alipay.trade."))
	text := `{"code":"40004","msg":"Business Failed","sub_code":"ACQ.TRADE_NOT_EXIST","sub_msg":"交易不存在"}`
	if strings.HasPrefix(no, "late") {
		p.mu.Lock()
		_, since, _ := strings.Cut(strings.Join(p.asked[no], " "), "close")
		p.mu.Unlock()
		if strings.Count(since, "query") > 2 {
			text = fmt.Sprintf(`{"code":"10000","msg":"Success","out_trade_no":%q,"total_amount":"12.99","trade_no":"4200001","trade_status":"TRADE_SUCCESS"}`, no)
		}
	}
	signature := p.sign(text)
	if strings.HasPrefix(no, "forged") {
		signature = p.sign("something else")
	}
	fmt.Fprintf(w, `{"%s_response":%s,"sign":"%s"}`, strings.ReplaceAll(method, ".", "_"), text, signature)
}

// An order that nobody scans, from the API to Alipay and the merchant, with the defaults of the
// channel: it is closed once, raises no alert, and is watched for a payment as long as its code can
// be paid.
func TestNobodyScans(t *testing.T) {
	t.Parallel()
	p, d := newProvider(t), newDesk(t)
	at := httptest.NewServer(http.HandlerFunc(p.unscanned))
	t.Cleanup(at.Close)
	private, _ := keyFiles(t, p)
	queue := func(name, life string) string {
		return `
  ` + name + `:
    kind: order
    channel: {kind: alipay, url: "` + at.URL + `/gateway.do", app_id: "2014072300007148", private_key: "file:` + private + `", alipay_public_keys: ["` + base64.StdEncoding.EncodeToString(keytest.Public(p.own)) + `"]}
    on_exhausted: close
    schedule: 20ms, 1h*
    confirm: 0s, 10ms
    late_watch: 1ms
    then: tell` + life
	}
	api, s := d.serve(t, d.parse(t, "\nqueues:\n  tell: {url: \"MERCHANT/notify\"}"+queue("orders", "\n    code_life: 2s")+queue("usual", "")))
	for _, no := range []string{"unpaid-1", "late-1"} {
		create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: no, Expires: "200ms"})
	}
	for _, no := range []string{"unpaid-2", "forged-2"} {
		create(t, api, client.CreateTask{Queue: "usual", MerchantNo: "M1", OrderNo: no, Expires: "200ms"})
	}
	// An order that says itself how long its code lives.
	create(t, api, client.CreateTask{Queue: "usual", MerchantNo: "M1", OrderNo: "unpaid-3", Expires: "200ms", CodeLife: "2s"})
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "unpaid-4", Expires: "200ms", CodeLife: "2h"})
	watched := func(o *client.Order) *client.Task {
		for i := range o.Tasks {
			if o.Tasks[i].Event == "order.late_watch" {
				return &o.Tasks[i]
			}
		}
		return nil
	}
	for _, no := range []string{"unpaid-1", "unpaid-2", "unpaid-3", "unpaid-4"} {
		o, told := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: no})
		p.mu.Lock()
		was := strings.Join(p.asked[no], " ")
		p.mu.Unlock()
		was, want := beforeExpiry(o, 200*time.Millisecond, was, "query query close query query")
		if o.OrderState != "CLOSED" || events(told) != "order.closed" || !strings.HasPrefix(was, want) || strings.Count(was, "close") != 1 {
			t.Errorf("order %s is %s, told %s, asked %s; want it closed once", no, o.OrderState, events(told), was)
		}
		if w := watched(o); w == nil {
			t.Errorf("order %s is not watched", no)
		} else if (no == "unpaid-2" || no == "unpaid-4") && (w.State != "pending" || time.Until(w.Due.Time) < 10*time.Second) {
			t.Errorf("the watch of %s is %s, due %v; want it to go on for two hours", no, w.State, w.Due)
		}
	}

	passes(t, "the watches of short codes end", func() bool {
		for no, want := range map[string]string{"unpaid-1": "watched", "late-1": "late_payment", "unpaid-3": "watched"} {
			o, err := api.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: no}, 0)
			if err != nil {
				t.Fatal(err)
			}
			if w := watched(o); w == nil || w.Reason != want || w.State != "succeeded" {
				return false
			}
		}
		return true
	})
	if _, told := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: "late-1"}); events(told) != "order.closed order.late_payment" {
		t.Errorf("late-1: told %s", events(told))
	}

	was := ""
	passes(t, "forged-2 is asked about again", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		was = strings.Join(p.asked["forged-2"], " ")
		return len(p.asked["forged-2"]) > 1
	})
	o, err := api.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: "forged-2"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if o.OrderState != "PENDING" || strings.Contains(was, "close") {
		t.Errorf("what Alipay did not sign: the order is %s, asked %s; want it asked again and nothing else", o.OrderState, was)
	}
	if text := scrape(t, s.Addr()); strings.Contains(text, `bellman_order_alerts_total{order_state="UNKNOWN"`) ||
		!strings.Contains(text, `bellman_order_alerts_total{order_state="CLOSED",queue="orders"} 1`) {
		t.Error("alerts: want one of the late payment, and no other")
	}
	if strings.Contains(d.log.String(), "UNKNOWN") {
		t.Error("the log says UNKNOWN")
	}
}
