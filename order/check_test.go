package order

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/invalidtest"
	"github.com/bellmanhq/bellman/schedule"
)

func fieldsOf(err error) string {
	if fields := invalidtest.Fields(err); fields != nil {
		return strings.Join(fields, " ")
	}
	return fmt.Sprint(err)
}

func TestCheckRefuses(t *testing.T) {
	const notify = `{"notify":{"url":"https://m.example/n"}}`
	good := bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Body: []byte(notify)}
	tests := []struct {
		change func(*bellman.Task)
		want   string
	}{
		{func(*bellman.Task) {}, "<nil>"},
		{func(t *bellman.Task) { t.MerchantNo, t.OrderNo = "", "" }, "merchant_no order_no"},
		{func(t *bellman.Task) { t.URL, t.Repeat = "https://m.example/n", "1m" }, "url repeat"},
		{func(t *bellman.Task) { t.Body = nil }, "notify.url"},
		{func(t *bellman.Task) { t.Body = []byte(`{"notify":{"json":{}}}`) }, "notify.url"},
		{func(t *bellman.Task) { t.MerchantNo, t.Body = "", []byte(`{"expires":"soon","x":1}`) }, "merchant_no x expires"},
		{func(t *bellman.Task) { t.Key = "M1/O1/late_watch" }, "key"},
	}
	for _, tt := range tests {
		task := good
		tt.change(&task)
		if got := fieldsOf(newHouse(t).handler.Check(&task)); got != tt.want {
			t.Errorf("Check(%+v): %s; want %s", task, got, tt.want)
		}
	}
}

func TestCheckFillsIn(t *testing.T) {
	h := newHouse(t, func(r *Rules) { r.Expires, r.Endpoint, r.Then.Default[0].HasURL = time.Minute, "wechat/1900", true })
	task := bellman.Task{MerchantNo: "M1", OrderNo: "O1"}
	for range 2 { // the second finds all there
		if err := h.handler.Check(&task); err != nil {
			t.Fatal(err)
		}
		const body = `{"expires":"1m","created":"2026-11-20T15:00:00Z"}`
		if task.Key != "M1/O1" || task.Event != EventWatch || task.Endpoint != "wechat/1900" || string(task.Body) != body {
			t.Errorf("%+v, body %s; want %s", task, task.Body, body)
		}
		if want := time.Date(2026, 11, 20, 15, 5, 0, 0, time.UTC); !task.Due.Equal(want) {
			t.Errorf("the first attempt is made at %v at the latest; want %v, when the order has expired and may be closed", task.Due, want)
		}
		h.now = h.now.Add(time.Hour)
	}
	own := bellman.Task{MerchantNo: "M1", OrderNo: "O1", Key: "k", Event: "e", Endpoint: "x", Body: []byte(`{"expires":"2h"}`)}
	if err := h.handler.Check(&own); err != nil || own.Key != "k" || own.Event != "e" || own.Endpoint != "x" || !strings.HasPrefix(string(own.Body), `{"expires":"2h"`) {
		t.Errorf("%v: %+v %s", err, own, own.Body)
	}
}

// An order can be paid until a moment that is given, and the channel is told so.
func TestExpiresAt(t *testing.T) {
	for body, want := range map[string]string{
		`{"expires_at":"2026-11-20T15:00:00.001Z"}`:                                   "1ms",
		`{"expires_at":"2026-11-20T23:10:00+08:00","created":"2026-11-20T15:09:00Z"}`: "1m",
		`{"expires_at":"2026-11-20T15:00:00Z"}`:                                       "expires_at",
		`{"expires_at":"2036-11-17T15:00:00Z"}`:                                       "87600h",
		`{"expires_at":"2036-11-17T15:00:00.001Z"}`:                                   "expires_at",
		`{}`: "30m",
	} {
		h := newHouse(t, func(r *Rules) { r.Then.Default[0].HasURL = true })
		task := bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Body: []byte(body)}
		got := fieldsOf(h.handler.Check(&task))
		if got == "<nil>" {
			ask, err := ParseAsk(task.Body)
			if err != nil || !ask.ExpiresAt.IsZero() {
				t.Fatalf("%s, %v; want expires alone", task.Body, err)
			}
			got = schedule.FormatDuration(ask.Expires)
			if o := ask.order(&task); !o.Expires.Equal(ask.Created.Add(ask.Expires)) {
				t.Errorf("%s: the channel is told %v; want until when it can be paid", body, o.Expires)
			}
		}
		if got != want {
			t.Errorf("%s: %s; want %s", body, got, want)
		}
	}
	if o := (&Ask{Created: created}).order(&bellman.Task{}); !o.Expires.IsZero() {
		t.Errorf("the channel is told %v of an order without an expiry", o.Expires)
	}
}

// A picky channel has a word to say about orders.
type picky struct {
	onlyChannel
	why error
}

func (p picky) CheckOrder(*Order) error { return p.why }

// What the channel has against an order is said of the field that it is in.
func TestCheckChannel(t *testing.T) {
	odd := &bellman.Invalid{Fields: []bellman.FieldError{{Field: "order_no", Problem: "is odd"}, {Field: "vars.appid", Problem: "is missing"}}}
	for _, tt := range []struct {
		why  error
		body string
		want string
	}{
		{nil, `{}`, "<nil>"}, {odd, `{}`, "order_no vars.appid"}, {odd, `{"channel_order_no":"C1"}`, "channel_order_no vars.appid"},
		{errors.New("is odd"), `{}`, "order_no"},
	} {
		h := newHouse(t, func(r *Rules) { r.Then.Default[0].HasURL = true })
		h.handler.channel = picky{why: tt.why}
		task := bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Body: []byte(tt.body)}
		if got := fieldsOf(h.handler.Check(&task)); got != tt.want {
			t.Errorf("%v of %s: %s; want %s", tt.why, tt.body, got, tt.want)
		}
		if task.MerchantNo = ""; tt.why != nil && fieldsOf(h.handler.Check(&task)) != "merchant_no" {
			t.Errorf("%v of an order without its merchant: %s; want merchant_no alone", tt.why, fieldsOf(h.handler.Check(&task)))
		}
	}
}

func TestCheckNoticeRefuses(t *testing.T) {
	for _, tt := range []struct {
		body string
		tell bool
		want string
	}{
		{`{"notice":{"result":"held"}}`, true, "<nil>"}, {`{"notice":{"result":"held"}}`, false, "body.notice"},
		{`{"notice":{"result":"applied"}}`, false, "<nil>"}, {`{"notice":{"result":"lost"}}`, true, "body.notice"},
		{`{}`, true, "body.notice"}, {`{"notice":1}`, true, "notice"},
	} {
		h := newHouse(t, func(r *Rules) {
			if tt.tell {
				r.Tell = func(context.Context, string, *Told) (bool, error) { return false, nil }
			}
		})
		task := bellman.Task{Event: EventNotice, Body: []byte(tt.body)}
		if got := fieldsOf(h.handler.Check(&task)); got != tt.want {
			t.Errorf("%s, told %t: %s; want %s", tt.body, tt.tell, got, tt.want)
		}
		if ended := strings.Contains(tt.body, "applied"); task.State.Ended() != ended {
			t.Errorf("%s is added as %v; want ended: %t", tt.body, task.State, ended)
		}
	}
}

// An alias says which account has an order, and under which number.
func TestKnownAs(t *testing.T) {
	all := registered{"shop": account("wechatpay:1:7", &fake{})}
	h := newHouse(t, func(r *Rules) { r.Then.Default[0].HasURL, r.Accounts = true, all.get })
	task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"account":"shop","channel_order_no":"C1"}`)})
	if account, number, ok := KnownAs(task); account != "wechatpay:1:7" || number != "C1" || !ok {
		t.Errorf("KnownAs = %s, %s, %t; want wechatpay:1:7, C1", account, number, ok)
	}
	notice := *task
	notice.Event = EventNotice
	other := *task
	other.SetAlias(Alias("wechatpay:1:7", OfRefund, "C1"))
	unread := *task
	unread.Body = []byte("{")
	for _, task := range []*bellman.Task{&notice, &other, &unread} {
		if account, number, ok := KnownAs(task); ok {
			t.Errorf("KnownAs(%+v) = %s, %s; want none", task, account, number)
		}
	}
	for alias, want := range map[string]string{
		"wechatpay:1:7/payment:C1": "wechatpay:1:7", "wechatpay:1/refund:R1": "wechatpay:1", "a/transfer:T": "a", "k": "", "": "",
		"/payment:1": "", "wx/payment:x/refund:y": "wx", "wx/transfer:x/payment:y": "wx",
	} {
		if got := AccountIn(alias); got != want {
			t.Errorf("AccountIn(%q) = %q; want %q", alias, got, want)
		}
	}
}

// What nobody can be told is refused while somebody is there to hear it.
func TestCheckNotify(t *testing.T) {
	var sample bellman.Task
	h := newHouse(t, func(r *Rules) {
		r.Then.Default[0].Check = func(t *bellman.Task) error {
			sample = *t
			bad := new(bellman.Invalid)
			bad.Add("url", "is private")
			bad.Add("body", "too much")
			bad.Add("headers.X", "odd")
			return bad.Err()
		}
	})
	task := bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"notify":{"url":"http://10.0.0.1/","json":{"a":1}}}`)}
	if got := fieldsOf(h.handler.Check(&task)); got != "notify.url notify.json notify" {
		t.Errorf("refused: %s", got)
	}
	if sample.URL != "http://10.0.0.1/" || sample.Queue != "merchant-notify" || !strings.Contains(string(sample.Body), `"a":1`) {
		t.Errorf("sample %+v", sample)
	}
	h = newHouse(t, func(r *Rules) { r.Then = Then{} })
	for body, want := range map[string]string{"": "<nil>", `{"notify":{"url":"https://m.example/n"}}`: "notify"} {
		task := bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Body: []byte(body)}
		if got := fieldsOf(h.handler.Check(&task)); got != want {
			t.Errorf("without then, %q: %s; want %s", body, got, want)
		}
	}
}

func TestComplete(t *testing.T) {
	end := func(reason string, l Life) func(*house, *bellman.Task) {
		return func(_ *house, t *bellman.Task) {
			t.State, t.Reason, t.Data = bellman.Succeeded, reason, l.encode()
		}
	}
	decided := func(state string) Life { return Life{Stage: Decided, State: state, DecidedAt: created.UnixMilli()} }
	pending := func(*house, *bellman.Task) {}
	tests := []struct {
		name    string
		before  func(*house, *bellman.Task)
		outcome string
		next    bellman.Next
		want    string // what follows, and the state; or what is refused
	}{
		{"pending", pending, "PAID", bellman.Succeed, "order.paid PAID"},
		{"pending", pending, "PAID_REFUNDED", bellman.Succeed, "order.paid_refunded PAID_REFUNDED"},
		{"pending", pending, "CLOSED", bellman.Succeed, "order.closed order.late_watch CLOSED"},
		{"pending", pending, "REVOKED", bellman.Succeed, "order.revoked order.late_watch REVOKED"},
		{"pending", pending, "FAILED", bellman.Succeed, "order.failed order.late_watch FAILED"},
		{"pending", pending, "PENDING", 0, "outcome"},
		{"pending", pending, "paid", 0, "outcome"},
		{"pending", pending, "", 0, "outcome"},
		{"closed", end("closed", decided("CLOSED")), "PAID", bellman.Again, "order.late_payment CLOSED"},
		{"closed", end("closed", decided("CLOSED")), "CLOSED", bellman.Again, ""},
		{"closed", end("closed", decided("CLOSED")), "FAILED", 0, "conflict with the present state: the order is CLOSED and stays so: only a payment, PAID or PAID_REFUNDED, can still be reported"},
		{"closed, late known", end("closed", Life{Stage: Decided, State: "CLOSED", Late: "PAID"}), "PAID", bellman.Again, ""},
		{"failed", end("failed", decided("FAILED")), "PAID_REFUNDED", bellman.Again, "order.late_payment FAILED"},
		{"revoked", end("revoked", decided("REVOKED")), "PAID", bellman.Again, "order.late_payment REVOKED"},
		{"paid", end("paid", decided("PAID")), "PAID", bellman.Again, ""},
		{"paid", end("paid", decided("PAID")), "PAID_REFUNDED", bellman.Again, ""},
		{"paid", end("paid", decided("PAID")), "CLOSED", 0, "conflict with the present state: the order is PAID and stays so: only a payment, PAID or PAID_REFUNDED, can still be reported"},
		{"unknown", end("exhausted", decided("UNKNOWN")), "PAID", bellman.Again, "order.paid PAID"},
		{"unknown, late known", end("exhausted", Life{Stage: Decided, State: "UNKNOWN", DecidedAt: created.UnixMilli(), Late: "PAID"}), "CLOSED", 0, "conflict with the present state: a payment of the order is known: want PAID or PAID_REFUNDED"},
		{"unknown, late known", end("exhausted", Life{Stage: Decided, State: "UNKNOWN", DecidedAt: created.UnixMilli(), Late: "PAID"}), "PAID", bellman.Again, "order.paid PAID"},
		{"unknown, of another amount", end("amount_mismatch", Life{Stage: Decided, State: "UNKNOWN", DecidedAt: created.UnixMilli(), Mismatch: "1 CNY"}), "FAILED", 0, "conflict with the present state: a payment of the order is known: want PAID or PAID_REFUNDED"},
		{"unknown", end("exhausted", decided("UNKNOWN")), "CLOSED", bellman.Again, "order.closed order.late_watch CLOSED"},
		{"cancelled", func(_ *house, t *bellman.Task) { t.State = bellman.Cancelled }, "PAID", bellman.Again, "order.late_payment PENDING"},
		{"cancelled", func(_ *house, t *bellman.Task) { t.State = bellman.Cancelled }, "FAILED", bellman.Again, "order.failed order.late_watch FAILED"},
	}
	for _, tt := range tests {
		h := newHouse(t)
		task := h.order()
		tt.before(h, task)
		v, err := h.handler.Complete(task, bellman.Completion{Outcome: tt.outcome}, created.Add(time.Minute))
		var words []string
		switch bad := new(bellman.Invalid); {
		case errors.As(err, &bad):
			words = append(words, bad.Fields[0].Field)
		case errors.Is(err, bellman.ErrConflict):
			words = append(words, strings.TrimPrefix(err.Error(), "bellman: "))
		case err != nil:
			words = append(words, err.Error())
		}
		for _, f := range v.Follow {
			words = append(words, f.Event)
			if f.Queue == "merchant-notify" && f.URL != "https://m.example/n" {
				t.Errorf("%s, %s: told %+v", tt.name, tt.outcome, f)
			}
		}
		if v.Data != nil {
			l, _ := ParseLife(v.Data)
			words = append(words, l.State)
		}
		if got := strings.Join(words, " "); got != tt.want || v.Next != tt.next || v.Reason != "" || !v.Due.IsZero() {
			t.Errorf("%s, %s: %s, next %d; want %s, next %d", tt.name, tt.outcome, got, v.Next, tt.want, tt.next)
		}
	}
}

// A watch for a late payment is completed by a payment alone.
func TestCompleteWatch(t *testing.T) {
	h := newHouse(t)
	h.until(h.order())
	watch := h.tasks["orders M1/O1/late_watch"]
	if v, err := h.handler.Complete(watch, bellman.Completion{Outcome: "CLOSED"}, h.now); err != nil || v.Next != bellman.Again || v.Data != nil {
		t.Errorf("CLOSED: %+v, %v", v, err)
	}
	if _, err := h.handler.Complete(watch, bellman.Completion{Outcome: "FAILED"}, h.now); !errors.Is(err, bellman.ErrConflict) {
		t.Errorf("FAILED: %v", err)
	}
	v, err := h.handler.Complete(watch, bellman.Completion{Outcome: "PAID"}, h.now)
	if err != nil || v.Next != bellman.Succeed || len(v.Follow) != 1 || v.Follow[0].Key != "orders/M1/O1/late_payment" {
		t.Errorf("PAID: %+v, %v", v, err)
	}
}

// A watch is taken in whatever became of the queue's rules since its order was.
func TestCheckWatch(t *testing.T) {
	h := newHouse(t, func(r *Rules) { r.Then.Default[0].HasURL = true })
	task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: "3s"})
	w, err := h.handler.read(task)
	if err != nil {
		t.Fatal(err)
	}
	w.life = Life{Stage: Decided, State: "CLOSED", DecidedAt: created.UnixMilli()}
	watch := w.lateWatch(created.Add(time.Minute), "30s")
	if err := newHouse(t).handler.Check(&watch); err != nil {
		t.Error(err)
	}
}

type onlyChannel struct{}

func (onlyChannel) Query(context.Context, *Order) QueryAnswer { return QueryAnswer{} }
func (onlyChannel) Close(context.Context, *Order) CloseAnswer { return CloseAnswer{} }

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		rules Rules
		want  string
	}{
		{Rules{}, `order: on_exhausted: "": want close, reverse, callback or alert`},
		{Rules{OnExhausted: "stop"}, `order: on_exhausted: "stop": want close`},
		{Rules{OnExhausted: OnExhaustedReverse}, "order: on_exhausted: the channel cannot reverse"},
		{Rules{OnExhausted: OnExhaustedCallback}, "order: on_exhausted: callback tells the queue of then"},
		{Rules{OnExhausted: OnExhaustedClose, Confirm: "5s*"}, `order: confirm: "5s*": want a schedule that ends`},
		{Rules{OnExhausted: OnExhaustedClose, Confirm: "often"}, "order: confirm: "},
		{Rules{OnExhausted: OnExhaustedClose, WatchSchedule: "often"}, "order: watch schedule: "},
		{Rules{OnExhausted: OnExhaustedClose, Expires: -1}, "order: expires: -1ns is negative"},
		{Rules{OnExhausted: OnExhaustedClose, Grace: -1}, "order: grace: "},
		{Rules{OnExhausted: OnExhaustedClose, MinCloseAge: -1}, "order: min_close_age: "},
		{Rules{OnExhausted: OnExhaustedClose, GiveUp: -1}, "order: give_up: "},
	}
	for _, tt := range tests {
		if _, err := New(onlyChannel{}, tt.rules); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("New(%+v): %v; want %s", tt.rules, err, tt.want)
		}
	}
	if _, err := New(onlyChannel{}, Rules{OnExhausted: OnExhaustedAlert}); err != nil {
		t.Error(err)
	}
}
