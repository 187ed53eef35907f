package alipay

import (
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/invalidtest"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/order/states"
)

var (
	refund    = order.Order{MerchantNo: "M1", OrderNo: orderNo, RefNo: "HZ01RF001", Vars: map[string]string{"amount": "1230"}}
	transfer  = order.Order{MerchantNo: "M1", RefNo: "201808080001"}
	byPayment = order.Order{MerchantNo: "M1", OrderNo: "another", RefNo: "HZ01RF001", Vars: map[string]string{"amount": "1230", "transaction_id": "2014"}}
)

const (
	askRefund    = `{"out_request_no":"HZ01RF001","out_trade_no":"` + orderNo + `","query_options":["gmt_refund_pay"]}`
	askNamed     = `{"out_request_no":"HZ01RF001","query_options":["gmt_refund_pay"],"trade_no":"2014"}`
	askTransfer  = `{"biz_scene":"DIRECT_TRANSFER","out_biz_no":"201808080001","product_code":"TRANS_ACCOUNT_NO_PWD"}`
	refunded     = `{"code":"10000","msg":"Success","out_request_no":"HZ01RF001","out_trade_no":"` + orderNo + `","refund_amount":"12.30","refund_status":"REFUND_SUCCESS","total_amount":"88.88","trade_no":"2014"}`
	transferDone = `{"code":"10000","msg":"Success","order_id":"2019","out_biz_no":"201808080001","status":"SUCCESS","trans_amount":"32.00"}`
)

// polls makes the platform answer one call, and returns the channel to it.
func (p *platform) polls(of order.NoticeOf, method, content, text string) *Poll {
	p.answers(method, text)
	p.content = content
	s, err := states.CompilePoll("alipay_" + string(of))
	if err != nil {
		p.t.Fatal(err)
	}
	return &Poll{channel: p.open(p.options()), of: of, states: s}
}

func TestPollQuery(t *testing.T) {
	p := newPlatform(t)
	tests := []struct {
		of      order.NoticeOf
		o       order.Order
		content string
		text    string
		want    poll.Reading
		why     string
	}{
		{order.OfRefund, refund, askRefund, refunded, poll.Done, ""},
		{order.OfRefund, refund, askRefund, strings.Replace(refunded, `"12.30"`, `12.3`, 1), poll.Done, ""},
		{order.OfRefund, refund, askRefund, `{"code":"10000","msg":"Success"}`, poll.NotFound, ""},
		{order.OfRefund, refund, askRefund, refused("40004", "ACQ.TRADE_NOT_EXIST"), poll.NotFound, ""},
		{order.OfRefund, refund, askRefund, refused("40004", "ACQ.SYSTEM_ERROR"), poll.QueryError, "ACQ.SYSTEM_ERROR"},
		{order.OfRefund, refund, askRefund, strings.Replace(refunded, "HZ01", "HZ02", 1), poll.QueryError, "about the refund"},
		{order.OfRefund, refund, askRefund, strings.Replace(refunded, `"HZ01RF001"`, `""`, 1), poll.QueryError, "about the refund"},
		{order.OfRefund, refund, askRefund, strings.Replace(refunded, orderNo, orderNo+"1", 1), poll.QueryError, "a refund of the order"},
		{order.OfRefund, refund, askRefund, strings.Replace(refunded, "12.30", "12.31", 1), poll.QueryError, `a refund of "12.31", not of 12.30`},
		{order.OfRefund, byPayment, askNamed, refunded, poll.Done, ""},
		{order.OfRefund, byPayment, askNamed, `{"code":"10000","msg":"Success"}`, poll.NotFound, ""},
		{order.OfRefund, byPayment, askNamed, strings.Replace(refunded, `"2014"`, `"2015"`, 1), poll.QueryError, `about the payment "2015"`},
		{order.OfRefund, byPayment, askNamed, strings.Replace(refunded, `"2014"`, `""`, 1), poll.QueryError, "about the payment"},
		{order.OfTransfer, transfer, askTransfer, transferDone, poll.Done, ""},
		{order.OfTransfer, transfer, askTransfer, strings.Replace(transferDone, `"SUCCESS"`, `"DEALING"`, 1), poll.Waiting, ""},
		{order.OfTransfer, transfer, askTransfer, strings.Replace(transferDone, "2018", "2019", 1), poll.QueryError, "about the transfer"},
		{order.OfTransfer, transfer, askTransfer, `{"code":"40004","msg":"Business Failed","sub_code":"ORDER_NOT_EXIST"}`, poll.NotFound, ""},
		{order.OfTransfer, order.Order{RefNo: "1", Vars: map[string]string{"product_code": "STD_RED_PACKET", "biz_scene": "PERSONAL_PAY"}}, `{"biz_scene":"PERSONAL_PAY","out_biz_no":"1","product_code":"STD_RED_PACKET"}`,
			strings.Replace(transferDone, "201808080001", "1", 1), poll.Done, ""},
	}
	for _, tt := range tests {
		method := map[order.NoticeOf]string{order.OfRefund: refundQueryMethod, order.OfTransfer: transferQueryMethod}[tt.of]
		got := p.polls(tt.of, method, tt.content, tt.text).Query(t.Context(), &tt.o)
		if got.Reading != tt.want || !strings.Contains(got.Error, tt.why) || (tt.why == "") != (got.Error == "") {
			t.Errorf("%s: %v, %q; want %v, %q", tt.text, got.Reading, got.Error, tt.want, tt.why)
		}
		if amount := strings.HasPrefix(tt.why, `a refund of "12.31"`); amount && got.Person != got.Error || !amount && got.Person != "" {
			t.Errorf("%s: a person must act: %q; want it for another amount", tt.text, got.Person)
		}
	}

	yen := refund
	yen.Vars = map[string]string{"amount": "500", "currency": "JPY"}
	answer := p.polls(order.OfRefund, refundQueryMethod, askRefund, strings.Replace(refunded, "12.30", "500.00", 1)).Query(t.Context(), &yen)
	if answer.Reading != poll.Done || answer.Taken["amount"] != int64(500) || answer.Taken["currency"] != "JPY" {
		t.Errorf("500 yen: %v, %v, %q", answer.Reading, answer.Taken, answer.Error)
	}

	c := p.polls(order.OfRefund, refundQueryMethod, askRefund, "")
	for name, body := range map[string]string{
		"not signed":     `{"alipay_trade_fastpay_refund_query_response":` + refunded + `}`,
		"another method": `{"alipay_trade_refund_response":` + refunded + `,"sign":"` + p.sign(refunded) + `"}`,
		"bent":           `{"alipay_trade_fastpay_refund_query_response":` + strings.Replace(refunded, "12.30", "1.230", 1) + `,"sign":"` + p.sign(refunded) + `"}`,
	} {
		p.body = func(func(string) string) string { return body }
		if got := c.Query(t.Context(), &refund); got.Reading != poll.QueryError || got.Error == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestRefundRequest(t *testing.T) {
	p := newPlatform(t)
	const content = `{"out_request_no":"HZ01RF001","out_trade_no":"` + orderNo + `","refund_amount":"12.30"}`
	tests := []struct {
		text string
		want poll.RequestReading
		why  string
	}{
		{`{"code":"10000","msg":"Success","out_trade_no":"` + orderNo + `","refund_fee":"12.30","fund_change":"Y"}`, poll.RequestAccepted, ""},
		{`{"code":"10000","msg":"Success","out_trade_no":"1","fund_change":"Y"}`, poll.RequestUnknown, "a refund of the order"},
		{refused("40004", "ACQ.SELLER_BALANCE_NOT_ENOUGH"), poll.RequestRefused, "ACQ.SELLER_BALANCE_NOT_ENOUGH"},
		{refused("40004", "ACQ.SYSTEM_ERROR"), poll.RequestUnknown, "not known"},
		{refused("20000", "isp.unknow-error"), poll.RequestUnknown, "not known"},
	}
	for _, tt := range tests {
		got := Refunds{p.polls(order.OfRefund, refundMethod, content, tt.text)}.Request(t.Context(), &refund)
		if got.Reading != tt.want || !strings.Contains(got.Error, tt.why) || (got.Result == bellman.Accepted) != (tt.want == poll.RequestAccepted) {
			t.Errorf("%s: %v, %v, %q; want %v, %q", tt.text, got.Reading, got.Result, got.Error, tt.want, tt.why)
		}
	}
	o := refund
	o.Vars = map[string]string{"amount": "5", "reason": "sold out"}
	c := Refunds{p.polls(order.OfRefund, refundMethod, `{"out_request_no":"HZ01RF001","out_trade_no":"`+orderNo+`","refund_amount":"0.05","refund_reason":"sold out"}`, tests[0].text)}
	if got := c.Request(t.Context(), &o); got.Reading != poll.RequestAccepted {
		t.Errorf("%+v", got)
	}
	c = Refunds{p.polls(order.OfRefund, refundMethod, `{"out_request_no":"HZ01RF001","refund_amount":"12.30","trade_no":"2014"}`, `{"code":"10000","msg":"Success","out_trade_no":"C2","trade_no":"2014","fund_change":"Y"}`)}
	if got := c.Request(t.Context(), &byPayment); got.Reading != poll.RequestAccepted {
		t.Errorf("by the payment's number: %+v", got)
	}
	o.Vars = nil
	if got := c.Request(t.Context(), &o); got.Result != bellman.Blocked || got.Reading != poll.RequestUnknown {
		t.Errorf("without an amount: %+v; want nothing sent", got)
	}
}

func TestCheckRef(t *testing.T) {
	p := newPlatform(t)
	for _, tt := range []struct {
		of      order.NoticeOf
		o       order.Order
		request bool
		want    string
	}{
		{order.OfRefund, refund, true, ""},
		{order.OfRefund, order.Order{OrderNo: orderNo, RefNo: "R1"}, false, ""},
		{order.OfRefund, order.Order{OrderNo: orderNo, RefNo: "R1"}, true, "vars.amount"},
		{order.OfRefund, order.Order{OrderNo: orderNo, RefNo: "R1", Vars: map[string]string{"amount": "-1"}}, false, "vars.amount"},
		{order.OfRefund, order.Order{RefNo: "R 1"}, false, "ref_no order_no"},
		{order.OfRefund, order.Order{RefNo: "R1", Vars: map[string]string{"transaction_id": "2014"}}, false, ""},
		{order.OfRefund, order.Order{RefNo: "R1", Vars: map[string]string{"transaction_id": "2014 1"}}, false, "vars.transaction_id"},
		{order.OfRefund, order.Order{OrderNo: orderNo, RefNo: "R1", Vars: map[string]string{"amount": "500", "currency": "JYP"}}, true, "vars.currency"},
		{order.OfRefund, order.Order{OrderNo: orderNo, RefNo: "R1", Vars: map[string]string{"amount": "500", "currency": "jpy"}}, true, ""},
		{order.OfTransfer, transfer, false, ""},
	} {
		o := p.options()
		c, err := NewPoll(tt.of, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(invalidtest.Fields(c.(poll.RefChecker).CheckRef(&tt.o, tt.request)), " "); got != tt.want {
			t.Errorf("%s %+v: %q; want %q", tt.of, tt.o, got, tt.want)
		}
	}
	if _, err := NewPoll(poll.OfProfitSharing, p.options()); err == nil || !strings.Contains(err.Error(), "want refund or transfer") {
		t.Errorf("NewPoll = %v", err)
	}
	if c, err := NewPoll(order.OfTransfer, p.options()); err != nil {
		t.Error(err)
	} else if _, can := c.(poll.Requester); can {
		t.Error("a transfer can be requested")
	}
}

// A refund is in the currency of its payment.
func TestRefundAmount(t *testing.T) {
	for _, tt := range []struct{ amount, currency, want string }{
		{"1", "", "0.01"}, {"20", "CNY", "0.20"}, {"100", "cny", "1.00"}, {"8888", "RMB", "88.88"}, {"500", "JPY", "500"}, {"5124", "KWD", "5.124"},
	} {
		o := &order.Order{Vars: map[string]string{"amount": tt.amount, "currency": tt.currency}}
		if got := whole(o); got != tt.want || !sameAmount(tt.want, o) || sameAmount("0.1", o) {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}
