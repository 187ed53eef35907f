package wechatpay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/order"
)

var (
	_ order.NoticeReader = (*Channel)(nil)
	_ order.NoticeReader = (*InStore)(nil)
)

const (
	apiV3Key    = "0123456789abcdef0123456789ABCDEF"
	newAPIV3Key = "fedcba9876543210FEDCBA9876543210"
	appID       = "wxd678efh567hg6787"
)

func readerOptions(t testing.TB) Options {
	o := options(t)
	o.APIv3Keys = []sign.Secret{sign.NewSecret(apiV3Key)}
	return o
}

func reader(t testing.TB, o Options) *Channel {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A notice is what WeChat Pay sends, before it is encrypted and signed.
type notice struct {
	event, original, content string
	key                      string // APIv3 key; empty: apiV3Key
	algorithm                string // empty: the usual one
	nonce                    string // empty: the usual one
}

// body is the notice's body.
func (n notice) body(t testing.TB) string {
	t.Helper()
	const nonce, data = "fdasflkja484", "transaction"
	sealed := keytest.Seal(cmp.Or(n.key, apiV3Key), nonce, n.content, data)
	return fmt.Sprintf(`{"id":"EV-2018022511223320873","create_time":"2026-11-20T20:00:00+08:00","resource_type":"encrypt-resource",`+
		`"event_type":%q,"summary":"…","resource":{"original_type":%q,"algorithm":%q,"ciphertext":%q,"associated_data":%q,"nonce":%q}}`,
		n.event, n.original, cmp.Or(n.algorithm, "AEAD_AES_256_GCM"), sealed, data, cmp.Or(n.nonce, nonce))
}

// raw signs a body as it signs an answer, and returns the notice as it comes.
func raw(a answer) *order.RawNotice {
	rec := httptest.NewRecorder()
	a.write(rec)
	return &order.RawNotice{Header: rec.Header(), Body: rec.Body.Bytes(), At: now}
}

func payment(content string) notice {
	return notice{event: "TRANSACTION.SUCCESS", original: "transaction", content: content}
}

const (
	refundContent = `{"mchid":"` + mchID + `","transaction_id":"1008450740201411110005820873","out_trade_no":"` + orderNo + `",` +
		`"refund_id":"50200207182018070300011301001","out_refund_no":"7752501201407033233368018","refund_status":"SUCCESS",` +
		`"success_time":"2018-06-08T10:34:56+08:00","user_received_account":"招商银行信用卡0403","amount":{"total":999,"refund":999}}`
	transferContent = `{"mchid":"` + mchID + `","out_bill_no":"plfk2020042013","transfer_bill_no":"1330000071100999991182020050700019480001",` +
		`"state":"SUCCESS","transfer_amount":400000,"openid":"o-MYE42l80oelYMDE34nYD456Xoy"}`
	partnerIDs = `"sp_appid":"` + appID + `","sp_mchid":"` + mchID + `","sub_appid":"wxsub","sub_mchid":"` + subMchID + `"`
)

// partnerTrade is what a service provider is told of a payment.
func partnerTrade() string {
	text := strings.Replace(trade("SUCCESS"), `"mchid":"`+mchID+`"`, partnerIDs, 1)
	return strings.Replace(text, `"appid":"`+appID+`",`, "", 1)
}

// read reads a notice that is signed as it should be.
func read(t testing.TB, o Options, n notice) ([]order.Notice, string, error) {
	t.Helper()
	return reader(t, o).ReadNotice(raw(signedBy(200, n.body(t))))
}

func TestReadNotice(t *testing.T) {
	partner := func(o *Options) { o.SubMchID = subMchID }
	app := func(id string) func(*Options) { return func(o *Options) { o.AppID = id } }
	state := func(s string) notice { return payment(trade(s)) }
	tests := []struct {
		name    string
		change  func(*Options)
		notice  notice
		of      order.NoticeOf
		no, ref string
		reading order.Reading
		why     string // Err
	}{
		{"a payment", nil, state("SUCCESS"), order.OfPayment, orderNo, "", order.Paid, ""},
		{"a payment, of our application", app(appID), state("SUCCESS"), order.OfPayment, orderNo, "", order.Paid, ""},
		{"a payment that failed", nil, notice{event: "TRANSACTION.FAIL", original: "transaction", content: trade("PAYERROR")}, order.OfPayment, orderNo, "", order.Failed, ""},
		{"a closed order", nil, state("CLOSED"), order.OfPayment, orderNo, "", order.Closed, ""},
		{"a state of the future", nil, notice{event: "TRANSACTION.PAY_BACK", content: trade("PAY_BACK")}, order.OfPayment, orderNo, "", order.QueryError, ""},
		{"no order", nil, payment(strings.Replace(trade("SUCCESS"), "out_trade_no", "no", 1)), order.OfPayment, "", "", order.Paid, "no out_trade_no"},
		{"a field twice", nil, payment(strings.Replace(trade("SUCCESS"), "{", `{"trade_state":"NOTPAY",`, 1)), order.OfPayment, orderNo, "", order.QueryError, ""},
		{"of a service provider", partner, payment(partnerTrade()), order.OfPayment, orderNo, "", order.Paid, ""},
		{"of a service provider's application", func(o *Options) { partner(o); o.AppID = appID }, payment(partnerTrade()), order.OfPayment, orderNo, "", order.Paid, ""},
		{"of a sub-merchant's application", func(o *Options) { partner(o); o.AppID = "wxsub" }, payment(partnerTrade()), order.OfPayment, orderNo, "", order.Paid, ""},
		{"a refund", app(appID), notice{event: "REFUND.SUCCESS", original: "refund", content: refundContent}, order.OfRefund, orderNo, "7752501201407033233368018", order.QueryError, ""},
		{"a refund that needs a person", nil, notice{event: "REFUND.ABNORMAL", content: strings.Replace(refundContent, `"SUCCESS"`, `"ABNORMAL"`, 1)}, order.OfRefund, orderNo, "7752501201407033233368018", order.QueryError, ""},
		{"a refund of a service provider", partner, notice{event: "REFUND.CLOSED", content: strings.Replace(refundContent, `"mchid":"`+mchID+`"`, partnerIDs, 1)}, order.OfRefund, orderNo, "7752501201407033233368018", order.QueryError, ""},
		{"a refund without a number", nil, notice{event: "REFUND.SUCCESS", content: strings.Replace(refundContent, "out_refund_no", "x", 1)}, order.OfRefund, orderNo, "", order.QueryError, "no out_refund_no"},
		{"a refund without a state", nil, notice{event: "REFUND.SUCCESS", content: strings.Replace(refundContent, "refund_status", "x", 1)}, order.OfRefund, orderNo, "7752501201407033233368018", order.QueryError, "no refund_status"},
		{"a transfer", nil, notice{event: "MCHTRANSFER.BILL.FINISHED", original: "mch_payment", content: transferContent}, order.OfTransfer, "", "plfk2020042013", order.QueryError, ""},
		{"a transfer with mch_id", nil, notice{event: "MCHTRANSFER.BILL.FINISHED", original: "mch_payment", content: strings.Replace(transferContent, "mchid", "mch_id", 1)}, order.OfTransfer, "", "plfk2020042013", order.QueryError, ""},
		{"a batch of transfers", nil, notice{event: "MCHTRANSFER.BATCH.FINISHED", content: strings.Replace(transferContent, "out_bill_no", "out_batch_no", 1)}, order.OfTransfer, "", "", order.QueryError, "no out_bill_no"},
		{"profit sharing", nil, notice{event: "TRANSACTION.SUCCESS", original: "profitsharing", content: trade("SUCCESS")}, "", "", "", order.QueryError, `"TRANSACTION.SUCCESS" of a "profitsharing"`},
		{"a coupon", nil, notice{event: "COUPON.USE", original: "coupon", content: `{"mchid":"` + mchID + `"}`}, "", "", "", order.QueryError, `"COUPON.USE"`},
	}
	for _, tt := range tests {
		o := readerOptions(t)
		if tt.change != nil {
			tt.change(&o)
		}
		items, hint, err := read(t, o, tt.notice)
		if err != nil || len(items) != 1 || hint != "" {
			t.Errorf("%s: %v, hint %q, %v; want one notice", tt.name, items, hint, err)
			continue
		}
		n := items[0]
		if n.ID != "EV-2018022511223320873" || n.Of != tt.of || n.OrderNo != tt.no || n.RefNo != tt.ref || n.Reading != tt.reading || string(n.Answer.Body) != tt.notice.content {
			t.Errorf("%s: %q of %q %q %q, %v, %s; want %q %q %q, %v", tt.name, n.ID, n.Of, n.OrderNo, n.RefNo, n.Reading, n.Answer.Body, tt.of, tt.no, tt.ref, tt.reading)
		}
		outcome := map[string]string{"REFUND.SUCCESS": "DONE", "REFUND.ABNORMAL": "FAILED_THERE", "MCHTRANSFER.BILL.FINISHED": "DONE"}[tt.notice.event]
		if n.Err == nil && n.Of != order.OfPayment && tt.notice.event != "REFUND.CLOSED" && n.Outcome != outcome { // the content of REFUND.CLOSED says SUCCESS
			t.Errorf("%s: outcome %q; want %q", tt.name, n.Outcome, outcome)
		}
		if (n.Err == nil) != (tt.why == "") || n.Err != nil && !strings.Contains(n.Err.Error(), tt.why) {
			t.Errorf("%s: Err %v; want %q", tt.name, n.Err, tt.why)
		}
		if (n.Taken != nil) != n.Reading.IsPaid() {
			t.Errorf("%s: %v takes %v", tt.name, n.Reading, n.Taken)
		}
	}
}

// A notice and the answer to a query say the same in the same form.
func TestNoticeReadsAsAQuery(t *testing.T) {
	items, _, err := read(t, readerOptions(t), payment(trade("SUCCESS")))
	if err != nil {
		t.Fatal(err)
	}
	asked := query(t, options(t), signedBy(200, trade("SUCCESS")))
	got, want := items[0], `{"amount":1,"currency":"CNY","paid_at":"2026-11-20T11:59:00Z","transaction_id":"1217752501201407033233368018"}`
	noticed, _ := json.Marshal(got.Taken)
	queried, _ := json.Marshal(asked.Taken)
	if string(noticed) != want || string(queried) != want || got.Reading != asked.Reading || !bytes.Equal(got.Answer.Body, asked.Body) {
		t.Errorf("the notice says %v %s, the query %v %s; want %s of both", got.Reading, noticed, asked.Reading, queried, want)
	}
}

// What is wrong with a notice refuses it. Only a content that our key decrypts, and that is for
// this account, is a hint.
func TestNoticeIsRefused(t *testing.T) {
	good := payment(trade("SUCCESS"))
	set := func(name, value string) answer {
		a := signedBy(200, good.body(t))
		a.bend = func(h http.Header) { h.Set(name, value) }
		return a
	}
	at := func(d time.Duration) answer { a := signedBy(200, good.body(t)); a.at = now.Add(d); return a }
	of := func(n notice) answer { return signedBy(200, n.body(t)) }
	stranger := signedBy(200, good.body(t))
	stranger.by = strangersKey
	unsigned := answer{status: 200, body: good.body(t)}
	tests := []struct {
		name   string
		answer answer
		want   string
		hint   string
	}{
		{"not signed", unsigned, "the notice is not signed", orderNo},
		{"a stranger's key", stranger, "signature is wrong", orderNo},
		{"a probe", set("Wechatpay-Signature", "WECHATPAY/SIGNTEST/c2ln"), "probing", orderNo},
		{"another nonce", set("Wechatpay-Nonce", "x"), "signature is wrong", orderNo},
		{"an unknown serial", set("Wechatpay-Serial", "ABCDEF"), "not among platform_keys", orderNo},
		{"too old", at(-5 * time.Minute), "differs from ours by 5m0s", orderNo},
		{"too new", at(5 * time.Minute), "differs from ours by 5m0s", orderNo},
		{"not signed, with a key of somebody else", answer{status: 200, body: notice{event: good.event, content: good.content, key: newAPIV3Key}.body(t)}, "not signed", ""},
		{"not signed, for another merchant", answer{status: 200, body: payment(strings.Replace(good.content, mchID, "1999999999", 1)).body(t)}, "not signed", ""},
		{"not signed, of an order that cannot be", answer{status: 200, body: payment(strings.Replace(good.content, orderNo, "x y", 1)).body(t)}, "not signed", ""},
		{"not signed, no JSON", answer{status: 200, body: "x"}, "not signed", ""},
		{"another APIv3 key", of(notice{event: good.event, content: good.content, key: newAPIV3Key}), "cannot be decrypted with any api_v3_key", ""},
		{"another algorithm", of(notice{event: good.event, content: good.content, algorithm: "AEAD_SM4_GCM"}), `encrypted with "AEAD_SM4_GCM"`, ""},
		{"another nonce of the content", of(notice{event: good.event, content: good.content, nonce: "fdasflkja485"}), "cannot be decrypted", ""},
		{"a nonce that is too short", of(notice{event: good.event, content: good.content, nonce: "short"}), "cannot be decrypted", ""},
		{"no nonce", signedBy(200, `{"resource":{"algorithm":"AEAD_AES_256_GCM"}}`), "cannot be decrypted", ""},
		{"no base64", signedBy(200, `{"resource":{"algorithm":"AEAD_AES_256_GCM","ciphertext":"?"}}`), "not base64", ""},
		{"no JSON", signedBy(200, "x"), "not the JSON object", ""},
		{"two contents", signedBy(200, `{"resource":{"algorithm":"x"},"resource":{"algorithm":"y"}}`), "not the JSON object", ""},
		{"no content", of(payment(`"x"`)), "content is not a JSON object", ""},
		{"a combined payment", of(payment(`{"combine_mchid":"` + mchID + `"}`)), "combined payment", ""},
		{"too long", signedBy(200, strings.Repeat(" ", order.MaxBody+1)), "more than 65536 bytes", ""},
	}
	for _, tt := range tests {
		items, hint, err := reader(t, readerOptions(t)).ReadNotice(raw(tt.answer))
		if err == nil || !strings.Contains(err.Error(), tt.want) || items != nil || hint != tt.hint {
			t.Errorf("%s: %v, hint %q, %v; want hint %q and %q", tt.name, items, hint, err, tt.hint, tt.want)
		}
	}
}

func TestNoticesNeedAPIv3Keys(t *testing.T) {
	_, _, err := read(t, options(t), payment(trade("SUCCESS")))
	if err == nil || !strings.Contains(err.Error(), "without api_v3_key") {
		t.Errorf("no key: %v; want an error that names api_v3_key", err)
	}
	o := readerOptions(t)
	o.APIv3Keys = append(o.APIv3Keys, sign.NewSecret("s3cret"))
	if _, err := New(o); err == nil || err.Error() != "wechatpay: api_v3_key[1]: has 6 bytes: want 32" {
		t.Errorf("a short key: %v", err)
	}
}

// Trap: a nonce that was burned before the message was stored. WeChat Pay sends the same bytes
// again, and they must be read.
func TestNonceIsNotBurned(t *testing.T) {
	c, message := reader(t, readerOptions(t)), raw(signedBy(200, payment(trade("SUCCESS")).body(t)))
	for i := range 3 {
		if items, _, err := c.ReadNotice(message); err != nil || len(items) != 1 || items[0].Reading != order.Paid {
			t.Errorf("repeat %d: %v, %v; want PAID", i, items, err)
		}
	}
}

// Trap: replay protection that a reload forgets. There is none to forget: the time that is signed
// is the protection.
func TestReplayAfterAReload(t *testing.T) {
	message := raw(signedBy(200, payment(trade("SUCCESS")).body(t)))
	first, second := reader(t, readerOptions(t)), reader(t, readerOptions(t))
	for name, c := range map[string]*Channel{"before": first, "after": second} {
		if _, _, err := c.ReadNotice(message); err != nil {
			t.Errorf("%s the reload: %v", name, err)
		}
	}
	message.At = now.Add(5 * time.Minute)
	if _, _, err := second.ReadNotice(message); err == nil {
		t.Error("a notice of five minutes ago is read")
	}
}

// Trap: a refund notice taken for a payment.
func TestRefundNoticeIsNoPayment(t *testing.T) {
	content := strings.Replace(refundContent, "{", `{"trade_state":"SUCCESS",`, 1)
	items, _, err := read(t, readerOptions(t), notice{event: "REFUND.SUCCESS", original: "refund", content: content})
	if err != nil || len(items) != 1 || items[0].Of != order.OfRefund || items[0].Reading != order.QueryError || items[0].Taken != nil {
		t.Errorf("%+v, %v; want a refund that decides nothing", items, err)
	}
}

// Trap: JSON that was encoded again before it was verified. A signature covers the bytes, not the
// meaning.
func TestJSONEncodedAgain(t *testing.T) {
	message := raw(signedBy(200, payment(trade("SUCCESS")).body(t)))
	var again bytes.Buffer
	if err := json.Indent(&again, message.Body, "", " "); err != nil {
		t.Fatal(err)
	}
	message.Body = again.Bytes()
	if _, _, err := reader(t, readerOptions(t)).ReadNotice(message); err == nil || !strings.Contains(err.Error(), "signature is wrong") {
		t.Errorf("encoded again: %v; want a wrong signature", err)
	}
}

// Trap: a certificate that rotated. WeChat Pay signs with either key meanwhile, and encrypts with
// either APIv3 key.
func TestRotatedCertificate(t *testing.T) {
	o := readerOptions(t)
	serial := strings.ToUpper(serialOf(0x0F57F09E))
	o.PlatformKeys[serial] = certificate(t, certificateKey, serial)
	o.APIv3Keys = append(o.APIv3Keys, sign.NewSecret(newAPIV3Key))
	c := reader(t, o)
	for _, key := range []string{apiV3Key, newAPIV3Key} {
		n := payment(trade("SUCCESS"))
		n.key = key
		for _, a := range []answer{
			{200, n.body(t), publicKey, publicID, now, nil, ""},
			{200, n.body(t), certificateKey, serial, now, nil, ""},
		} {
			if _, _, err := c.ReadNotice(raw(a)); err != nil {
				t.Errorf("signed with %s, encrypted with %.4s…: %v", a.serial, key, err)
			}
		}
	}
}

// Trap: a second notice with another amount. Each is read with its own amount; the order decides.
func TestSecondNoticeWithAnotherAmount(t *testing.T) {
	c := reader(t, readerOptions(t))
	for _, amount := range []int64{1, 2} {
		content := strings.Replace(trade("SUCCESS"), `"total":1`, fmt.Sprintf(`"total":%d`, amount), 1)
		items, _, err := c.ReadNotice(raw(signedBy(200, payment(content).body(t))))
		if err != nil || items[0].Taken["amount"] != amount {
			t.Errorf("amount %d: %v, %v", amount, items, err)
		}
	}
}

// Trap: a notice of another account.
func TestNoticeOfAnotherAccount(t *testing.T) {
	partner := func(o *Options) { o.SubMchID = subMchID }
	app := func(o *Options) { o.AppID = "wxother" }
	swap := func(old, by string) notice { return payment(strings.Replace(trade("SUCCESS"), old, by, 1)) }
	tests := []struct {
		name   string
		change func(*Options)
		notice notice
		want   string
	}{
		{"another merchant", nil, swap(mchID, "1999999999"), `for the merchant "1999999999"`},
		{"no merchant", nil, swap("mchid", "x"), `for the merchant ""`},
		{"a service provider's", nil, payment(partnerTrade()), `for the merchant "` + mchID + "/" + subMchID + `"`},
		{"a merchant's own", partner, payment(trade("SUCCESS")), `for the merchant "` + mchID + `": want`},
		{"another sub-merchant", partner, payment(strings.Replace(partnerTrade(), subMchID, "1999999999", 1)), `"1230000109/1999999999"`},
		{"another application", app, payment(trade("SUCCESS")), `for the application "` + appID + `"`},
		{"no application", app, swap("appid", "x"), `for the application ""`},
		{"another application of a service provider", func(o *Options) { partner(o); app(o) }, payment(partnerTrade()), "for the application"},
		{"another merchant's refund", nil, notice{event: "REFUND.SUCCESS", content: strings.Replace(refundContent, mchID, "1999999999", 1)}, "for the merchant"},
		{"a refund that names another application", app, notice{event: "REFUND.SUCCESS", content: strings.Replace(refundContent, "{", `{"appid":"wx1",`, 1)}, `for the application "wx1"`},
		{"another merchant's transfer", nil, notice{event: "MCHTRANSFER.BILL.FINISHED", content: strings.Replace(transferContent, mchID, "1999999999", 1)}, "for the merchant"},
	}
	for _, tt := range tests {
		o := readerOptions(t)
		if tt.change != nil {
			tt.change(&o)
		}
		items, hint, err := read(t, o, tt.notice)
		if err == nil || !strings.Contains(err.Error(), tt.want) || items != nil || hint != "" {
			t.Errorf("%s: %v, hint %q, %v; want %q", tt.name, items, hint, err, tt.want)
		}
	}
}

func TestAnswerNotice(t *testing.T) {
	c := reader(t, options(t))
	if got := c.AnswerNotice(true, "applied"); got != (order.NoticeAnswer{Status: 204}) {
		t.Errorf("accepted: %+v", got)
	}
	got := c.AnswerNotice(false, "the notice's \"sign\"\n<is> wrong")
	if want := (order.NoticeAnswer{Status: 500, ContentType: "application/json",
		Body: `{"code":"FAIL","message":"the notice's \"sign\"\n\u003cis\u003e wrong"}`}); got != want {
		t.Errorf("refused: %+v; want %+v", got, want)
	}
	var long struct{ Message string }
	if err := json.Unmarshal([]byte(c.AnswerNotice(false, strings.Repeat("错", 1000)).Body), &long); err != nil || long.Message != strings.Repeat("错", 256) {
		t.Errorf("a long reason: %.20q of %d bytes, %v", long.Message, len(long.Message), err)
	}
}

// No bytes that WeChat Pay has not signed are read, and what it signs and encrypts is read without
// a panic. Nothing is signed here, which would take most of the time.
func FuzzReadNotice(f *testing.F) {
	good := payment(trade("SUCCESS"))
	f.Add(good.body(f), good.content, good.event, good.original)
	f.Add(`{"resource":{"algorithm":"AEAD_AES_256_GCM","nonce":"fdasflkja484"}}`, refundContent, "REFUND.SUCCESS", "refund")
	f.Add(`[]`, transferContent, "MCHTRANSFER.BILL.FINISHED", "")
	f.Add(`{"id":1}`, `{"mchid":"`+mchID+`","out_trade_no":1}`, "TRANSACTION.", "transaction")
	f.Add(``, `null`, "", "")
	c, body := reader(f, readerOptions(f)), good.body(f)
	header := raw(signedBy(200, body)).Header
	f.Fuzz(func(t *testing.T, forged, content, event, original string) {
		if forged != body {
			if items, _, err := c.ReadNotice(&order.RawNotice{Header: header, Body: []byte(forged), At: now}); err == nil || items != nil {
				t.Errorf("%q is read: %v", forged, items)
			}
		}
		if _, _, err := c.decode([]byte(forged)); err == nil && forged != body && !strings.Contains(forged, "ciphertext") {
			t.Errorf("%q is decrypted", forged)
		}
		e, known, err := c.decode([]byte(notice{event: event, original: original, content: content}.body(t)))
		if err != nil {
			return
		}
		n := c.notice(e, known)
		if string(known.text) != content || (n.Reading.Decides() || n.Taken != nil) && n.Of != order.OfPayment || n.Of == "" && n.Err == nil {
			t.Errorf("%q %q %q: %+v", event, original, content, n)
		}
		if n.Err == nil && n.OrderNo == "" && n.RefNo == "" {
			t.Errorf("%q %q %q: about nothing", event, original, content)
		}
	})
}

// A body of which two readers could read two things is no notice.
func TestReadEnvelope(t *testing.T) {
	const good = `{"id":"EV-1","event_type":"TRANSACTION.SUCCESS","other":[1,{"a":null}],"resource":{"nonce":"n","ciphertext":"c"}}`
	e, err := readEnvelope([]byte(good))
	if err != nil || e.ID != "EV-1" || e.EventType != "TRANSACTION.SUCCESS" || *e.Resource != (resource{Nonce: "n", Ciphertext: "c"}) {
		t.Errorf("readEnvelope(%s) = %+v, %v", good, e, err)
	}
	for _, bad := range []string{
		strings.Replace(good, `"id"`, `"id":"EV-2","id"`, 1), strings.Replace(good, `"nonce"`, `"nonce":"m","nonce"`, 1),
		strings.Replace(good, `"a"`, `"a":1,"a"`, 1), good + "{}", good[1:], strings.Replace(good, "resource", "Resource", 1),
		strings.Replace(good, "EV-1", "\xff", 1), `{"id":"EV-1","resource":null}`, `{"id":"EV-1","resource":"text"}`, "null", "[]", "",
	} {
		if e, err := readEnvelope([]byte(bad)); err == nil {
			t.Errorf("readEnvelope(%q) = %+v", bad, e)
		}
	}
}
