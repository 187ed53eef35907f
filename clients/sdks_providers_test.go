package clients_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/gateway"
)

// SDKs, and other code than bellman's, make notices that the providers of package gateway read, and
// read their requests.
func TestProviderSDKs(t *testing.T) {
	dir := node(t, "sdks")
	keys := newSDKKeys()
	t.Run("WeChat Pay v2", func(t *testing.T) { wechatV2(t, dir) })
	t.Run("Stripe", func(t *testing.T) { stripeNotice(t, dir) })
	t.Run("Antom", func(t *testing.T) { antomNotice(t, dir, keys) })
	t.Run("UnionPay", func(t *testing.T) { unionPayNotice(t, dir, keys) })
}

func sdkProvider(t *testing.T, o gateway.ProviderOptions) *gateway.Provider {
	t.Helper()
	o.Now = func() time.Time { return sdkNow }
	p, err := gateway.NewProvider(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func sdkSecrets(text string) []sign.Secret { return []sign.Secret{sign.NewSecret(text)} }

// recorded keeps the body of a request, and answers none.
type recorded struct{ body string }

func (r *recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	r.body = string(body)
	return &http.Response{StatusCode: http.StatusBadGateway, Body: http.NoBody, Request: req}, err
}

func wechatV2(t *testing.T, dir string) {
	const key = "192006250b4c09247ec02edce69f6a2d"
	asked := &recorded{}
	channel := sdkProvider(t, gateway.ProviderOptions{Provider: gateway.WeChatV2, MerchantID: "1900000109", AppID: "wx8888888888888888", Keys: sdkSecrets(key), Transport: asked})
	fields := map[string]any{"return_code": "SUCCESS", "result_code": "SUCCESS", "appid": "wx8888888888888888", "mch_id": "1900000109", "out_trade_no": "1409811653",
		"transaction_id": "42", "total_fee": "8888", "time_end": "20261120195900", "attach": "支付 <测试> & \"1\""}
	for _, kind := range []string{"MD5", "HMAC-SHA256"} {
		var made struct{ Body string }
		sdk(t, dir, map[string]any{"do": "wechat_v2_make", "key": key, "kind": kind, "fields": fields}, &made)
		checkRead(t, channel, &order.RawNotice{Body: []byte(made.Body), At: sdkNow}, sdkTaken)
	}
	var made struct{ Body string }
	sdk(t, dir, map[string]any{"do": "wechat_v2_make", "key": key, "fields": map[string]any{"return_code": "SUCCESS", "appid": "wx8888888888888888", "mch_id": "1900000109"},
		"refund": map[string]any{"out_refund_no": "R1", "out_trade_no": "1409811653", "refund_status": "SUCCESS"}}, &made)
	items, _, err := channel.ReadNotice(&order.RawNotice{Body: []byte(made.Body), At: sdkNow})
	if err != nil || len(items) != 1 || items[0].Of != order.OfRefund || items[0].RefNo != "R1" {
		t.Errorf("the notice of a refund: %+v, %v", items, err)
	}
	channel.Query(t.Context(), &order.Order{OrderNo: "1409811653"})
	var read struct {
		Valid  bool
		Fields map[string]string
	}
	sdk(t, dir, map[string]any{"do": "wechat_v2_read", "key": key, "body": asked.body}, &read)
	if !read.Valid || read.Fields["out_trade_no"] != "1409811653" || read.Fields["mch_id"] != "1900000109" {
		t.Errorf("the SDK reads %+v of the request %s", read, asked.body)
	}
}

func stripeNotice(t *testing.T, dir string) {
	const body = `{"id":"evt_1","object":"event","type":"payment_intent.succeeded","livemode":false,"created":1763640000,"api_version":"2026-01-01",` +
		`"data":{"object":{"id":"pi_1","object":"payment_intent","amount_received":8888,"currency":"usd","status":"succeeded"}}}`
	var made struct{ Header string }
	sdk(t, dir, map[string]any{"do": "stripe_make", "secrets": []string{"whsec_other", "whsec_of_this_account"}, "body": body, "timestamp": fmt.Sprint(sdkNow.Unix())}, &made)
	channel := sdkProvider(t, gateway.ProviderOptions{Provider: gateway.Stripe, Keys: sdkSecrets("sk_test_1"), NoticeSecrets: sdkSecrets("whsec_of_this_account")})
	checkRead(t, channel, &order.RawNotice{Header: http.Header{"Stripe-Signature": {made.Header}}, Body: []byte(body), At: sdkNow},
		`{"amount":8888,"currency":"USD","transaction_id":"pi_1"}`)
}

func antomNotice(t *testing.T, dir string, k sdkKeys) {
	const body = `{"notifyType":"PAYMENT_RESULT","result":{"resultCode":"SUCCESS","resultStatus":"S","resultMessage":"成功"},"paymentRequestId":"REQ1","paymentId":"42",` +
		`"paymentAmount":{"value":"8888","currency":"CNY"},"paymentTime":"2026-11-20T03:59:00-08:00"}`
	var made struct{ Header string }
	sdk(t, dir, map[string]any{"do": "antom_make", "privateKey": k.private, "path": "/notices/antom", "client": "SANDBOX_1", "time": "1685599933871", "body": body}, &made)
	channel := sdkProvider(t, gateway.ProviderOptions{Provider: gateway.Antom, MerchantID: "SANDBOX_1", PrivateKey: sign.NewSecret(k.private), PublicKeys: sdkSecrets(k.public), NoticePath: "/notices/antom"})
	checkRead(t, channel, &order.RawNotice{Header: http.Header{"Client-Id": {"SANDBOX_1"}, "Request-Time": {"1685599933871"}, "Signature": {made.Header}}, Body: []byte(body), At: sdkNow}, sdkTaken)
}

func unionPayNotice(t *testing.T, dir string, k sdkKeys) {
	certificate := keytest.Certificate(k.key, x509.Certificate{SerialNumber: big.NewInt(69026276696), Subject: pkix.Name{CommonName: "041@Z12@中国银联股份有限公司@Z12"}, NotBefore: sdkNow.AddDate(-1, 0, 0), NotAfter: sdkNow.AddDate(1, 0, 0)})
	channel := sdkProvider(t, gateway.ProviderOptions{Provider: gateway.UnionPay, MerchantID: "777290058110048", PrivateKey: sign.NewSecret(k.private),
		Certificate: sign.NewSecret(certificate), Roots: sign.NewSecret(certificate)})
	var made struct{ Body string }
	sdk(t, dir, map[string]any{"do": "unionpay_make", "privateKey": k.private, "fields": map[string]string{"version": "5.1.0", "signMethod": "01", "encoding": "UTF-8", "txnType": "01",
		"merId": "777290058110048", "orderId": "20261120000001", "respCode": "00", "respMsg": "成功[0000000]", "signPubKeyCert": certificate}}, &made)
	for body, want := range map[string]bool{made.Body: true, strings.Replace(made.Body, "0000001", "0000002", 1): false} {
		items, _, err := channel.ReadNotice(&order.RawNotice{Body: []byte(body), At: sdkNow})
		if (err == nil) != want || want && items[0].OrderNo != "20261120000001" {
			t.Errorf("%s: %+v, %v; want it read: %t", body, items, err, want)
		}
	}
}
