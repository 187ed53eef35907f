package console

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

// An order that was given up is of nobody's concern any more when its payment was found.
func TestALatePaymentSettlesAnOrderThatWasGivenUp(t *testing.T) {
	s := open(t)
	for late, want := range map[string]string{"": "somebody has to look at it", "PAID": "a payment was found later"} {
		no := "given-up" + late
		s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: no, Status: bellman.Status{State: bellman.Failed, Finished: t0}}, order.Standing{State: "UNKNOWN", Late: late}, order.Ask{}), t0, bellman.Attempt{Started: t0})
		if got := s.get(t, orderAddress("M1", no), "Accept-Language: en").body; !strings.Contains(got, want) || late != "" && strings.Contains(got, "somebody has to look") {
			t.Errorf("the page of one with the late payment %q does not say %q, or says more", late, want)
		}
	}
}

// Who reads of a late or a second payment is sent to the refund that there is, so that nobody
// refunds it twice.
func TestRefundOfALatePaymentIsNamed(t *testing.T) {
	s := open(t)
	for no, o := range map[string]order.Standing{"late": {State: "CLOSED", Late: "PAID"}, "twice": {State: "PAID", Duplicates: 1}} {
		s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", Key: no, MerchantNo: "M1", OrderNo: no}, o, order.Ask{}), t0)
		for _, l := range []poll.Life{{}, {Stage: poll.Decided, State: poll.StateFailedThere, DecidedAt: 1}, {Stage: poll.Polling, State: poll.StatePending}} {
			if l.State != "" {
				ask := poll.Ask{RefNo: no + l.State, Vars: map[string]string{"amount": "990"}}
				body, err := ask.Encode()
				if err != nil {
					t.Fatal(err)
				}
				data, _ := json.Marshal(l)
				s.fake.add(t, &bellman.Task{Kind: bellman.KindPoll, Queue: "refunds", Key: no + l.State, MerchantNo: "M1", OrderNo: no, Body: body, Status: bellman.Status{Data: data}}, t0.Add(time.Hour))
			}
			named := strings.Contains(s.get(t, orderAddress("M1", no), "Accept-Language: en").body, "here is a refund or transfer of the order")
			if want := l.State == poll.StatePending; named != want {
				t.Errorf("%s with a refund that is %q: it is named: %t; want %t", no, l.State, named, want)
			}
		}
	}
}

// The address at which the merchant of an order is told is masked as a task's own is.
func TestAddressOfAnOrderIsMasked(t *testing.T) {
	s := open(t)
	notify := order.Notify{URL: "https://m.example/n?order=1&token=url-secret", JSON: []byte(`{"password":"json-secret"}`)}
	task := s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "masked"}, order.Standing{State: "PENDING"}, order.Ask{Notify: notify}), t0)
	for _, page := range []string{"/tasks/" + task.ID.String(), orderAddress("M1", "masked"), "/tasks?order_no=masked", "/tasks.csv?order_no=masked"} {
		got := s.get(t, page).body
		if !strings.Contains(got, "masked") || strings.Contains(got, "url-secret") || strings.Contains(got, "json-secret") || strings.HasSuffix(page, task.ID.String()) && !strings.Contains(got, "https://m.example/n?order=1") {
			t.Errorf("%s shows %s; want the address without its token", page, got)
		}
	}
}

// A notification at the address of its queue names no merchant. It is on the page of its order, and
// makes no second merchant of the order's number. The merchant's notification is the other one.
func TestOrderToldAtAnAddressOfTheQueue(t *testing.T) {
	s := open(t)
	s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", Key: "M1/own", MerchantNo: "M1", OrderNo: "own"}, order.Standing{State: "PAID"}, order.Ask{}), t0)
	s.fake.add(t, &bellman.Task{Queue: "pay", Key: order.TellKey("orders", "M1/own", "decided"), MerchantNo: "M1", OrderNo: "own", URL: "https://m.example/"}, t0.Add(time.Second))
	ledger := s.fake.add(t, &bellman.Task{Queue: "pay", Key: order.TellKey("orders", "M1/own", "duplicate_payment/1"), OrderNo: "own", URL: "https://ledger.example/"}, t0.Add(2*time.Second))
	other := s.fake.add(t, &bellman.Task{Queue: "pay", Key: order.TellKey("orders", "M2/own", "decided"), OrderNo: "own", URL: "https://ledger.example/"}, t0.Add(3*time.Second))
	if got := s.get(t, "/orders?order_no=own"); got.Header.Get("Location") != orderAddress("M1", "own") {
		t.Errorf("the order's number leads to %d, %q; want its page", got.StatusCode, got.Header.Get("Location"))
	}
	got := s.get(t, orderAddress("M1", "own")).body
	if !strings.Contains(got, "/tasks/"+ledger.ID.String()) || strings.Contains(got, "/tasks/"+other.ID.String()) {
		t.Error("the page lacks the notification of the ledger, or has that of another order")
	}
}

// The page of the orders has the newest, each with the way to its page.
func TestTheNewestOrders(t *testing.T) {
	s := open(t)
	if got := s.get(t, "/orders").body; !strings.Contains(got, "There are no orders among the newest tasks.") {
		t.Error("without orders the page does not say so")
	}
	s.story(t)
	s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", Key: "w", MerchantNo: "M1001", OrderNo: "B-1"}, order.Standing{State: "CLOSED", Beside: true}, order.Ask{}), t0.Add(time.Hour))
	got := s.get(t, "/orders").body
	if n := strings.Count(got, `href="/orders?merchant_no=M1001&amp;order_no=B-1"`); n != 1 || strings.Contains(got, "A-1") {
		t.Errorf("the order is listed %d times, or a notice is; want it once, and no notice", n)
	}
}

// An order is found by its number alone. If several merchants have that number, the page asks which
// one is meant. The number of a merchant alone lists its orders. The form keeps its input.
func TestOrdersByHalfOfTheirNumbers(t *testing.T) {
	s := open(t)
	order := func(merchant, no string, at int) {
		s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: merchant, OrderNo: no}, order.Standing{State: "PENDING"}, order.Ask{}), t0.Add(time.Duration(at)*time.Second))
	}
	order("M1", "one", 0)
	order("M1", "two", 1)
	order("M2", "two", 2)
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", OrderNo: "one", URL: "https://m.example/"}, t0.Add(3*time.Second))
	s.fake.add(t, &bellman.Task{Queue: "pay", OrderNo: "nobody's", URL: "https://m.example/"}, t0.Add(4*time.Second))
	if got := s.get(t, "/orders?order_no=one"); got.Header.Get("Location") != "/orders?merchant_no=M1&order_no=one" {
		t.Errorf("an order that one merchant has: %d, to %q; want its page", got.StatusCode, got.Header.Get("Location"))
	}
	if got := s.get(t, "/orders?order_no=nobody%27s"); got.Header.Get("Location") != "/tasks?order_no=nobody%27s" {
		t.Errorf("a number that no merchant has: %d, to %q; want its tasks", got.StatusCode, got.Header.Get("Location"))
	}
	for path, tt := range map[string]struct {
		status     int
		want, none []string
	}{
		"/orders?order_no=two": {200, []string{`name="order_no" value="two"`, "Several merchants have", "merchant_no=M1&amp;order_no=two", "merchant_no=M2&amp;order_no=two"},
			[]string{"order_no=one"}},
		"/orders?order_no=three": {404, []string{`name="order_no" value="three"`, "no task with this order number"}, []string{"order_no=two"}},
		"/orders?merchant_no=M2": {200, []string{`name="merchant_no" value="M2"`, "The newest orders of this merchant", "merchant_no=M2&amp;order_no=two", `href="/tasks?kind=order&amp;merchant_no=M2"`}, []string{"merchant_no=M1"}},
		"/orders":                {200, []string{"The newest orders", "order_no=one", "merchant_no=M2&amp;order_no=two"}, nil},
		"/orders?order_no=" + strings.Repeat("9", 401): {422, []string{"Order number:", "is 401 bytes long"}, []string{"order_no=two"}},
	} {
		got := s.get(t, path)
		if got.StatusCode != tt.status {
			t.Errorf("%.60s: %d; want %d", path, got.StatusCode, tt.status)
		}
		for _, want := range tt.want {
			if !strings.Contains(got.body, want) {
				t.Errorf("%.60s does not say %q", path, want)
			}
		}
		for _, none := range tt.none {
			if strings.Contains(got.body, none) {
				t.Errorf("%.60s says %q", path, none)
			}
		}
	}
}

// What a channel told by itself is on the order's page, with its content for those who may operate.
func TestNoticesAreOnTheOrdersPage(t *testing.T) {
	s := open(t)
	s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "noticed"}, order.Standing{State: "PENDING"}, order.Ask{Amount: 8800, Currency: "CNY"}), t0)
	told := &order.Told{Result: order.NoticeMismatch, Why: "1 CNY was paid: want 8800 CNY", Reading: "PAID", OrderNo: "noticed", Content: `{"trade_state":"SUCCESS"}`}
	body, err := (&order.Ask{Notice: told}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	task := s.fake.add(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "noticed", Event: order.EventNotice, Body: body,
		Status: bellman.Status{State: bellman.Failed, Reason: "mismatch", Finished: t0}}, t0.Add(time.Second))
	for _, page := range []string{orderAddress("M1", "noticed"), "/tasks/" + task.ID.String()} {
		got := s.get(t, page, "Accept-Language: en").body
		for _, want := range []string{"notice of another amount", "1 CNY was paid", "trade_state"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not say %q", page, want)
			}
		}
	}
	for _, page := range []string{orderAddress("M1", "noticed"), "/tasks?event=order.notice"} {
		if got := s.get(t, page, "Accept-Language: zh").body; !strings.Contains(got, "通知金额与订单不符") || strings.Contains(got, "was paid") {
			t.Errorf("%s in Chinese does not say what became of the notice, or says why in English", page)
		}
	}
}

// A refused notice about no order here is in the list of tasks with its reason, and does not come
// between an order's number and its page.
func TestRefusedNoticesOfNobodysOrder(t *testing.T) {
	s := open(t)
	s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "named"}, order.Standing{State: "PENDING"}, order.Ask{}), t0)
	for _, no := range []string{"named", "nobody's"} {
		told := &order.Told{Result: order.NoticeRefused, Why: "the signature is wrong", OrderNo: no}
		record := told.Record(&bellman.Task{Queue: "orders", OrderNo: no})
		s.fake.add(t, &record, t0.Add(time.Second))
	}
	if got := s.get(t, "/tasks?event=order.notice", "Accept-Language: en").body; strings.Count(got, "notice refused") != 2 || !strings.Contains(got, "the signature is wrong") || strings.Contains(got, "attempts") {
		t.Error("the list of tasks does not say why a notice was refused, or speaks of its attempts")
	}
	if got := s.get(t, "/orders", "Accept-Language: en").body; !strings.Contains(got, `href="/tasks?event=order.notice&amp;state=failed">Refused notices`) {
		t.Error("the page of orders does not lead to refused notices")
	}
	for no, want := range map[string]string{"named": "/orders?merchant_no=M1&order_no=named", "nobody%27s": "/tasks?order_no=nobody%27s"} {
		if got := s.get(t, "/orders?order_no="+no); got.Header.Get("Location") != want {
			t.Errorf("the number %s: %d, to %q; want %s", no, got.StatusCode, got.Header.Get("Location"), want)
		}
	}
}
