package wechatpay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
)

var _ order.Channel = (*Channel)(nil)

func TestQuery(t *testing.T) {
	tests := []struct {
		name      string
		answer    answer
		want      order.Reading
		wait      time.Duration
		throttled bool
	}{
		{"paid", signedBy(200, trade("SUCCESS")), order.Paid, 0, false},
		{"refunded", signedBy(200, trade("REFUND")), order.PaidRefunded, 0, false},
		{"not paid", signedBy(200, trade("NOTPAY")), order.Pending, 0, false},
		{"paying", signedBy(200, trade("USERPAYING")), order.Pending, 5 * time.Second, false},
		{"accepted", signedBy(200, trade("ACCEPT")), order.Pending, 0, false},
		{"closed", signedBy(200, trade("CLOSED")), order.Closed, 0, false},
		{"revoked", signedBy(200, trade("REVOKED")), order.Revoked, 0, false},
		{"failed", signedBy(200, trade("PAYERROR")), order.Failed, 0, false},
		{"a state of the future", signedBy(200, trade("HOVERING")), order.QueryError, 0, false},
		{"no such order", signedBy(404, `{"code":"ORDER_NOT_EXIST","message":"订单不存在"}`), order.NotFound, 0, false},
		{"an error of the system", signedBy(500, `{"code":"SYSTEM_ERROR","message":"系统异常，请稍后重试"}`), order.QueryError, 0, false},
		{"too many", signedBy(429, `{"code":"FREQUENCY_LIMITED","message":"频率超限"}`), order.QueryError, 0, true},
		{"not our signature", answer{status: 401, body: `{"code":"SIGN_ERROR","message":"签名错误"}`}, order.QueryError, 0, false},
		{"too many, says something in front", answer{status: 429, body: "slow down"}, order.QueryError, 0, true},
		{"something in front failed", answer{status: 502, body: "<html>"}, order.QueryError, 0, false},
		// What is not signed never decides, nor leads to a close.
		{"paid, not signed", answer{status: 200, body: trade("SUCCESS")}, order.QueryError, 0, false},
		{"closed, not signed", answer{status: 200, body: trade("CLOSED")}, order.QueryError, 0, false},
		{"no such order, not signed", answer{status: 404, body: `{"code":"ORDER_NOT_EXIST"}`}, order.QueryError, 0, false},
	}
	for _, tt := range tests {
		got := query(t, options(t), tt.answer)
		if got.Reading != tt.want || got.Wait != tt.wait || got.Throttled != tt.throttled || got.Status != tt.answer.status ||
			(got.Result == bellman.Accepted) != (tt.want != order.QueryError) || (got.Error == "") != (tt.want != order.QueryError) {
			t.Errorf("%s: %v, wait %v, throttled %t, status %d, %v, %q; want %v, %v, %t",
				tt.name, got.Reading, got.Wait, got.Throttled, got.Status, got.Result, got.Error, tt.want, tt.wait, tt.throttled)
		}
	}
}

func TestTaken(t *testing.T) {
	got := query(t, options(t), signedBy(200, trade("SUCCESS"))).Taken
	if got["transaction_id"] != "1217752501201407033233368018" || fmt.Sprint(got["amount"]) != "1" || got["currency"] != "CNY" {
		t.Errorf("Taken = %v", got)
	}
}

func TestClose(t *testing.T) {
	tests := []struct {
		name   string
		answer answer
		want   order.CloseReading
	}{
		{"closed", signedBy(204, ""), order.CloseDone},
		{"closed before", signedBy(400, `{"code":"ORDER_CLOSED","message":"订单已关闭"}`), order.CloseAlready},
		{"paid", signedBy(400, `{"code":"ORDERPAID","message":"订单已支付"}`), order.ClosePaidHint},
		{"paying", signedBy(202, `{"code":"USERPAYING","message":"用户支付中，需要输入密码"}`), order.CloseInFlight},
		{"too many", signedBy(429, `{"code":"FREQUENCY_LIMITED","message":"频率超限"}`), order.CloseInFlight},
		{"no such order", signedBy(404, `{"code":"ORDER_NOT_EXIST","message":"订单不存在"}`), order.CloseNotExist},
		{"closed, not signed", answer{status: 204}, order.CloseUnknown},
		{"closed before, not signed", answer{status: 400, body: `{"code":"ORDER_CLOSED"}`}, order.CloseUnknown},
		{"closed, by a stranger", answer{status: 204, by: strangersKey, serial: publicID, at: now}, order.CloseUnknown},
		{"closed, long ago", answer{status: 204, by: publicKey, serial: publicID, at: now.Add(-time.Hour)}, order.CloseUnknown},
		{"something in front failed", answer{status: 502, body: "<html>"}, order.CloseUnknown},
	}
	for _, tt := range tests {
		got := closing(t, options(t), tt.answer)
		if got.Reading != tt.want || got.Status != tt.answer.status || (got.Error == "") != (tt.want != order.CloseUnknown) {
			t.Errorf("%s: %v, status %d, %q; want %v", tt.name, got.Reading, got.Status, got.Error, tt.want)
		}
	}
	for _, a := range []answer{{status: 429}, signedBy(429, `{"code":"FREQUENCY_LIMITED"}`)} {
		if got := closing(t, options(t), a); !got.Throttled {
			t.Errorf("a close refused with 429 is not throttled: %+v", got)
		}
	}
}

// Whatever of a paid order's answer is bent, it says nothing any more.
func TestForged(t *testing.T) {
	set := func(name, value string) func(http.Header) {
		return func(h http.Header) { h.Set(name, value) }
	}
	drop := func(name string) func(http.Header) { return func(h http.Header) { h.Del(name) } }
	paid := signedBy(200, trade("SUCCESS"))
	at := func(d time.Duration) answer { a := paid; a.at = now.Add(d); return a }
	bent := func(f func(http.Header)) answer { a := paid; a.bend = f; return a }
	stranger := paid
	stranger.by = strangersKey
	longer := paid
	longer.sent = paid.body + " "
	tests := []struct {
		name   string
		answer answer
		want   string // a part of the error; empty: it counts
	}{
		{"as it is", paid, ""},
		{"almost too old", at(-5*time.Minute + time.Second), ""},
		{"almost too new", at(5*time.Minute - time.Second), ""},
		{"too old", at(-5 * time.Minute), "differs from ours by 5m0s"},
		{"too new", at(5 * time.Minute), "differs from ours by 5m0s"},
		{"a stranger's key", stranger, "signature is wrong"},
		{"an unknown serial", bent(set("Wechatpay-Serial", "ABCDEF")), `"ABCDEF", which is not among platform_keys`},
		{"another nonce", bent(set("Wechatpay-Nonce", "x")), "signature is wrong"},
		{"another time", bent(set("Wechatpay-Timestamp", fmt.Sprint(now.Unix()+1))), "signature is wrong"},
		{"no time", bent(set("Wechatpay-Timestamp", "yesterday")), "is no time"},
		{"no base64", bent(set("Wechatpay-Signature", "?")), "signature is wrong"},
		{"a probe", bent(set("Wechatpay-Signature", "WECHATPAY/SIGNTEST/c2ln")), "probing"},
		{"no signature", bent(drop("Wechatpay-Signature")), "not signed"},
		{"no serial", bent(drop("Wechatpay-Serial")), "not signed"},
		{"no timestamp", bent(drop("Wechatpay-Timestamp")), "not signed"},
		{"no nonce", bent(drop("Wechatpay-Nonce")), "not signed"},
		{"a longer body", longer, "signature is wrong"},
		{"another order", signedBy(200, strings.Replace(trade("SUCCESS"), orderNo, "another-order", 1)), `about the order "another-order"`},
		{"another merchant", signedBy(200, strings.Replace(trade("SUCCESS"), mchID, "1999999999", 1)), `of the merchant "1999999999"`},
		{"a partner's", signedBy(200, strings.Replace(trade("SUCCESS"), `"mchid"`, `"sp_mchid"`, 1)), `of the merchant "` + mchID + `/"`},
		{"another order, with another status", signedBy(201, strings.Replace(trade("SUCCESS"), orderNo, "another-order", 1)), `about the order "another-order"`},
		{"no order at all", signedBy(200, `{"trade_state":"SUCCESS"}`), `about the order ""`},
		{"no object", signedBy(200, `["SUCCESS"]`), "not the JSON object"},
		{"cut off", signedBy(200, trade("SUCCESS")[:50]), "not the JSON object"},
	}
	for _, tt := range tests {
		got := query(t, options(t), tt.answer)
		if counts := got.Reading == order.Paid; counts != (tt.want == "") || !strings.Contains(got.Error, tt.want) ||
			!counts && (got.Reading != order.QueryError || got.Result != bellman.Refused || got.Taken != nil) {
			t.Errorf("%s: %v, %v, %q; want %q", tt.name, got.Reading, got.Result, got.Error, tt.want)
		}
	}
}

// What is not whole does not count, though the part that came were signed.
func TestNotWhole(t *testing.T) {
	long := signedBy(200, trade("SUCCESS")+strings.Repeat(" ", 64<<10))
	encoded := signedBy(200, trade("SUCCESS"))
	encoded.bend = func(h http.Header) { h.Set("Content-Encoding", "br") }
	broken := signedBy(200, trade("SUCCESS"))
	broken.bend = func(h http.Header) { h.Set("Content-Length", "5000") }
	for want, a := range map[string]answer{"longer than 64 KiB": long, "encoded": encoded, "broke off": broken} {
		if got := query(t, options(t), a); got.Reading != order.QueryError || got.Result == bellman.Accepted || !strings.Contains(got.Error, want) {
			t.Errorf("%v, %v, %q; want QUERY_ERROR, %q", got.Reading, got.Result, got.Error, want)
		}
	}
	closed := signedBy(400, `{"code":"ORDER_CLOSED"}`)
	closed.bend = encoded.bend
	if got := closing(t, options(t), closed); got.Reading != order.CloseUnknown || !strings.Contains(got.Error, "encoded") {
		t.Errorf("%v, %q; want unknown, encoded", got.Reading, got.Error)
	}
}

// Who refuses the request says why, for people: what it says is nobody's word.
func TestRefusal(t *testing.T) {
	got := query(t, options(t), answer{status: 401, body: `{"code":"SIGN_ERROR","message":"签名错误"}`})
	if want := `the answer is not signed; it says "SIGN_ERROR", "签名错误"`; got.Error != want || got.Result != bellman.ErrorStatus {
		t.Errorf("%v, %s; want %s", got.Result, got.Error, want)
	}
	moved := answer{status: 302, bend: func(h http.Header) { h.Set("Location", "https://elsewhere.example/") }}
	if got := query(t, options(t), moved); got.Reading != order.QueryError || !strings.Contains(got.Error, "redirects are not followed") {
		t.Errorf("%v, %q; want that no redirect is followed", got.Reading, got.Error)
	}
}

func TestForgedByte(t *testing.T) {
	paid := signedBy(200, trade("SUCCESS"))
	c := serve(t, options(t), queryRequest, paid)
	a := c.Query(t.Context(), &order.Order{OrderNo: orderNo})
	if a.Reading != order.Paid {
		t.Fatalf("%v, %s; want PAID", a.Reading, a.Error)
	}
	for i := range a.Body {
		bent := a.Answer
		bent.Body = []byte(string(a.Body))
		bent.Body[i] ^= 1
		if err := c.verify(t.Context(), "answer", func(name string) string { return bent.Header[name] }, bent.Body, now); err == nil {
			t.Errorf("byte %d changed: no error", i)
		}
	}
}

// While WeChat Pay changes keys it signs with the old one and the new one.
func TestRotation(t *testing.T) {
	o := options(t)
	old := strings.ToUpper(serialOf(0x0F57F09E))
	o.PlatformKeys[old] = certificate(t, certificateKey, old)
	for _, tt := range []struct {
		name   string
		answer answer
		want   order.Reading
	}{
		{"the public key", answer{200, trade("SUCCESS"), publicKey, publicID, now, nil, ""}, order.Paid},
		{"the certificate", answer{200, trade("SUCCESS"), certificateKey, old, now, nil, ""}, order.Paid},
		{"its serial without zeros", answer{200, trade("SUCCESS"), certificateKey, "F57F09E", now, nil, ""}, order.Paid},
		{"its serial in small letters", answer{200, trade("SUCCESS"), certificateKey, "0f57f09e", now, nil, ""}, order.Paid},
		{"one key under the other's name", answer{200, trade("SUCCESS"), certificateKey, publicID, now, nil, ""}, order.QueryError},
		{"and the other way round", answer{200, trade("SUCCESS"), publicKey, old, now, nil, ""}, order.QueryError},
	} {
		if got := query(t, o, tt.answer); got.Reading != tt.want {
			t.Errorf("%s: %v, %s; want %v", tt.name, got.Reading, got.Error, tt.want)
		}
	}
}

// A roundTripper answers nothing and keeps the request.
type roundTripper struct{ req *http.Request }

func (rt *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	rt.req = req
	return nil, errors.New("closed")
}

// A request says which public key the merchant has, and no certificate's serial.
func TestRequestSerial(t *testing.T) {
	o, rt := options(t), &roundTripper{}
	o.Transport = rt
	ask := func() string {
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if a := c.Query(t.Context(), &order.Order{OrderNo: orderNo}); a.Reading != order.QueryError || a.Error == "" || a.Status != 0 {
			t.Errorf("without an answer: %+v", a)
		}
		if got := rt.req.URL.Host; got != "api.mch.weixin.qq.com" {
			t.Errorf("asked %s", got)
		}
		return rt.req.Header.Get("Wechatpay-Serial")
	}
	if got := ask(); got != publicID {
		t.Errorf("Wechatpay-Serial: %q; want %q", got, publicID)
	}
	o.PlatformKeys = map[string]sign.Secret{"F57F09E": certificate(t, certificateKey, "F57F09E")}
	if got := ask(); got != "" {
		t.Errorf("Wechatpay-Serial: %q; want none", got)
	}
}

func TestPartner(t *testing.T) {
	o := options(t)
	o.SubMchID = subMchID
	no := &order.Order{OrderNo: orderNo}
	own := strings.Replace(trade("SUCCESS"), `"mchid":"`+mchID+`"`, `"sp_mchid":"`+mchID+`","sub_mchid":"`+subMchID+`"`, 1)
	const ask = "GET /v3/pay/partner/transactions/out-trade-no/" + orderNo + "?sp_mchid=" + mchID + "&sub_mchid=" + subMchID
	for body, want := range map[string]order.Reading{
		own:              order.Paid,
		trade("SUCCESS"): order.QueryError, // a merchant's own order
		strings.Replace(own, subMchID, "1900000110", 1): order.QueryError,
	} {
		if got := serve(t, o, ask, signedBy(200, body)).Query(t.Context(), no); got.Reading != want {
			t.Errorf("%s: %v, %s; want %v", body, got.Reading, got.Error, want)
		}
	}
	const shut = "POST /v3/pay/partner/transactions/out-trade-no/" + orderNo + `/close {"sp_mchid":"` + mchID + `","sub_mchid":"` + subMchID + `"}`
	if got := serve(t, o, shut, signedBy(204, "")).Close(t.Context(), no); got.Reading != order.CloseDone {
		t.Errorf("Close: %v, %s", got.Reading, got.Error)
	}
}

// What is sent is what was signed, whatever an order number has in it.
func TestOrderNumbers(t *testing.T) {
	const odd = "a|b*c_d-1"
	want := "GET /v3/pay/transactions/out-trade-no/a%7Cb%2Ac_d-1?mchid=" + mchID
	body := strings.Replace(trade("NOTPAY"), orderNo, odd, 1)
	if got := serve(t, options(t), want, signedBy(200, body)).Query(t.Context(), &order.Order{OrderNo: odd}); got.Reading != order.Pending {
		t.Errorf("%v, %s", got.Reading, got.Error)
	}

	rt := &roundTripper{}
	o := options(t)
	o.Transport = rt
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for no, ok := range map[string]bool{
		"abcde1": true, "A-_|*9": true, strings.Repeat("9", 32): true,
		"": false, "abcde": false, strings.Repeat("9", 33): false,
		"../../x": false, "abc de1": false, "abcdef/close": false, "订单号": false, "abcdef?": false, "abcdef\n": false,
	} {
		err := c.CheckOrder(&order.Order{OrderNo: no})
		if (err == nil) != ok || err != nil && !strings.HasPrefix(err.Error(), "order_no: ") {
			t.Errorf("CheckOrder(%q) = %v; want accepted: %t", no, err, ok)
		}
		if ok {
			continue
		}
		q, cl := c.Query(t.Context(), &order.Order{OrderNo: no}), c.Close(t.Context(), &order.Order{OrderNo: no})
		if q.Reading != order.QueryError || q.Result != bellman.Blocked || q.Error == "" ||
			cl.Reading != order.CloseUnknown || cl.Result != bellman.Blocked || rt.req != nil {
			t.Errorf("%q: %+v, %+v, %v; want nothing asked", no, q, cl, rt.req)
		}
	}
}

// A channel that hangs: a query says nothing, and a close may have been done.
func TestHang(t *testing.T) {
	o := options(t)
	o.Transport = hanging{}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if got := c.Query(ctx, &order.Order{OrderNo: orderNo}); got.Reading != order.QueryError || got.Result != bellman.TimedOut {
		t.Errorf("Query: %+v", got)
	}
	if got := c.Close(ctx, &order.Order{OrderNo: orderNo}); got.Reading != order.CloseInFlight || got.Result != bellman.TimedOut {
		t.Errorf("Close: %+v", got)
	}
}

type hanging struct{}

func (hanging) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// cutOff answers, and is told to stop before the answer is whole.
type cutOff struct{ stop context.CancelFunc }

func (c cutOff) RoundTrip(*http.Request) (*http.Response, error) {
	body := io.MultiReader(strings.NewReader(`{"code":"ORDER_CLOSED"}`), c)
	return &http.Response{StatusCode: 400, Header: http.Header{}, Body: io.NopCloser(body)}, nil
}

func (c cutOff) Read([]byte) (int, error) {
	c.stop()
	return 0, context.Canceled
}

func TestCutOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := options(t)
	o.Transport = cutOff{cancel}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Close(ctx, &order.Order{OrderNo: orderNo}); got.Reading != order.CloseUnknown || got.Result != bellman.Unknown || got.Error == "" {
		t.Errorf("Close: %v, %v, %q; want unknown, and that we were told to stop", got.Reading, got.Result, got.Error)
	}
}
