package wechatpay

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/invalidtest"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

const refundNo = "1217752501201407033233368018-R1"

func refundAnswer(status string) string {
	return `{"amount":{"currency":"CNY","payer_refund":888,"payer_total":900,"refund":888,"total":900},"channel":"ORIGINAL","create_time":"2026-11-20T19:59:00+08:00",` +
		`"funds_account":"AVAILABLE","out_refund_no":"` + refundNo + `","out_trade_no":"` + orderNo + `","refund_id":"50000000382019052709732678859","status":"` + status + `",` +
		`"success_time":"2026-11-20T19:59:30+08:00","transaction_id":"1217752501201407033233368018","user_received_account":"…"}`
}

func transferAnswer(state string) string {
	return `{"mch_id":"` + mchID + `","out_bill_no":"T2026112000001","transfer_bill_no":"1330000071100999991182020050700019480001","appid":"wxf6","state":"` + state + `","transfer_amount":400000,"update_time":"2026-11-20T10:35:56+08:00"}`
}

func sharingAnswer(no string) string {
	return `{"transaction_id":"4208450740201411110007820472","out_order_no":"` + no + `","order_id":"3008450740201411110007820472","state":"FINISHED","receivers":[{"amount":100,"result":"SUCCESS"}]}`
}

// serveAll starts a server that answers one request, and returns the channel to it.
func serveAll(t testing.TB, of order.NoticeOf, o Options, want string, a answer) poll.Channel {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if got := strings.TrimSpace(r.Method + " " + r.RequestURI + " " + string(body)); got != want {
			t.Errorf("request %s; want %s", got, want)
		}
		if wrong := checkRequest(r, body); wrong != "" {
			t.Error("request: " + wrong)
		}
		a.write(w)
	}))
	t.Cleanup(s.Close)
	o.BaseURL, o.Transport = s.URL, s.Client().Transport
	c, err := NewPoll(of, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var (
	refund   = order.Order{MerchantNo: "M1", OrderNo: orderNo, RefNo: refundNo, Vars: map[string]string{"amount": "888", "total": "900"}}
	transfer = order.Order{MerchantNo: "M1", RefNo: "T2026112000001"}
	sharing  = order.Order{MerchantNo: "M1", RefNo: "P20150806125346", Vars: map[string]string{"transaction_id": "4208450740201411110007820472"}}
)

func TestPollQuery(t *testing.T) {
	const (
		askRefund   = "GET /v3/refund/domestic/refunds/" + refundNo
		askTransfer = "GET /v3/fund-app/mch-transfer/transfer-bills/out-bill-no/T2026112000001"
		askSharing  = "GET /v3/profitsharing/orders/P20150806125346?transaction_id=4208450740201411110007820472"
	)
	tests := []struct {
		of   order.NoticeOf
		o    order.Order
		ask  string
		a    answer
		want poll.Reading
		why  string
	}{
		{order.OfRefund, refund, askRefund, signedBy(200, refundAnswer("SUCCESS")), poll.Done, ""},
		{order.OfRefund, refund, askRefund, signedBy(200, refundAnswer("PROCESSING")), poll.Waiting, ""},
		{order.OfRefund, refund, askRefund, signedBy(200, refundAnswer("ABNORMAL")), poll.FailedThere, ""},
		{order.OfRefund, refund, askRefund, signedBy(404, `{"code":"RESOURCE_NOT_EXISTS","message":"…"}`), poll.NotFound, ""},
		{order.OfRefund, refund, askRefund, answer{status: 200, body: refundAnswer("SUCCESS")}, poll.QueryError, "not signed"},
		{order.OfRefund, refund, askRefund, answer{status: 404, body: `{"code":"RESOURCE_NOT_EXISTS"}`}, poll.QueryError, `not signed; it says "RESOURCE_NOT_EXISTS"`},
		{order.OfRefund, refund, askRefund, signedBy(200, strings.Replace(refundAnswer("SUCCESS"), "-R1", "-R2", 1)), poll.QueryError, "about the refund"},
		{order.OfRefund, refund, askRefund, signedBy(200, strings.Replace(refundAnswer("SUCCESS"), `"out_trade_no":"1`, `"out_trade_no":"2`, 1)), poll.QueryError, "a refund of the order"},
		{order.OfRefund, refund, askRefund, signedBy(200, strings.Replace(refundAnswer("SUCCESS"), `"refund":888`, `"refund":88`, 1)), poll.QueryError, "a refund of 0.88 CNY, not of 8.88 CNY"},
		{order.OfRefund, refund, askRefund, signedBy(200, `[]`), poll.QueryError, "not the JSON object"},
		{order.OfTransfer, transfer, askTransfer, signedBy(200, transferAnswer("SUCCESS")), poll.Done, ""},
		{order.OfTransfer, transfer, askTransfer, signedBy(200, transferAnswer("WAIT_USER_CONFIRM")), poll.Waiting, ""},
		{order.OfTransfer, transfer, askTransfer, signedBy(200, strings.Replace(transferAnswer("SUCCESS"), mchID, "1230000110", 1)), poll.QueryError, "of the merchant"},
		{order.OfTransfer, transfer, askTransfer, signedBy(200, strings.Replace(transferAnswer("SUCCESS"), "T2026", "T2027", 1)), poll.QueryError, "about the transfer"},
		{poll.OfProfitSharing, sharing, askSharing, signedBy(200, sharingAnswer(sharing.RefNo)), poll.Done, ""},
		{poll.OfProfitSharing, sharing, askSharing, signedBy(200, sharingAnswer("P2")), poll.QueryError, "about the profitsharing"},
		{poll.OfProfitSharing, sharing, askSharing, signedBy(200, strings.Replace(sharingAnswer(sharing.RefNo), "4208", "4209", 1)), poll.QueryError, "about the payment"},
	}
	for _, tt := range tests {
		got := serveAll(t, tt.of, options(t), tt.ask, tt.a).Query(t.Context(), &tt.o)
		if got.Reading != tt.want || !strings.Contains(got.Error, tt.why) || (tt.why == "") != (got.Error == "") {
			t.Errorf("%s: %v, %q; want %v, %q", tt.ask, got.Reading, got.Error, tt.want, tt.why)
		}
		if amount := strings.HasPrefix(tt.why, "a refund of 0.88"); amount && got.Person != got.Error {
			t.Errorf("%s: a person must act: %q; want it for another amount", tt.ask, got.Person)
		}
	}
}

func TestPollSubMerchant(t *testing.T) {
	o := options(t)
	o.SubMchID = subMchID
	c := serveAll(t, order.OfRefund, o, "GET /v3/refund/domestic/refunds/"+refundNo+"?sub_mchid="+subMchID, signedBy(200, refundAnswer("SUCCESS")))
	if got := c.Query(t.Context(), &refund); got.Reading != poll.Done {
		t.Errorf("%+v", got)
	}
	c = serveAll(t, order.OfRefund, o, `POST /v3/refund/domestic/refunds {"amount":{"currency":"CNY","refund":888,"total":900},"out_refund_no":"`+refundNo+`","out_trade_no":"`+orderNo+`","sub_mchid":"`+subMchID+`"}`,
		signedBy(200, refundAnswer("PROCESSING")))
	if got := c.(poll.Requester).Request(t.Context(), &refund); got.Reading != poll.RequestAccepted {
		t.Errorf("%+v", got)
	}
}

func TestRefundRequest(t *testing.T) {
	const ask = `POST /v3/refund/domestic/refunds {"amount":{"currency":"CNY","refund":888,"total":900},"out_refund_no":"` + refundNo + `","out_trade_no":"` + orderNo + `"}`
	tests := []struct {
		a    answer
		want poll.RequestReading
		why  string
	}{
		{signedBy(200, refundAnswer("PROCESSING")), poll.RequestAccepted, ""},
		{signedBy(200, strings.Replace(refundAnswer("PROCESSING"), "-R1", "-R2", 1)), poll.RequestUnknown, "about the refund"},
		{signedBy(403, `{"code":"NOT_ENOUGH","message":"…"}`), poll.RequestRefused, ""},
		{signedBy(400, `{"code":"PARAM_ERROR","message":"…"}`), poll.RequestRefused, ""},
		{signedBy(429, `{"code":"FREQUENCY_LIMITED","message":"…"}`), poll.RequestUnknown, ""},
		{signedBy(500, `{"code":"SYSTEM_ERROR","message":"…"}`), poll.RequestUnknown, ""},
		{answer{status: 200, body: refundAnswer("PROCESSING")}, poll.RequestUnknown, "not signed"},
		{answer{status: 403, body: `{"code":"NOT_ENOUGH"}`}, poll.RequestUnknown, "not signed"},
	}
	for _, tt := range tests {
		got := serveAll(t, order.OfRefund, options(t), ask, tt.a).(poll.Requester).Request(t.Context(), &refund)
		if got.Reading != tt.want || !strings.Contains(got.Error, tt.why) {
			t.Errorf("%d %s: %v, %q; want %v, %q", tt.a.status, tt.a.body, got.Reading, got.Error, tt.want, tt.why)
		}
	}

	// By the number of the payment, with all that a request can say.
	o := order.Order{OrderNo: orderNo, RefNo: "R1", Vars: map[string]string{"amount": "1", "total": "2", "currency": "hkd", "transaction_id": "42", "reason": "sold <out>", "notify_url": "https://n.example/r"}}
	want := `POST /v3/refund/domestic/refunds {"amount":{"currency":"HKD","refund":1,"total":2},"notify_url":"https://n.example/r","out_refund_no":"R1","reason":"sold \u003cout\u003e","transaction_id":"42"}`
	if got := serveAll(t, order.OfRefund, options(t), want, signedBy(200, `{"out_refund_no":"R1","transaction_id":"42","status":"PROCESSING","amount":{"refund":1}}`)).(poll.Requester).Request(t.Context(), &o); got.Reading != poll.RequestAccepted {
		t.Errorf("%+v", got)
	}
	if got := serveAll(t, order.OfRefund, options(t), "", answer{}).(poll.Requester).Request(t.Context(), &order.Order{OrderNo: orderNo, RefNo: "R1"}); got.Result != bellman.Blocked || got.Reading != poll.RequestUnknown {
		t.Errorf("without an amount: %+v; want nothing sent", got)
	}
}

func TestCheckRef(t *testing.T) {
	with := func(o order.Order, no string, vars map[string]string) order.Order {
		o.RefNo, o.Vars = no, vars
		return o
	}
	tests := []struct {
		of      order.NoticeOf
		o       order.Order
		request bool
		want    string
	}{
		{order.OfRefund, refund, true, ""},
		{order.OfRefund, with(refund, "R@1", nil), false, ""},
		{order.OfRefund, with(refund, "R1", nil), true, "vars.amount vars.total"},
		{order.OfRefund, with(refund, "R1", map[string]string{"amount": "9", "total": "8"}), true, "vars.amount"},
		{order.OfRefund, with(refund, "R1", map[string]string{"amount": "1.5"}), false, "vars.amount"},
		{order.OfRefund, with(refund, "R1", map[string]string{"amount": "007", "total": "900"}), true, "vars.amount"},
		{order.OfRefund, with(refund, "R1", map[string]string{"amount": "9", "total": "9", "currency": "yuan"}), true, "vars.currency"},
		{order.OfRefund, with(refund, "R1", map[string]string{"amount": "9", "total": "9", "currency": "cny"}), true, ""},
		{order.OfRefund, with(refund, "R 1", nil), false, "ref_no"},
		{order.OfRefund, with(refund, strings.Repeat("1", 65), nil), false, "ref_no"},
		{order.OfRefund, order.Order{RefNo: "R1"}, false, "order_no"},
		{order.OfTransfer, transfer, false, ""},
		{order.OfTransfer, with(transfer, "T-20261120", nil), false, "ref_no"},
		{order.OfTransfer, with(transfer, "T1", nil), false, "ref_no"},
		{poll.OfProfitSharing, sharing, false, ""},
		{poll.OfProfitSharing, with(sharing, "P1", nil), false, "vars.transaction_id"},
	}
	for _, tt := range tests {
		p, err := NewPoll(tt.of, options(t))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(invalidtest.Fields(p.(poll.RefChecker).CheckRef(&tt.o, tt.request)), " "); got != tt.want {
			t.Errorf("%s %+v: %q; want %q", tt.of, tt.o, got, tt.want)
		}
	}
}

func TestNewPoll(t *testing.T) {
	sub := options(t)
	sub.SubMchID = subMchID
	for _, tt := range []struct {
		of   order.NoticeOf
		o    Options
		want string
	}{{"payment", options(t), "want refund"}, {order.OfTransfer, sub, "of the merchant itself"}, {order.OfRefund, Options{}, "mch_id"}} {
		if _, err := NewPoll(tt.of, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("NewPoll(%s) = %v; want %q", tt.of, err, tt.want)
		}
	}
	p, err := NewPoll(order.OfTransfer, options(t))
	if _, can := p.(poll.Requester); err != nil || can {
		t.Errorf("%v; a transfer is not requested", err)
	}
}
