package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/server"
)

// serveProviders runs a server with these queues that takes notices, until the test is over.
func (d *desk) serveProviders(t *testing.T, queues string) (*client.Client, *server.Server) {
	t.Helper()
	return d.serveNoticedBy(t, d.parse(t, queues))
}

// callNotice sends a notice and returns the answer.
func callNotice(t *testing.T, s *server.Server, queue, body string, header map[string]string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.NoticesAddr()+"/notices/"+queue, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	status, text := roundTrip(t, req)
	return fmt.Sprint(status, " ", text)
}

// Stripe's notice decides an order before the first query, a forged one does not, and the notice of
// a refund reaches the task of another queue, which asks Stripe.
func TestStripeServer(t *testing.T) {
	d := newDesk(t)
	var status atomic.Value // of the refund
	status.Store("pending")
	d.answer = func(_, _ string, _ int, r *http.Request) (int, string) {
		if r.Header.Get("Authorization") != "Bearer sk_test_1" {
			t.Errorf("%s: Authorization %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		if r.URL.Path != "/v1/refunds/re_1" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		return 200, fmt.Sprintf(`{"id":"re_1","object":"refund","amount":1299,"currency":"usd","status":%q}`, status.Load())
	}
	api, s := d.serveProviders(t, `
queues:
  tell: {url: "MERCHANT/notify"}
  orders: {kind: order, schedule: 1h*, on_exhausted: close, then: tell, channel: {kind: stripe, url: CHANNEL, secret_key: sk_test_1, webhook_secrets: whsec_test_secret}}
  refunds: {kind: poll, schedule: "0s, 1h*", then: tell, channel: {kind: stripe, of: refund, url: CHANNEL, secret_key: sk_test_1}}
`)
	signed := signedByStripe
	ref := client.OrderRef{MerchantNo: "M1", OrderNo: "A1"}
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "A1", ChannelOrderNo: "pi_1", Amount: 1299, Currency: "USD"})
	paid := `{"id":"evt_1","object":"event","type":"payment_intent.succeeded","livemode":false,"data":{"object":{"id":"pi_1","object":"payment_intent","amount_received":1299,"currency":"usd","status":"succeeded"}}}`
	if got := callNotice(t, s, "orders", strings.ReplaceAll(paid, "pi_1", "pi_9"), signed("whsec_2", paid)); got != "400 fail" {
		t.Errorf("a forged notice: %s", got)
	}
	for range 2 {
		if got := callNotice(t, s, "orders", paid, signed("whsec_test_secret", paid)); got != "200 success" {
			t.Fatalf("a notice: %s", got)
		}
	}
	o, told := d.ends(t, api, ref)
	if o.OrderState != "PAID" || events(told) != "order.paid" || told[0].Says["amount"] != 1299. || told[0].Says["currency"] != "USD" || d.requests() != 0 {
		t.Errorf("%s, told %v, %d requests", o.OrderState, told, d.requests())
	}
	if got := results(t, api, ref); !slices.Equal(got, []string{"applied", "duplicate"}) {
		t.Errorf("notices %q", got)
	}

	task := create(t, api, client.CreateTask{Queue: "refunds", MerchantNo: "M1", OrderNo: "A1", RefNo: "re_1"})
	passes(t, "asked once", func() bool { return d.requests() == 1 })
	becomes := func(kind, is string) {
		status.Store(is)
		event := fmt.Sprintf(`{"id":"evt_2","object":"event","type":%q,"livemode":false,"data":{"object":{"id":"re_1","object":"refund","status":%q,"payment_intent":"pi_1"}}}`, kind, is)
		if got := callNotice(t, s, "orders", event, signed("whsec_test_secret", event)); got != "200 success" {
			t.Fatalf("the notice of a refund: %s", got)
		}
	}
	becomes("refund.updated", "succeeded")
	until(t, api, task.ID, func(k *client.TaskDetail) bool { return k.PollState == "DONE" })

	// One notice more that agrees causes no query. One that says the contrary causes one, and a
	// person is told.
	becomes("charge.refund.updated", "succeeded")
	becomes("refund.failed", "failed")
	failed := until(t, api, task.ID, func(k *client.TaskDetail) bool { return k.Attempts == 3 && k.State == "succeeded" })
	if failed.PollState != "DONE" || d.requests() != 3 || !strings.Contains(d.log.String(), "after the decision the channel says FAILED_THERE") {
		t.Errorf("%+v after %d requests, log %s; want DONE, and a person told", failed.Task, d.requests(), d.log.String())
	}
	becomes("refund.failed", "failed")

	event := `{"id":"evt_3","object":"event","type":"customer.created","livemode":false,"data":{"object":{"id":"cus_1","object":"customer"}}}`
	if got := callNotice(t, s, "orders", event, signed("whsec_test_secret", event)); got != "200 success" {
		t.Errorf("an event about something else: %s; want it accepted: Stripe repeats a refused one for days", got)
	}
	const want = `stripe: : the notice is of "customer.created", and not of a payment or refund`
	if got := said(t, api, "refused"); !slices.Contains(got, want) {
		t.Errorf("refused notices %q; want %s", got, want)
	}
}

// A notice that Stripe signed, and that decides nothing by itself, causes a query of an order that
// was closed: it is the only word of a late payment.
func TestSignedNoticeAfterTheClose(t *testing.T) {
	d := newDesk(t)
	var status atomic.Value // of the PaymentIntent
	status.Store("requires_payment_method")
	d.answer = func(_, _ string, _ int, r *http.Request) (int, string) {
		status.CompareAndSwap("requires_payment_method", map[string]string{"GET": "requires_payment_method", "POST": "canceled"}[r.Method])
		return 200, fmt.Sprintf(`{"id":"pi_1","object":"payment_intent","livemode":false,"amount_received":1299,"currency":"usd","status":%q}`, status.Load())
	}
	api, s := d.serveProviders(t, `
queues:
  tell: {url: "MERCHANT/notify"}
  orders: {kind: order, schedule: 10ms*, on_exhausted: close, confirm: 0s, late_watch: 0s, then: tell, channel: {kind: stripe, url: CHANNEL, secret_key: sk_test_1, webhook_secrets: whsec_test_secret}}
`)
	ref := client.OrderRef{MerchantNo: "M1", OrderNo: "A1"}
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "A1", ChannelOrderNo: "pi_1", Amount: 1299, Currency: "USD", Expires: "1ms"})
	passes(t, "closed", func() bool {
		o, err := api.Order(t.Context(), ref, 0)
		return err == nil && o.OrderState == "CLOSED"
	})
	status.Store("succeeded")
	charge := `{"id":"evt_1","object":"event","type":"charge.succeeded","livemode":false,"data":{"object":{"id":"ch_1","object":"charge","payment_intent":"pi_1","status":"succeeded"}}}`
	if got := callNotice(t, s, "orders", charge, signedByStripe("whsec_test_secret", charge)); got != "200 success" {
		t.Fatal(got)
	}
	passes(t, "a late payment", func() bool {
		o, err := api.Order(t.Context(), ref, 0)
		return err == nil && o.OrderState == "CLOSED" && o.LatePayment == "PAID"
	})
	if _, told := d.ends(t, api, ref); events(told) != "order.closed order.late_payment" {
		t.Errorf("told %s", events(told))
	}
}

// signedByStripe returns the header of a notice.
func signedByStripe(secret, body string) map[string]string {
	mac := hmac.New(sha256.New, []byte(secret))
	now := time.Now().Unix()
	fmt.Fprintf(mac, "%d.%s", now, body)
	return map[string]string{"Stripe-Signature": fmt.Sprintf("t=%d,v1=%x", now, mac.Sum(nil))}
}

// said are the accounts, numbers and reasons of the notices with a result.
func said(t *testing.T, api *client.Client, result string) (all []string) {
	t.Helper()
	page, err := api.ListNotices(t.Context(), client.NoticeFilter{Result: result})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range page.Notices {
		all = append(all, n.Account+": "+n.ChannelOrderNo+": "+n.Why)
	}
	return all
}

// Antom signs the path that it calls: that of the queue.
func TestAntomServer(t *testing.T) {
	key := newKey(t)
	private := base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PrivateKey(key))
	t.Setenv("ANTOM_PUBLIC_KEY", keytest.PublicPEM(key))
	d := newDesk(t)
	api, s := d.serveProviders(t, `
queues:
  tell: {url: "MERCHANT/notify"}
  antom: {kind: order, schedule: 1h*, on_exhausted: close, then: tell, channel: {kind: antom, url: CHANNEL, client_id: SANDBOX_1, private_key: `+private+`, antom_public_keys: env:ANTOM_PUBLIC_KEY}}
`)
	create(t, api, client.CreateTask{Queue: "antom", MerchantNo: "M1", OrderNo: "A1", Amount: 8888, Currency: "USD"})
	body := `{"notifyType":"PAYMENT_RESULT","result":{"resultCode":"SUCCESS","resultStatus":"S"},"paymentRequestId":"A1","paymentId":"42","paymentAmount":{"value":"8888","currency":"USD"}}`
	signature := keytest.Sign(key, "POST /notices/antom\nSANDBOX_1.1685599933871."+body)
	header := map[string]string{"Client-Id": "SANDBOX_1", "Request-Time": "1685599933871",
		"Signature": "algorithm=RSA256,keyVersion=1,signature=" + url.QueryEscape(signature)}
	if got := callNotice(t, s, "antom", body, header); got != `200 {"result":{"resultCode":"SUCCESS","resultStatus":"S","resultMessage":"success"}}` {
		t.Errorf("answered %s", got)
	}
	o, told := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: "A1"})
	if o.OrderState != "PAID" || events(told) != "order.paid" || told[0].Says["transaction_id"] != "42" {
		t.Errorf("%s, told %v", o.OrderState, told)
	}
}

// UnionPay closes no order: one that nobody paid ends when its pay timeout is over. A notice of a
// payment is queried before it counts, as UnionPay asks for.
func TestUnionPayServer(t *testing.T) {
	key := newKey(t)
	certificate := keytest.Certificate(key, x509.Certificate{SerialNumber: big.NewInt(69026276696), Subject: pkix.Name{CommonName: "041@Z12@中国银联股份有限公司@Z12"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)})
	t.Setenv("UNIONPAY_CERTIFICATE", certificate)
	signed := func(fields map[string]string) map[string]string {
		fields["signPubKeyCert"] = certificate
		fields["signature"] = keytest.Sign(key, fmt.Sprintf("%x", sha256.Sum256([]byte(keytest.Pairs(fields)))))
		return fields
	}
	d := newDesk(t)
	var paid, asked atomic.Bool
	bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		no := r.FormValue("orderId")
		fields := map[string]string{"version": "5.1.0", "signMethod": "01", "merId": "777290058110048", "orderId": no, "txnTime": r.FormValue("txnTime"), "respCode": "34"}
		if no == "20261120000001" && paid.Load() {
			fields["respCode"], fields["origRespCode"], fields["queryId"], fields["txnAmt"], fields["currencyCode"] = "00", "00", "42", "8888", "156"
		}
		io.WriteString(w, keytest.Pairs(signed(fields)))
		asked.Store(asked.Load() || no == "20261120000001")
	}))
	t.Cleanup(bank.Close)
	account := `kind: unionpay, url: "` + bank.URL + `", mer_id: "777290058110048", private_key: ` + base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PrivateKey(key)) +
		`, certificate: env:UNIONPAY_CERTIFICATE, root_certificates: env:UNIONPAY_CERTIFICATE`
	api, s := d.serveProviders(t, `
queues:
  tell: {url: "MERCHANT/notify"}
  slow: {kind: order, schedule: "0s, 1h*", on_exhausted: close, then: tell, channel: {`+account+`}}
  quick: {kind: order, schedule: "0s, 100ms*", expires: 1s, late_watch: 0s, on_exhausted: close, then: tell, channel: {`+account+`, pay_timeout: 2s}}
`)
	vars := map[string]string{"txn_time": "20261120200405"}
	create(t, api, client.CreateTask{Queue: "quick", MerchantNo: "M1", OrderNo: "20261120000002", Vars: vars})
	create(t, api, client.CreateTask{Queue: "slow", MerchantNo: "M1", OrderNo: "20261120000001", Vars: vars, Amount: 8888, Currency: "CNY"})
	o, _ := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: "20261120000002"})
	if o.OrderState != "CLOSED" {
		t.Errorf("an order that nobody paid: %s", o.OrderState)
	}

	passes(t, "asked about the other order once", asked.Load)
	paid.Store(true)
	form := keytest.Form(signed(map[string]string{"version": "5.1.0", "signMethod": "01", "merId": "777290058110048", "orderId": "20261120000001", "txnType": "01", "respCode": "00"}))
	if got := callNotice(t, s, "slow", form.Encode(), map[string]string{"Content-Type": "application/x-www-form-urlencoded"}); got != "200 ok" {
		t.Errorf("answered %s", got)
	}
	ref := client.OrderRef{MerchantNo: "M1", OrderNo: "20261120000001"}
	o, told := d.ends(t, api, ref)
	if o.OrderState != "PAID" || events(told) != "order.paid" || told[0].Says["amount"] != 8888. || !slices.Equal(results(t, api, ref), []string{"refused"}) {
		t.Errorf("%s, told %v, notices %q", o.OrderState, told, results(t, api, ref))
	}
}
