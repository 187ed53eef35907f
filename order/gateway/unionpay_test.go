package gateway_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/gateway"
)

// A bank is UnionPay: its certificates, and those of the merchant.
type bank struct {
	root, middle, signer, merchant *certified
	stranger                       *certified // a company that the same authority certified
}

const unionPayCN = "041@Z12@中国银联股份有限公司@Z12-001"

func newBank(t testing.TB) *bank {
	t.Helper()
	until := providerNow.AddDate(1, 0, 0)
	b := &bank{root: certify(t, "CFCA TEST CS CA", true, nil, until), merchant: certify(t, "merchant", false, nil, until)}
	b.middle = certify(t, "CFCA TEST OCA1", true, b.root, until)
	b.signer = certify(t, unionPayCN, false, b.middle, until)
	b.stranger = certify(t, "041@Z12@某某有限公司@Z12-001", false, b.middle, until)
	return b
}

func (b *bank) options(url string) gateway.ProviderOptions {
	return gateway.ProviderOptions{Provider: gateway.UnionPay, BaseURL: url, MerchantID: "777290058110048", PrivateKey: sign.NewSecret(b.merchant.private),
		Certificate: sign.NewSecret(b.merchant.text), Roots: sign.NewSecret(b.root.text + b.middle.text), PayTimeout: 30 * time.Minute}
}

// unionPayDigest is what UnionPay's SDK signs: see SDKUtil.sign, version 5.1.0.
func unionPayDigest(fields map[string]string) string {
	fields = maps.Clone(fields)
	delete(fields, "signature")
	return fmt.Sprintf("%x", sha256.Sum256([]byte(keytest.Pairs(fields))))
}

// signed adds the certificate and the signature of who signs.
func (b *bank) signed(t testing.TB, by *certified, fields map[string]string) map[string]string {
	fields = with(fields, "signPubKeyCert", by.text)
	return with(fields, "signature", by.sign(unionPayDigest(fields)))
}

var (
	unionPayEcho = map[string]string{"version": "5.1.0", "signMethod": "01", "encoding": "UTF-8", "txnType": "00", "txnSubType": "00", "bizType": "000000", "accessType": "0",
		"merId": "777290058110048", "orderId": "20261120000001", "txnTime": "20261120195500", "respCode": "00", "respMsg": "成功[0000000]"}
	unionPayPaid = with(unionPayEcho, "origRespCode", "00", "origRespMsg", "成功[0000000]", "queryId", "612611201955001234", "txnAmt", "8888", "currencyCode", "156", "customerInfo", "{phoneNo=1&cvn2=2}")
)

func TestUnionPayAnswers(t *testing.T) {
	b, p := newBank(t), newPlatform(t)
	channel, refunds := providerOf(t, b.options(p.URL)), refundsOf(t, b.options(p.URL))
	pinned := b.options(p.URL)
	pinned.Roots = sign.NewSecret(b.stranger.text)
	production := b.options("")
	production.Transport = elsewhere{p.URL}
	testSigner := certify(t, "041@Z12@00040000:SIGN@1", false, b.middle, providerNow.AddDate(1, 0, 0))
	nameless := certify(t, "041@Z12@@1", false, b.middle, providerNow.AddDate(1, 0, 0))
	short := certify(t, "041@Z12", false, b.middle, providerNow.AddDate(1, 0, 0))
	ended := certify(t, "bank", false, nil, providerNow.Add(-time.Second))
	pinnedEnded := b.options(p.URL)
	pinnedEnded.Roots = sign.NewSecret(ended.text)
	old := certify(t, unionPayCN, false, b.middle, providerNow.Add(-time.Second))
	forged := certify(t, unionPayCN, false, nil, providerNow.AddDate(1, 0, 0))
	const taken = `{"amount":8888,"currency":"CNY","transaction_id":"612611201955001234"}`
	for _, tt := range []struct {
		what        string
		channel     *gateway.Provider
		fields      map[string]string
		age         time.Duration
		want, taken string
		why         string
	}{
		{"query", channel, b.signed(t, b.signer, unionPayPaid), 0, "PAID", taken, ""},
		{"query", channel, b.signed(t, testSigner, unionPayPaid), 0, "PAID", taken, ""},
		{"query", channel, b.signed(t, b.signer, with(unionPayPaid, "origRespCode", "05")), 0, "PENDING", "null", ""},
		{"query", channel, b.signed(t, b.signer, with(unionPayPaid, "origRespCode", "51")), 29 * time.Minute, "PENDING", "null", ""},
		{"query", channel, b.signed(t, b.signer, with(unionPayPaid, "origRespCode", "51")), 31 * time.Minute, "FAILED", "null", ""},
		{"query", channel, b.signed(t, b.signer, with(unionPayEcho, "respCode", "34")), 29 * time.Minute, "PENDING", "null", ""},
		{"query", channel, b.signed(t, b.signer, with(unionPayEcho, "respCode", "34")), 31 * time.Minute, "CLOSED", "null", ""},
		{"query", channel, b.signed(t, b.signer, with(unionPayPaid, "origRespCode", "A6")), 0, "QUERY_ERROR", "null", "A6"},
		{"query", channel, b.signed(t, b.signer, with(unionPayEcho, "respCode", "11")), 0, "QUERY_ERROR", "null", "respCode"},
		// Who signed it.
		{"query", channel, unionPayPaid, 0, "QUERY_ERROR", "null", "it is not signed"},
		{"query", channel, with(b.signed(t, b.signer, unionPayPaid), "txnAmt", "1"), 0, "QUERY_ERROR", "null", "signature is wrong"},
		{"query", channel, b.signed(t, b.stranger, unionPayPaid), 0, "QUERY_ERROR", "null", "not of UnionPay"},
		{"query", channel, b.signed(t, forged, unionPayPaid), 0, "QUERY_ERROR", "null", "its certificate is not UnionPay's"},
		{"query", channel, b.signed(t, old, unionPayPaid), 0, "QUERY_ERROR", "null", "its certificate is not UnionPay's"},
		{"query", channel, with(b.signed(t, b.signer, unionPayPaid), "signPubKeyCert", ""), 0, "QUERY_ERROR", "null", "not one certificate"},
		{"query", channel, with(b.signed(t, b.stranger, unionPayPaid), "signPubKeyCert", b.signer.text), 0, "QUERY_ERROR", "null", "signature is wrong"},
		{"query", channel, b.signed(t, b.signer, with(unionPayPaid, "version", "5.0.0")), 0, "QUERY_ERROR", "null", "want 5.1.0 and 01"},
		{"query", channel, b.signed(t, b.signer, with(unionPayPaid, "signMethod", "11")), 0, "QUERY_ERROR", "null", "want 5.1.0 and 01"},
		{"query", providerOf(t, production), b.signed(t, b.signer, unionPayPaid), 0, "PAID", taken, ""},
		{"query", providerOf(t, production), b.signed(t, testSigner, unionPayPaid), 0, "QUERY_ERROR", "null", "not of UnionPay"},
		{"query", providerOf(t, pinned), b.signed(t, b.stranger, unionPayPaid), 0, "PAID", taken, ""},
		{"query", providerOf(t, pinned), b.signed(t, b.signer, unionPayPaid), 0, "QUERY_ERROR", "null", "its certificate is not UnionPay's"},
		{"query", providerOf(t, pinnedEnded), b.signed(t, ended, unionPayPaid), 0, "QUERY_ERROR", "null", "its certificate is valid until 2026-11-20"},
		{"query", channel, b.signed(t, short, unionPayPaid), 0, "QUERY_ERROR", "null", "not of UnionPay"},
		{"query", providerOf(t, production), b.signed(t, nameless, unionPayPaid), 0, "QUERY_ERROR", "null", "not of UnionPay"},
		{"query", channel, with(b.signed(t, b.signer, unionPayPaid), "signPubKeyCert", b.signer.text+b.signer.text), 0, "QUERY_ERROR", "null", "not one certificate"},
		// What it is about.
		{"query", channel, b.signed(t, b.signer, with(unionPayPaid, "orderId", "20261120000002")), 0, "QUERY_ERROR", "null", `about the orderId "20261120000002"`},
		{"query", channel, b.signed(t, b.signer, with(unionPayPaid, "txnTime", "20261119195500")), 0, "QUERY_ERROR", "null", "about the txnTime"},
		{"query", channel, b.signed(t, b.signer, with(unionPayPaid, "merId", "1")), 0, "QUERY_ERROR", "null", "about the merId"},
		{"query", channel, b.signed(t, b.signer, with(unionPayPaid, "orderId", "")), 0, "QUERY_ERROR", "null", "about the orderId"},

		{"close", channel, nil, 0, "unknown", "null", "UnionPay closes no order"},

		{"refund", channel, b.signed(t, b.signer, with(unionPayPaid, "orderId", "20261120000001R1")), 0, "DONE", `{"amount":8888,"channel_ref_no":"612611201955001234","channel_state":"00","currency":"CNY"}`, ""},
		{"refund", channel, b.signed(t, b.signer, with(unionPayPaid, "orderId", "20261120000001R1", "respCode", "34", "origRespCode", "")), 0, "NOT_FOUND", "null", ""},
		{"refund", channel, b.signed(t, b.signer, unionPayPaid), 0, "QUERY_ERROR", "null", "about the orderId"},
	} {
		p.answers(func(r *http.Request, body []byte) (int, http.Header, string) {
			b.checkRequest(t, tt.what, r, body)
			return 200, nil, keytest.Pairs(tt.fields)
		})
		o := &order.Order{OrderNo: "20261120000001", RefNo: "20261120000001R1", Vars: map[string]string{"txn_time": "20261120195500"}, Created: providerNow.Add(-tt.age)}
		if reading, got, why := asked(t.Context(), tt.channel, refunds, tt.what, o); reading != tt.want || got != tt.taken || (tt.why == "") != (why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("%s of %s\n  = %s %s %q\nwant %s %s %q", tt.what, keytest.Pairs(tt.fields), reading, got, why, tt.want, tt.taken, tt.why)
		}
	}
	if got := channel.Certificates()["certificate"]; !got.Equal(providerNow.AddDate(1, 0, 0)) {
		t.Errorf("the certificate expires at %v", got)
	}
}

// While an order says that it can be paid, no failure and no missing trade is final, whatever the
// pay timeout.
func TestUnionPayWhileTheOrderCanBePaid(t *testing.T) {
	b, p := newBank(t), newPlatform(t)
	channel := providerOf(t, b.options(p.URL)) // with a pay timeout of 30m
	for _, tt := range []struct {
		left time.Duration // until the order expires
		code string
		want order.Reading
	}{{time.Second, "34", order.Pending}, {0, "34", order.Closed}, {time.Second, "51", order.Pending}, {0, "51", order.Failed}} {
		p.answers(func(*http.Request, []byte) (int, http.Header, string) {
			fields := with(unionPayEcho, "respCode", tt.code)
			if tt.code != "34" {
				fields = with(unionPayPaid, "origRespCode", tt.code)
			}
			return 200, nil, keytest.Pairs(b.signed(t, b.signer, fields))
		})
		o := &order.Order{OrderNo: "20261120000001", Vars: map[string]string{"txn_time": "20261120195500"}, Created: providerNow.Add(-3 * time.Hour), Expires: providerNow.Add(tt.left)}
		if a := channel.Query(t.Context(), o); a.Reading != tt.want {
			t.Errorf("%s, and %v left: %v %s; want %v", tt.code, tt.left, a.Reading, a.Error, tt.want)
		}
	}
}

// elsewhere sends all requests to a platform.
type elsewhere struct{ url string }

func (e elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := url.Parse(e.url)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = to.Scheme, to.Host
	return http.DefaultTransport.RoundTrip(r)
}

// checkRequest checks a request as UnionPay does.
func (b *bank) checkRequest(t *testing.T, what string, r *http.Request, body []byte) {
	t.Helper()
	form, err := url.ParseQuery(string(body))
	if err != nil {
		t.Error(err)
	}
	fields := map[string]string{}
	for name := range form {
		fields[name] = form.Get(name)
	}
	no := "20261120000001"
	if what == "refund" {
		no += "R1"
	}
	want := with(map[string]string{"version": "5.1.0", "encoding": "UTF-8", "signMethod": "01", "txnType": "00", "txnSubType": "00", "bizType": "000000", "accessType": "0",
		"merId": "777290058110048", "orderId": no, "txnTime": "20261120195500", "certId": b.merchant.certificate.SerialNumber.String()})
	if r.URL.Path != "/gateway/api/queryTrans.do" || r.Method != http.MethodPost || keytest.Pairs(with(fields, "signature", "")) != keytest.Pairs(want) || !b.merchant.verify(unionPayDigest(fields), fields["signature"]) {
		t.Errorf("%s: %s %s %s", what, r.Method, r.URL.Path, body)
	}
}

func unionPayForm(fields map[string]string) string {
	form := url.Values{}
	for name, value := range fields {
		form.Set(name, value)
	}
	return form.Encode()
}

// A payment's notice causes a query, as UnionPay's demo asks for.
func TestUnionPayNotices(t *testing.T) {
	b := newBank(t)
	channel := providerOf(t, b.options("https://gateway.test.95516.com"))
	told := with(unionPayEcho, "txnType", "01", "txnSubType", "01", "queryId", "612611201955001234", "txnAmt", "8888", "currencyCode", "156")
	const asks = `612611201955001234 20261120000001 QUERY_ERROR null UnionPay asks to query a payment before it counts; the notice says respCode "00"`
	for _, tt := range []struct{ name, body, want string }{
		{"paid", unionPayForm(b.signed(t, b.signer, told)), asks},
		{"a field without a value, not signed", unionPayForm(b.signed(t, b.signer, told)) + "&reserved=", asks},
		{"a field without a value, signed", unionPayForm(b.withEmpty(t, told)), asks},
		{"refund", unionPayForm(b.signed(t, b.signer, with(told, "txnType", "04"))), "refund 20261120000001"},
		{"another kind", unionPayForm(b.signed(t, b.signer, with(told, "txnType", "79"))), `unreadable: the notice is of txnType "79", and not of a payment or refund`},
		{"not signed", unionPayForm(told), "refused, hint 20261120000001: the notice cannot be trusted: it is not signed"},
		{"another signer", unionPayForm(b.signed(t, b.stranger, told)), `refused, hint 20261120000001: the notice cannot be trusted: its certificate is of "041@Z12@某某有限公司@Z12-001", not of UnionPay`},
		{"a certificate with the name of a file before it", unionPayForm(with(b.signed(t, b.signer, told), "signPubKeyCert", "file:/"+strings.Repeat("x", 1000)+"\n"+b.signer.text)), "refused, hint 20261120000001: the notice cannot be trusted: its signPubKeyCert is not one certificate in PEM"},
		{"changed", unionPayForm(with(b.signed(t, b.signer, told), "txnAmt", "1")), "refused, hint 20261120000001: the notice cannot be trusted: its signature is wrong"},
		{"another merchant", unionPayForm(b.signed(t, b.signer, with(told, "merId", "1"))), `refused, hint : the notice cannot be trusted: it is for the merchant "1": want "777290058110048"`},
		{"another merchant, not signed", unionPayForm(with(told, "merId", "1")), "refused, hint : the notice cannot be trusted: it is not signed"},
		{"twice", unionPayForm(b.signed(t, b.signer, told)) + "&txnAmt=1", `refused, hint : the notice cannot be trusted: the notice has the field "txnAmt" twice`},
		{"no form", "%", "refused, hint : the notice cannot be trusted: the notice is not a form"},
	} {
		if got := noticeOf(channel, nil, tt.body); got != tt.want {
			t.Errorf("%s\n  = %s\nwant %s", tt.name, got, tt.want)
		}
	}
	if yes, no := channel.AnswerNotice(true, ""), channel.AnswerNotice(false, ""); yes.Status != 200 || yes.Body != "ok" || no.Status != 400 {
		t.Errorf("answers %+v and %+v", yes, no)
	}
}

// withEmpty signs fields of which one has no value.
func (b *bank) withEmpty(t *testing.T, fields map[string]string) map[string]string {
	fields = with(fields, "signPubKeyCert", b.signer.text)
	fields["reserved"] = ""
	fields["signature"] = b.signer.sign(unionPayDigest(fields))
	return fields
}

// Whatever comes, nothing is read unless it is signed.
func FuzzUnionPay(f *testing.F) {
	b := newBank(f)
	channel := providerOf(f, b.options("https://gateway.test.95516.com"))
	good := b.signed(f, b.signer, with(unionPayEcho, "txnType", "01"))
	for _, seed := range []string{unionPayForm(good), unionPayForm(with(good, "signature", "")), unionPayForm(with(good, "signPubKeyCert", b.stranger.text)), "a=b&a=c", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		items, hint, err := channel.ReadNotice(&order.RawNotice{Body: body, At: providerNow})
		if err != nil && (len(items) > 0 || len(hint) > 128) {
			t.Fatalf("%v with %v, hint %q", err, items, hint)
		}
		for _, n := range items {
			if n.OrderNo != "20261120000001" {
				t.Fatalf("%q is about %q", body, n.OrderNo)
			}
		}
	})
}
