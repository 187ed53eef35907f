package server_test

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/keytest"
)

// An alipayShop is an application at a loopback Alipay, with keys of its own.
type alipayShop struct {
	*provider
	app string
	url string

	mu       sync.Mutex
	calls    []string // method and biz_content
	refunded bool
}

func newAlipayShop(t *testing.T, app string) *alipayShop {
	s := &alipayShop{provider: newProvider(t), app: app}
	at := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(at.Close)
	s.url = at.URL + "/gateway.do"
	return s
}

func (s *alipayShop) serve(w http.ResponseWriter, r *http.Request) {
	method, content := s.alipayAsked(r, s.app)
	var asked struct {
		OutTradeNo   string `json:"out_trade_no"`
		OutRequestNo string `json:"out_request_no"`
		RefundAmount string `json:"refund_amount"`
	}
	if err := json.Unmarshal([]byte(content), &asked); err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, strings.TrimSpace(fmt.Sprintln(strings.TrimPrefix(method, "alipay.trade."), asked.OutTradeNo, asked.OutRequestNo, asked.RefundAmount)))
	says := map[string]string{"code": "10000", "msg": "Success", "out_trade_no": asked.OutTradeNo}
	switch {
	case method == "alipay.trade.query":
		says["trade_status"], says["total_amount"], says["trade_no"] = "WAIT_BUYER_PAY", "12.99", "42"
	case method == "alipay.trade.refund":
		says["fund_change"] = "Y"
	case s.refunded:
		says["out_request_no"], says["refund_status"], says["refund_amount"] = asked.OutRequestNo, "REFUND_SUCCESS", "12.99"
	}
	text, err := json.Marshal(says)
	if err != nil {
		s.t.Error(err)
	}
	s.alipaySays(w, method, string(text))
}

func (s *alipayShop) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// put is the account as somebody registers it.
func (s *alipayShop) put() client.PutAccount {
	private, public := s.keys()
	return client.PutAccount{Channel: "alipay", URL: s.url, AppID: s.app, SellerID: "2088102147948060",
		AccountKeys: client.AccountKeys{PrivateKey: private, AlipayPublicKeys: []string{public}}}
}

// notice is a signed notice of the application about an order.
func (s *alipayShop) notice(app, no string, more map[string]string) string {
	fields := map[string]string{
		"charset": "utf-8", "notify_id": "n-" + no, "notify_type": "trade_status_sync", "notify_time": "2026-11-20 23:04:05", "app_id": app, "seller_id": "2088102147948060",
		"out_trade_no": no, "trade_no": "42", "total_amount": "12.99", "gmt_payment": "2026-11-20 23:04:05", "trade_status": "TRADE_SUCCESS",
	}
	maps.Copy(fields, more)
	form := keytest.Form(fields)
	form.Set("sign_type", "RSA2")
	form.Set("sign", s.sign(keytest.Pairs(fields)))
	return form.Encode()
}

// An Alipay account from its registration to a refund: its notice decides an order that it knows by
// another number, the refund is requested for that number, and the notice of the refund makes
// bellman ask.
func TestAlipayAccount(t *testing.T) {
	d := newDesk(t)
	api, s, _ := d.serveQueues(t, d.parse(t, `
queues:
  tell: {url: "MERCHANT/notify"}
  orders: {kind: order, channel: {kind: alipay, account: main}, schedule: 1h*, on_exhausted: close, then: tell}
  refunds: {kind: poll, channel: {kind: alipay, account: main, of: refund}, request: channel, schedule: "20ms, 1h*", then: tell}
`), "")
	shop, other := newAlipayShop(t, "2014072300007148"), newAlipayShop(t, "2014072300007149")
	a := register(t, api, "shop", shop.put())
	register(t, api, "main", other.put())
	if text, _ := json.Marshal(a); a.Identity != "alipay:2014072300007148" || a.PrivateKey != "***" || strings.Contains(string(text), "BEGIN") {
		t.Errorf("PUT answers %s; want the identity, and the keys masked", text)
	}
	ref := client.OrderRef{MerchantNo: "M1", OrderNo: "O1"}
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", ChannelOrderNo: "C1", Account: "shop", Amount: 1299, Currency: "CNY"})
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	for path, body := range map[string]string{
		"orders/main": shop.notice(shop.app, "C1", nil),  // with the keys of another account
		"orders/shop": shop.notice(other.app, "C1", nil), // for another application
	} {
		if got := callNotice(t, s, path, body, form); got != "200 fail" {
			t.Errorf("%s answers %s; want fail", path, got)
		}
	}
	if got := callNotice(t, s, "orders/shop", shop.notice(shop.app, "C1", nil), form); got != "200 success" {
		t.Fatalf("the notice of the payment: %s", got)
	}
	o, told := d.ends(t, api, ref)
	if o.OrderState != "PAID" || events(told) != "order.paid" || told[0].Says["amount"] != 1299. || told[0].Says["transaction_id"] != "42" || len(shop.called())+len(other.called()) > 0 {
		t.Errorf("%s, told %v, asked %q and %q; want PAID by the notice alone", o.OrderState, told, shop.called(), other.called())
	}

	refund := client.CreateTask{Queue: "refunds", MerchantNo: "M1", OrderNo: "O1", Vars: map[string]string{"amount": "1299"}}
	if _, _, err := api.Create(t.Context(), refund); err == nil || !strings.Contains(fmt.Sprintf("%+v", err), "body.account") || !strings.Contains(err.Error(), "422") {
		t.Errorf("a refund at the queue's account, which does not have the order: %v; want 422 for body.account", err)
	}
	refund.Account = "shop"
	task := create(t, api, refund)
	if task.RefNo != "C1-R1" {
		t.Errorf("the refund has the number %q", task.RefNo)
	}
	passes(t, "requested and queried", func() bool { return len(shop.called()) == 2 })
	shop.mu.Lock()
	shop.refunded = true
	shop.mu.Unlock()
	gone := shop.notice(shop.app, "C1", map[string]string{"gmt_refund": "2026-11-20 23:05:05.123", "refund_fee": "12.99", "out_biz_no": "C1-R1"})
	if got := callNotice(t, s, "orders/shop", gone, form); got != "200 success" {
		t.Fatalf("the notice of the refund: %s", got)
	}
	until(t, api, task.ID, func(k *client.TaskDetail) bool { return k.PollState == "DONE" })
	want := []string{"refund C1 C1-R1 12.99", "fastpay.refund.query C1 C1-R1", "fastpay.refund.query C1 C1-R1"}
	if got := shop.called(); !slices.Equal(got, want) || len(other.called()) > 0 {
		t.Errorf("the application was asked %q, the other one %q; want %q", got, other.called(), want)
	}
	passes(t, "told", func() bool {
		_, told := d.ends(t, api, ref)
		return events(told) == "order.paid poll.done"
	})
}

// A channel that is configured in full and a registered account of the same merchant are one
// endpoint: one rate, and one pace.
func TestConfiguredAndRegisteredAccountOfOneMerchant(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	one, two := newSeller(t, "1900000002", ""), newSeller(t, "1900000002", "1900000110")
	private, public := keyFiles(t, one.provider)
	api, _, _ := d.serveQueues(t, d.parse(t, strings.NewReplacer("PROVIDER", one.url, "PRIVATE", private, "PUBLIC", public).Replace(`
queues:
  tell: {url: "MERCHANT/notify"}
  inline:
    kind: order
    channel: {kind: wechatpay, url: "PROVIDER", mch_id: "1900000002", serial: 5157F09E, private_key: "file:PRIVATE", platform_keys: {PUB_KEY_ID_01: "file:PUBLIC"}}
    schedule: 1s*
    on_exhausted: close
    then: tell
  orders: {kind: order, channel: {account: shop1}, schedule: 1s*, on_exhausted: close, then: tell}
`)), "")
	in := two.put()
	in.Rate = "2/h"
	if a := register(t, api, "shop1", in); a.Endpoint != "wechatpay:1900000002" {
		t.Errorf("the endpoint of the account is %q", a.Endpoint)
	}
	for i := range 3 {
		for _, queue := range []string{"inline", "orders"} {
			create(t, api, client.CreateTask{Queue: queue, MerchantNo: "M1", OrderNo: fmt.Sprint(queue, "-", i), Expires: "6h"})
		}
	}
	asked := func() int { return one.requests() + two.requests() }
	waiting := func(n int) func() bool {
		return func() bool {
			all, err := api.Endpoints(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(all.Endpoints, func(e client.Endpoint) bool { return e.Endpoint == "wechatpay:1900000002" })
			return i >= 0 && all.Endpoints[i].Waiting >= n // a second after its query the first order waits too
		}
	}
	passes(t, "one request", func() bool { return asked() == 1 })
	passes(t, "all other orders of both queues wait for one endpoint", waiting(5))
	if n := asked(); n != 1 { // the second is half an hour later
		t.Errorf("%d requests to both at 2/h", n)
	}
	in.Rate = "1000/s"
	register(t, api, "shop1", in)
	passes(t, "both are asked at the new rate", func() bool { return one.requests() >= 3 && two.requests() >= 3 })

	// What the channel says of one of them slows both.
	one.mu.Lock()
	one.throttled = true
	one.mu.Unlock()
	passes(t, "told to wait", func() bool {
		one.mu.Lock()
		defer one.mu.Unlock()
		return one.refused > 0
	})
	overdue := func(by time.Duration) func() bool { // the orders of the account, which are due each second
		return func() bool {
			for i := range 3 {
				o, err := api.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: fmt.Sprint("orders-", i)}, 0)
				if err != nil || time.Since(o.Tasks[0].Due.Time) < by {
					return false
				}
			}
			return true
		}
	}
	passes(t, "the orders of the account are held", overdue(2*time.Second))
	before := two.requests()
	passes(t, "they are held for longer", overdue(4*time.Second))
	if n := two.requests(); n != before {
		t.Errorf("the account was asked %d times while the channel wanted none", n-before)
	}
}

// WeChat Pay's certificates are fetched over HTTP for an account that says so: once, and again when
// it signs with another one.
func TestAccountFetchesPlatformCertificates(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	api, s, _ := d.serveAccounts(t, t.TempDir(), "20ms*")
	shop := newSeller(t, "1900000001", "")
	shop.list(t, "5157F0A1")
	in := shop.put()
	in.PlatformKeys = map[string]string{"certificates": "fetch"}
	a := register(t, api, "shop1", in)
	if a.PlatformKeys["certificates"] != "fetch" || shop.downloads() != 0 {
		t.Errorf("the account shows the platform keys %q after %d downloads; want fetch, none", a.PlatformKeys, shop.downloads())
	}
	paid := func(no string) {
		t.Helper()
		create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: no})
		if o, _ := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: no}); o.OrderState != "PAID" {
			t.Errorf("order %s is %s; want it PAID by an answer that a fetched certificate verifies", no, o.OrderState)
		}
	}
	paid("paid01")
	if n := shop.downloads(); n != 1 {
		t.Errorf("%d downloads; want one", n)
	}
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "NOTICE"})
	if status, answer := shop.tell(t, s, "/notices/orders", "NOTICE"); status != 204 {
		t.Errorf("a notice that the certificate verifies: %d %s", status, answer)
	}
	newer := newProvider(t).own
	shop.mu.Lock()
	shop.own = newer // nobody has the certificate of the new key
	shop.mu.Unlock()
	if status, answer := shop.tell(t, s, "/notices/orders", "NOTICE"); status != 500 || !strings.Contains(answer, "signature is wrong") {
		t.Errorf("a notice under the old serial number by another key: %d %s", status, answer)
	}
	shop.list(t, "5157F0A2")
	paid("paid02")
	if n := shop.downloads(); n != 2 {
		t.Errorf("%d downloads; want a second one for the new certificate", n)
	}
}

// list makes the seller sign with a certificate of this serial number from now on, which it lists
// as its only one.
func (s *seller) list(t *testing.T, serial string) {
	t.Helper()
	number, _ := new(big.Int).SetString(serial, 16)
	certificate := keytest.Certificate(s.own, x509.Certificate{SerialNumber: number, NotAfter: time.Now().Add(24 * time.Hour)})
	const nonce, data = "61f9c719728a", "certificate"
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial = serial
	s.listed = fmt.Sprintf(`{"data":[{"serial_no":%q,"encrypt_certificate":{"algorithm":"AEAD_AES_256_GCM","nonce":%q,"associated_data":%q,"ciphertext":%q}}]}`,
		serial, nonce, data, keytest.Seal(s.v3, nonce, certificate, data))
}

// refuses reports whether a request is too many.
func (s *seller) refuses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.throttled {
		s.refused++
	}
	return s.throttled
}

// downloads counts how often the list was fetched.
func (s *seller) downloads() int { return len(strings.Fields(s.was("certificates"))) }
