package clients_test

import (
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/alipay"
	"github.com/bellmanhq/bellman/order/wechatpay"
)

// bellman reads the notices that the SDKs of payment channels make, and the SDKs read the notices
// that bellman's tests make. clients/sdks has the programs that use the SDKs.
func TestSDKs(t *testing.T) {
	dir := node(t, "sdks")
	keys := newSDKKeys()
	t.Run("WeChat Pay's makes", func(t *testing.T) { wechatMakes(t, dir, keys) })
	t.Run("WeChat Pay's reads", func(t *testing.T) { wechatReads(t, dir, keys) })
	t.Run("Alipay's reads", func(t *testing.T) { alipayReads(t, dir, keys) })
	t.Run("Stripe's makes", func(t *testing.T) { stripeMakes(t, dir) })
	t.Run("Standard Webhooks' makes", func(t *testing.T) { standardMakes(t, dir) })
}

// sdk runs one job of sdks.mjs and reads what came of it.
func sdk(t *testing.T, dir string, job map[string]any, result any) {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "job.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	said := run(t, dir, "node", "sdks.mjs", file)
	if err := json.Unmarshal([]byte(said), result); err != nil {
		t.Fatalf("%v of %s", err, said)
	}
}

const (
	sdkSerial  = "PUB_KEY_ID_0000000000000024101100397200000006"
	sdkAPIKey  = "0123456789abcdef0123456789ABCDEF"
	sdkContent = `{"mchid":"1230000109","appid":"wxd678efh567hg6787","out_trade_no":"1217752501201407033233368018","transaction_id":"42",` +
		`"trade_state":"SUCCESS","trade_state_desc":"支付成功","success_time":"2026-11-20T19:59:00+08:00","amount":{"total":8888,"currency":"CNY"}}`
	sdkTaken = `{"amount":8888,"currency":"CNY","paid_at":"2026-11-20T11:59:00Z","transaction_id":"42"}`
)

var sdkNow = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// sdkKeys are one pair, in the forms that the SDKs and bellman want.
type sdkKeys struct {
	key                   *rsa.PrivateKey
	private, public       string // PEM
	privateRaw, publicRaw string // base64
}

func newSDKKeys() sdkKeys {
	key := keytest.RSA()
	return sdkKeys{key, keytest.PrivatePEM(key), keytest.PublicPEM(key),
		base64.StdEncoding.EncodeToString(keytest.Private(key)), base64.StdEncoding.EncodeToString(keytest.Public(key))}
}

func (k sdkKeys) sign(text string) string { return keytest.Sign(k.key, text) }

func (k sdkKeys) wechat(t *testing.T) *wechatpay.Channel {
	t.Helper()
	c, err := wechatpay.New(wechatpay.Options{
		MchID: "1230000109", SerialNo: "5157F09EFDC096DE15EBE81A47057A7232F1B8E1", PrivateKey: sign.NewSecret(k.private), AppID: "wxd678efh567hg6787",
		PlatformKeys: map[string]sign.Secret{sdkSerial: sign.NewSecret(k.public)}, APIv3Keys: []sign.Secret{sign.NewSecret(sdkAPIKey)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkRead checks that a reader reads a notice, and none with a byte changed.
func checkRead(t *testing.T, r order.NoticeReader, raw *order.RawNotice, want string) {
	t.Helper()
	items, _, err := r.ReadNotice(raw)
	if err != nil || len(items) != 1 || items[0].Err != nil || items[0].Reading != order.Paid {
		t.Fatalf("%+v, %v; want one payment", items, err)
	}
	if taken, _ := json.Marshal(items[0].Taken); string(taken) != want {
		t.Errorf("taken %s; want %s", taken, want)
	}
	bent := *raw
	bent.Body = []byte(strings.Replace(string(raw.Body), "2026", "2027", 1))
	if _, _, err := r.ReadNotice(&bent); err == nil || string(bent.Body) == string(raw.Body) {
		t.Errorf("a notice that was changed is read")
	}
}

func wechatMakes(t *testing.T, dir string, k sdkKeys) {
	var made struct {
		Body   string
		Header map[string]string
	}
	sdk(t, dir, map[string]any{"do": "wechat_make", "privateKey": k.private, "key": sdkAPIKey, "serial": sdkSerial, "timestamp": fmt.Sprint(sdkNow.Unix()),
		"event": "TRANSACTION.SUCCESS", "original": "transaction", "content": sdkContent}, &made)
	header := http.Header{}
	for name, value := range made.Header {
		header.Set(name, value)
	}
	checkRead(t, k.wechat(t), &order.RawNotice{Header: header, Body: []byte(made.Body), At: sdkNow}, sdkTaken)
}

func wechatReads(t *testing.T, dir string, k sdkKeys) {
	body := keytest.WeChatNotice(sdkAPIKey, "EV-2026", "TRANSACTION.SUCCESS", "transaction", sdkContent)
	header := keytest.WeChatHeader(k.key, sdkSerial, body, sdkNow)
	names := map[string]string{}
	for name := range header {
		names[name] = header.Get(name)
	}
	checkRead(t, k.wechat(t), &order.RawNotice{Header: header, Body: []byte(body), At: sdkNow}, sdkTaken)
	var read map[string]any
	sdk(t, dir, map[string]any{"do": "wechat_read", "privateKey": k.private, "publicKey": k.public, "key": sdkAPIKey, "header": names, "body": body}, &read)
	if read["axios_plugin"] != true || read["axios_plugin_content"] != sdkContent || read["node_v3"] != true || read["node_v3_content"] != sdkContent {
		t.Errorf("the SDKs read %v; want that both verify it and read %s", read, sdkContent)
	}
}

// alipayReads also shows that alipay-sdk and bellman refuse the same.
func alipayReads(t *testing.T, dir string, k sdkKeys) {
	c, err := alipay.New(alipay.Options{AppID: "2014072300007148", PrivateKey: sign.NewSecret(k.privateRaw),
		AlipayPublicKeys: []sign.Secret{sign.NewSecret(k.publicRaw)}, SellerID: "2088721033871945"})
	if err != nil {
		t.Fatal(err)
	}
	const text = `app_id=2014072300007148&charset=UTF-8&fund_bill_list=[{"amount":"88.88","fundChannel":"ALIPAYACCOUNT"}]&gmt_payment=2026-11-20 19:59:00` +
		`&notify_id=2026112001222171314071950503863083&notify_type=trade_status_sync&out_trade_no=20150320010101001&passback_params=a%3D1%26b%3D2` +
		`&seller_id=2088721033871945&subject=茶 +100%&total_amount=88.88&trade_no=42&trade_status=TRADE_SUCCESS&version=1.0`
	form := url.Values{"sign": {k.sign(text)}, "sign_type": {"RSA2"}}
	for pair := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(pair, "=")
		form.Set(name, value)
	}
	checkRead(t, c, &order.RawNotice{Body: []byte(form.Encode()), At: sdkNow}, sdkTaken)
	for amount, want := range map[string]bool{"88.88": true, "0.01": false} {
		form.Set("total_amount", amount)
		var read map[string]any
		sdk(t, dir, map[string]any{"do": "alipay_read", "appId": "2014072300007148", "privateKey": k.privateRaw, "publicKey": k.publicRaw, "body": form.Encode()}, &read)
		if _, _, err := c.ReadNotice(&order.RawNotice{Body: []byte(form.Encode()), At: sdkNow}); read["alipay_sdk"] != want || (err == nil) != want {
			t.Errorf("amount %s: alipay-sdk says %v, bellman %v; want valid: %t", amount, read["alipay_sdk"], err, want)
		}
	}
}

func stripeMakes(t *testing.T, dir string) {
	const body = `{"id":"evt_1","object":"event","type":"payment_intent.succeeded","data":{"object":{"id":"pi_1","amount_received":8888}}}`
	var made struct{ Header string }
	sdk(t, dir, map[string]any{"do": "stripe_make", "secrets": []string{"whsec_other", "whsec_of_this_account"}, "body": body, "timestamp": fmt.Sprint(sdkNow.Unix())}, &made)
	checkVerify(t, sign.VerifyConfig{Scheme: sign.Stripe, Secrets: []sign.Secret{sign.NewSecret("whsec_of_this_account")}}, http.Header{"Stripe-Signature": {made.Header}}, body)
}

func standardMakes(t *testing.T, dir string) {
	const body, ours, other = `{"type":"order.paid","茶":1}`, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	var made struct{ Header string }
	stamp := fmt.Sprint(sdkNow.Unix())
	sdk(t, dir, map[string]any{"do": "standard_make", "secrets": []string{other, ours}, "body": body, "id": "msg_1", "timestamp": stamp}, &made)
	checkVerify(t, sign.VerifyConfig{Scheme: sign.StandardWebhooks, Secrets: []sign.Secret{sign.NewSecret(ours)}},
		http.Header{"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {made.Header}}, body)
}

// checkVerify checks that a message is valid, and none with a byte changed.
func checkVerify(t *testing.T, c sign.VerifyConfig, header http.Header, body string) {
	t.Helper()
	v, err := sign.NewVerifier(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Verify(header, []byte(body), sdkNow); err != nil {
		t.Errorf("%v: %v", header, err)
	}
	if err := v.Verify(header, []byte(body+" "), sdkNow); err == nil {
		t.Errorf("%v: a message that was changed is valid", header)
	}
}
