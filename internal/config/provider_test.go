package config

import (
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order/gateway"
)

// fullProviders are the queues of testdata/full.yaml whose channel is one of gateway.Providers.
func fullProviders() []Queue {
	queue := func(name, url string, p gateway.ProviderOptions) Queue {
		q := DefaultOrderQueue(name)
		q.Order.OnExhausted = "close"
		q.Order.Channel = Channel{Kind: p.Provider, URL: url, Provider: p}
		return q
	}
	one := func(place string) sign.Secret { return sign.NewSecret(place) }
	wechat := queue("wechat-v2", "https://api2.mch.weixin.qq.com", gateway.ProviderOptions{Provider: "wechatpay_v2", MerchantID: "1900000001", SubMerchantID: "1900000109",
		AppID: "wx8888888888888888", Keys: []sign.Secret{one("env:WECHAT_V2_KEY"), one("env:WECHAT_V2_FORMER")}, SignType: "MD5"})
	wechat.Order.ChannelExpiry, wechat.Order.MinCloseAge = true, 5*time.Minute
	return []Queue{
		wechat,
		queue("unionpay", "https://gateway.test.95516.com", gateway.ProviderOptions{Provider: "unionpay", MerchantID: "777290058110048", PrivateKey: one("file:/etc/bellman/unionpay_key.pem"),
			Certificate: one("file:/etc/bellman/unionpay.pem"), Roots: one("file:/etc/bellman/unionpay_roots.pem"), PayTimeout: 30 * time.Minute}),
		queue("stripe", "https://api.stripe.com", gateway.ProviderOptions{Provider: "stripe", MerchantID: "acct_1032D82eZvKYlo2C", Keys: []sign.Secret{one("env:STRIPE_KEY")},
			NoticeSecrets: []sign.Secret{one("env:STRIPE_WEBHOOK_SECRET")}}),
		queue("antom", "https://open-na-global.alipay.com", gateway.ProviderOptions{Provider: "antom", MerchantID: "SANDBOX_5X00000000000000", PrivateKey: one("env:ANTOM_PRIVATE_KEY"), KeyVersion: 1,
			PublicKeys: []sign.Secret{one("file:/etc/bellman/antom.pem")}, NoticePath: "/pay/notices/antom"}),
	}
}

func TestProviderMistakes(t *testing.T) {
	for _, tt := range []struct{ queue, want string }{
		{"kind: order, on_exhausted: close, channel: {kind: wechatpay_v2}", "channel.mch_id: is missing, channel.app_id: is missing, channel.api_key: is missing"},
		{"kind: order, on_exhausted: close, channel: {kind: unionpay}", "channel.mer_id: is missing, channel.private_key: is missing, channel.certificate: is missing, channel.root_certificates: is missing"},
		{"kind: order, on_exhausted: close, channel: {kind: stripe}", "channel.secret_key: is missing"},
		{"kind: order, on_exhausted: close, channel: {kind: antom}", "channel.client_id: is missing, channel.private_key: is missing, channel.antom_public_keys: is missing"},
		{"kind: order, on_exhausted: close, channel: {kind: stripe, secret_key: 'env:K', mch_id: x}", "channel.mch_id: unknown field"},
		{"kind: order, on_exhausted: close, channel: {kind: wechatpay_v2, mch_id: m, app_id: a, api_key: 'env:K', sign_type: SHA1}", `channel.sign_type: "SHA1" does not exist: want HMAC-SHA256 or MD5`},
		{"kind: order, on_exhausted: reverse, channel: {kind: stripe, secret_key: 'env:K'}", "on_exhausted: the channel stripe has no reverse"},
		{"kind: order, on_exhausted: close, states: stripe, channel: {kind: stripe, secret_key: 'env:K'}", "states: is what the channel stripe knows by itself"},
		{"kind: order, on_exhausted: close, reconcile: {at: '10:30 UTC'}, channel: {kind: stripe, secret_key: 'env:K'}", "reconcile: needs the channel wechatpay or alipay"},
		{"kind: poll, channel: {kind: stripe, secret_key: 'env:K'}", "channel.of: the channel stripe queries refunds alone"},
		{"kind: poll, channel: {kind: stripe, of: transfer, secret_key: 'env:K'}", "channel.of: the channel stripe queries refunds alone"},
		{"kind: poll, request: channel, channel: {kind: stripe, of: refund, secret_key: 'env:K'}", "request: the channel stripe only queries"},
		{"kind: poll, channel: {kind: stripe, of: refund, secret_key: 'env:K'}", ""},
	} {
		_, err := Parse([]byte("queues: {a: {" + tt.queue + "}}"))
		if err == nil && tt.want != "" || err != nil && tt.want == "" {
			t.Errorf("%s: %v; want %q", tt.queue, err, tt.want)
		}
		for want := range strings.SplitSeq(tt.want, ", ") {
			if want != "" && (err == nil || !strings.Contains(err.Error(), "queues.a."+want)) {
				t.Errorf("%s: %v; want %q", tt.queue, err, want)
			}
		}
	}
}

// The address of a channel is taken from the file alone, so the error offers no other place.
func TestChannelURLElsewhere(t *testing.T) {
	_, err := Parse([]byte("queues: {a: {kind: order, on_exhausted: close, channel: {kind: stripe, secret_key: 'env:K', url: 'env:STRIPE_URL'}}}"))
	if want := "queues.a.channel.url: is no address of a web server: want http://HOST/… or https://HOST/…"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v; want %q at the end", err, want)
	}
}
