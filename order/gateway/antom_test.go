package gateway_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/gateway"
)

const (
	antomClient = "SANDBOX_5X00000000000000"
	antomTime   = "1685599933871"
	antomPaid   = `{"result":{"resultCode":"SUCCESS","resultStatus":"S","resultMessage":"success."},"paymentStatus":"SUCCESS","paymentRequestId":"REQ1","paymentId":"2026112019407108001001888C0201234567","paymentAmount":{"value":"8888","currency":"USD"},"paymentTime":"2026-11-20T03:59:05-08:00"}`
	antomBack   = `{"result":{"resultCode":"SUCCESS","resultStatus":"S","resultMessage":"success."},"refundId":"2026112019407108001001888C0201234568","refundRequestId":"R1","refundStatus":"SUCCESS","refundAmount":{"value":"88","currency":"USD"},"refundTime":"2026-11-20T03:59:05-08:00"}`
	antomTaken  = `{"amount":8888,"currency":"USD","paid_at":"2026-11-20T11:59:05Z","transaction_id":"2026112019407108001001888C0201234567"}`
)

// antomSigned signs as global.alipay.com/docs/ac/ams/digital_signature says.
func antomSigned(t testing.TB, key keyPair, path, client, at, body string) string {
	t.Helper()
	return "algorithm=RSA256,keyVersion=1,signature=" + url.QueryEscape(key.sign(fmt.Sprintf("POST %s\n%s.%s.%s", path, client, at, body)))
}

func antomOptions(url string, merchant, antom keyPair) gateway.ProviderOptions {

	return gateway.ProviderOptions{Provider: gateway.Antom, BaseURL: url, MerchantID: antomClient, PrivateKey: sign.NewSecret(merchant.private),
		PublicKeys: secrets(merchant.public, antom.public), NoticePath: "/pay/notices/antom-orders"}
}

func TestAntomAnswers(t *testing.T) {
	p, merchant, antom := newPlatform(t), newKeyPair(), newKeyPair()
	channel, refunds := providerOf(t, antomOptions(p.URL, merchant, antom)), refundsOf(t, antomOptions(p.URL, merchant, antom))
	live := antomOptions(p.URL, merchant, antom)
	live.MerchantID = "5X00000000000000"
	stranger := newKeyPair()
	failed := func(status, code string) string {
		return `{"result":{"resultCode":"` + code + `","resultStatus":"` + status + `"}}`
	}
	paths := map[string]string{"query": "/ams/sandbox/api/v1/payments/inquiryPayment", "close": "/ams/sandbox/api/v1/payments/cancel", "refund": "/ams/sandbox/api/v1/payments/inquiryRefund"}
	for _, tt := range []struct {
		what, body  string
		by          *keyPair              // nil: Antom
		change      func(h http.Header)   // of the signed answer; nil: none
		sent        func(s string) string // of the body, after it was signed; nil: none
		want, taken string
		why         string
	}{
		{"query", antomPaid, nil, nil, nil, "PAID", antomTaken, ""},
		{"query", replaced(antomPaid, `"paymentStatus":"SUCCESS"`, `"paymentStatus":"FAIL"`), nil, nil, nil, "FAILED", "null", ""},
		{"query", replaced(antomPaid, `"paymentStatus":"SUCCESS"`, `"paymentStatus":"CANCELLED"`), nil, nil, nil, "CLOSED", "null", ""},
		{"query", replaced(antomPaid, `"paymentStatus":"SUCCESS"`, `"paymentStatus":"PROCESSING"`), nil, nil, nil, "PENDING", "null", ""},
		{"query", replaced(antomPaid, `"paymentStatus":"SUCCESS"`, `"paymentStatus":"PENDING"`), nil, nil, nil, "PENDING", "null", ""},
		{"query", replaced(antomPaid, `"paymentStatus":"SUCCESS"`, `"paymentStatus":"NEW"`), nil, nil, nil, "QUERY_ERROR", "null", `paymentStatus is "NEW"`},
		{"query", failed("F", "ORDER_NOT_EXIST"), nil, nil, nil, "NOT_FOUND", "null", ""},
		{"query", failed("U", "UNKNOWN_EXCEPTION"), nil, nil, nil, "QUERY_ERROR", "null", "UNKNOWN_EXCEPTION"},
		// Who signed it.
		{"query", antomPaid, &merchant, nil, nil, "PAID", antomTaken, ""}, // a second key that is configured
		{"query", antomPaid, &stranger, nil, nil, "QUERY_ERROR", "null", "signature is wrong"},
		{"query", antomPaid, nil, func(h http.Header) { h.Del("Signature") }, nil, "QUERY_ERROR", "null", "it is not signed"},
		{"query", antomPaid, nil, func(h http.Header) { h.Set("Response-Time", "1") }, nil, "QUERY_ERROR", "null", "signature is wrong"},
		{"query", antomPaid, nil, func(h http.Header) { h.Set("Client-Id", "SANDBOX_1") }, nil, "QUERY_ERROR", "null", `for the Client-Id "SANDBOX_1"`},
		{"query", antomPaid, nil, func(h http.Header) {
			h.Set("Signature", strings.Replace(h.Get("Signature"), "RSA256", "RSA1", 1))
		}, nil, "QUERY_ERROR", "null", "want RSA256"},
		{"query", antomPaid, nil, func(h http.Header) { h.Set("Signature", "algorithm=RSA256,keyVersion=1,signature=%zz") }, nil, "QUERY_ERROR", "null", "signature is wrong"},
		{"query", antomPaid, nil, nil, func(s string) string { return strings.Replace(s, "8888", "8889", 1) }, "QUERY_ERROR", "null", "signature is wrong"},
		// What it is about.
		{"query", replaced(antomPaid, "REQ1", "REQ2"), nil, nil, nil, "QUERY_ERROR", "null", `about the order "REQ2"`},
		{"query", replaced(antomPaid, `"paymentRequestId":"REQ1",`, ""), nil, nil, nil, "QUERY_ERROR", "null", `about the order ""`},
		{"query", replaced(antomPaid, `"paymentId"`, `"paymentRequestId":"REQ1","paymentId"`), nil, nil, nil, "QUERY_ERROR", "null", "there twice"},

		{"close", `{"result":{"resultCode":"SUCCESS","resultStatus":"S"},"paymentRequestId":"REQ1","cancelTime":"2026-11-20T03:59:05-08:00"}`, nil, nil, nil, "closed", "null", ""},
		{"close", failed("S", "SUCCESS"), nil, nil, nil, "closed", "null", ""},
		{"close", failed("U", "UNKNOWN_EXCEPTION"), nil, nil, nil, "in_flight", "null", ""},
		{"close", failed("F", "CANCEL_WINDOW_EXCEED"), nil, nil, nil, "paid_hint", "null", ""},
		{"close", failed("F", "ORDER_NOT_EXIST"), nil, nil, nil, "not_exist", "null", ""},
		{"close", failed("S", "SUCCESS"), &stranger, nil, nil, "unknown", "null", "signature is wrong"},
		{"close", replaced(antomPaid, "REQ1", "REQ2"), nil, nil, nil, "unknown", "null", `about the order "REQ2"`},

		{"refund", antomBack, nil, nil, nil, "DONE", `{"amount":88,"channel_ref_no":"2026112019407108001001888C0201234568","channel_state":"SUCCESS","currency":"USD","finished_at":"2026-11-20T11:59:05Z"}`, ""},
		{"refund", failed("F", "REFUND_NOT_EXIST"), nil, nil, nil, "NOT_FOUND", "null", ""},
		{"refund", replaced(antomBack, `"R1"`, `"R2"`), nil, nil, nil, "QUERY_ERROR", "null", `about the refund "R2"`},
		{"refund", antomBack, &stranger, nil, nil, "QUERY_ERROR", "null", "signature is wrong"},
	} {
		p.answers(func(r *http.Request, body []byte) (int, http.Header, string) {
			_, signature, _ := strings.Cut(r.Header.Get("Signature"), "algorithm=RSA256,keyVersion=1,signature=")
			signature, err := url.QueryUnescape(signature)
			want := `{"paymentRequestId":"REQ1"}`
			if tt.what == "refund" {
				want = `{"refundRequestId":"R1"}`
			}
			if err != nil || r.URL.Path != paths[tt.what] || string(body) != want || r.Header.Get("Client-Id") != antomClient ||
				!merchant.verify(fmt.Sprintf("POST %s\n%s.%s.%s", r.URL.Path, antomClient, r.Header.Get("Request-Time"), body), signature) {
				t.Errorf("%s: %s %s %s %v", tt.what, r.Method, r.URL.Path, body, r.Header)
			}
			by := antom
			if tt.by != nil {
				by = *tt.by
			}
			h := http.Header{"Client-Id": {antomClient}, "Response-Time": {antomTime}, "Signature": {antomSigned(t, by, paths[tt.what], antomClient, antomTime, tt.body)}}
			if tt.change != nil {
				tt.change(h)
			}
			if tt.sent != nil {
				return 200, h, tt.sent(tt.body)
			}
			return 200, h, tt.body
		})
		o := &order.Order{OrderNo: "REQ1", RefNo: "R1"}
		if reading, got, why := asked(t.Context(), channel, refunds, tt.what, o); reading != tt.want || got != tt.taken || (tt.why == "") != (why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("%s of %s\n  = %s %s %q\nwant %s %s %q", tt.what, tt.body, reading, got, why, tt.want, tt.taken, tt.why)
		}
	}
	// A client that is not of the sandbox has other paths, and an answer to another call is none to
	// a query.
	p.answers(func(r *http.Request, _ []byte) (int, http.Header, string) {
		if r.URL.Path != "/ams/api/v1/payments/inquiryPayment" {
			t.Errorf("path %s", r.URL.Path)
		}
		return 200, http.Header{"Client-Id": {live.MerchantID}, "Response-Time": {antomTime}, "Signature": {antomSigned(t, antom, "/ams/api/v1/payments/pay", live.MerchantID, antomTime, antomPaid)}}, antomPaid
	})
	if a := providerOf(t, live).Query(t.Context(), &order.Order{OrderNo: "REQ1"}); a.Reading != order.QueryError || !strings.Contains(a.Error, "signature is wrong") {
		t.Errorf("an answer to another call reads %v, %s", a.Reading, a.Error)
	}
}

func TestAntomNotices(t *testing.T) {
	merchant, antom := newKeyPair(), newKeyPair()
	channel := providerOf(t, antomOptions("", merchant, antom))
	const (
		path = "/pay/notices/antom-orders"
		paid = `{"notifyType":"PAYMENT_RESULT","result":{"resultCode":"SUCCESS","resultStatus":"S","resultMessage":"success"},"paymentRequestId":"REQ1","paymentId":"2026112019407108001001888C0201234567","paymentAmount":{"value":"8888","currency":"USD"},"paymentTime":"2026-11-20T03:59:05-08:00"}`
		back = `{"notifyType":"REFUND_RESULT","result":{"resultCode":"SUCCESS","resultStatus":"S"},"refundStatus":"SUCCESS","refundRequestId":"R1","refundId":"1","refundAmount":{"value":"88","currency":"USD"}}`
	)
	for _, tt := range []struct {
		name, path, body string
		by               keyPair
		want             string
	}{
		{"paid", path, paid, antom, "REQ1 PAID " + antomTaken},
		{"failed", path, replaced(paid, `"S"`, `"F"`), antom, "REQ1 FAILED null"},
		{"pending", path, replaced(paid, "PAYMENT_RESULT", "PAYMENT_PENDING"), antom, "REQ1 PENDING null"},
		{"unknown", path, replaced(paid, `"S"`, `"U"`), antom, `REQ1 QUERY_ERROR null notifyType "PAYMENT_RESULT", resultStatus "U": only an answer to a query says how the order stands`},
		{"captured", path, replaced(paid, "PAYMENT_RESULT", "CAPTURE_RESULT"), antom, `REQ1 QUERY_ERROR null notifyType "CAPTURE_RESULT", resultStatus "S": only an answer to a query says how the order stands`},
		{"refund", path, back, antom, "refund R1 DONE"},
		{"dispute", path, `{"notifyType":"DISPUTE_CREATED"}`, antom, `unreadable: the notice is of "DISPUTE_CREATED", and not of a payment or refund`},
		{"another key", path, paid, newKeyPair(), "refused, hint REQ1: the notice cannot be trusted: its signature is wrong"},
		{"sent to another path", "/notices/antom-orders", paid, antom, "refused, hint REQ1: the notice cannot be trusted: its signature is wrong"},
		{"twice", path, replaced(paid, `"paymentId"`, `"paymentRequestId":"REQ1","paymentId"`), antom, `refused, hint : the notice cannot be trusted: the body is not JSON: field "paymentRequestId" is there twice`},
	} {
		h := http.Header{"Client-Id": {antomClient}, "Request-Time": {antomTime}, "Signature": {antomSigned(t, tt.by, tt.path, antomClient, antomTime, tt.body)}}
		if got := noticeOf(channel, h, tt.body); got != tt.want {
			t.Errorf("%s\n  = %s\nwant %s", tt.name, got, tt.want)
		}
	}
	for accepted, want := range map[bool]string{
		true:  `200 {"result":{"resultCode":"SUCCESS","resultStatus":"S","resultMessage":"success"}}`,
		false: `400 {"result":{"resultCode":"FAIL","resultStatus":"F","resultMessage":"fail"}}`,
	} {
		if a := channel.AnswerNotice(accepted, ""); fmt.Sprint(a.Status, " ", a.Body) != want || a.ContentType != "application/json" {
			t.Errorf("answer %+v; want %s", a, want)
		}
	}
}

// No header makes a notice of another key count, and none makes it panic.
func FuzzAntomSignature(f *testing.F) {
	merchant, antom := newKeyPair(), newKeyPair()
	channel := providerOf(f, antomOptions("", merchant, antom))
	body := `{"notifyType":"PAYMENT_RESULT","paymentRequestId":"REQ1"}`
	for _, seed := range []string{antomSigned(f, newKeyPair(), "/pay/notices/antom-orders", antomClient, antomTime, body), "algorithm=RSA256,signature=", "signature=%", ",,=", ""} {
		f.Add(seed, antomTime)
	}
	f.Fuzz(func(t *testing.T, header, at string) {
		items, hint, err := channel.ReadNotice(&order.RawNotice{Header: http.Header{"Client-Id": {antomClient}, "Request-Time": {at}, "Signature": {header}}, Body: []byte(body), At: providerNow})
		if err == nil || len(items) > 0 || hint != "REQ1" {
			t.Fatalf("%q at %q: %v, %q, %v", header, at, items, hint, err)
		}
	})
}
