package config

import (
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order/gateway"
)

// channelKinds are the built-in channels, and program.
var channelKinds = slices.Concat([]string{"wechatpay", "alipay"}, gateway.Providers(), []string{"program"})

// HasAccount reports whether the tasks of a queue with this channel may go to registered accounts,
// or to the endpoint of one.
func (c *Channel) HasAccount() bool { return c.Account != "" || c.ofWeChat() || c.Kind == "alipay" }

// ofWeChat reports whether a channel is WeChat Pay, of either version.
func (c *Channel) ofWeChat() bool { return c.Kind == "wechatpay" || c.Kind == gateway.WeChatV2 }

// secretField reads one secret.
func secretField(name string, of func(*Channel) *sign.Secret) field[Channel] {
	return field[Channel]{name: name, read: func(r *reader, path string, n ast.Node, c *Channel) { *of(c) = r.secret(n, path) }}
}

// secretsField reads one secret, or a list of them.
func secretsField(name string, of func(*Channel) *[]sign.Secret) field[Channel] {
	return field[Channel]{name: name, read: func(r *reader, path string, n ast.Node, c *Channel) { *of(c) = r.oneOrMore(n, path) }}
}

// textField reads a text that is not empty.
func textField(name string, of func(*Channel) *string) field[Channel] {
	return field[Channel]{name: name, set: func(c *Channel, s string) error { return filled(of(c), s) }}
}

var (
	kindField       = field[Channel]{name: "kind", set: func(c *Channel, s string) error { return choice(&c.Kind, s, channelKinds...) }}
	urlField        = field[Channel]{name: "url", set: func(c *Channel, s string) error { return target(&c.URL, s, "") }}
	ownKeyField     = secretField("private_key", func(c *Channel) *sign.Secret { return &c.Provider.PrivateKey })
	merchantIDField = func(name string) field[Channel] {
		return textField(name, func(c *Channel) *string { return &c.Provider.MerchantID })
	}
)

// providerFields are the fields of a channel that is one of gateway.Providers.
var providerFields = map[string][]field[Channel]{
	gateway.WeChatV2: {
		kindField, urlField, merchantIDField("mch_id"),
		textField("sub_mch_id", func(c *Channel) *string { return &c.Provider.SubMerchantID }),
		textField("app_id", func(c *Channel) *string { return &c.Provider.AppID }),
		secretsField("api_key", func(c *Channel) *[]sign.Secret { return &c.Provider.Keys }),
		{name: "sign_type", set: func(c *Channel, s string) error { return choice(&c.Provider.SignType, s, "HMAC-SHA256", "MD5") }},
	},
	gateway.UnionPay: {
		kindField, urlField, merchantIDField("mer_id"), ownKeyField,
		secretField("certificate", func(c *Channel) *sign.Secret { return &c.Provider.Certificate }),
		secretField("root_certificates", func(c *Channel) *sign.Secret { return &c.Provider.Roots }),
		{name: "pay_timeout", set: func(c *Channel, s string) error { return atLeast(&c.Provider.PayTimeout, s, time.Second) }},
	},
	gateway.Stripe: {
		kindField, urlField, merchantIDField("stripe_account"),
		{name: "secret_key", read: func(r *reader, path string, n ast.Node, c *Channel) {
			c.Provider.Keys = []sign.Secret{r.secret(n, path)}
		}},
		secretsField("webhook_secrets", func(c *Channel) *[]sign.Secret { return &c.Provider.NoticeSecrets }),
	},
	gateway.Antom: {
		kindField, urlField, merchantIDField("client_id"), ownKeyField,
		{name: "key_version", set: func(c *Channel, s string) error { return number(&c.Provider.KeyVersion, s, 1, 1000) }},
		secretsField("antom_public_keys", func(c *Channel) *[]sign.Secret { return &c.Provider.PublicKeys }),
		textField("notice_path", func(c *Channel) *string { return &c.Provider.NoticePath }),
	},
}

// checkProvider reports missing fields of a channel that is one of gateway.Providers.
func checkProvider(c *Channel, need func(name string, there bool, want string)) {
	p := &c.Provider
	switch p.Provider = c.Kind; c.Kind {
	case gateway.WeChatV2:
		need("mch_id", p.MerchantID != "", "the merchant's number, such as \"1900000001\"")
		need("app_id", p.AppID != "", "the application's id, such as wx8888888888888888")
		need("api_key", len(p.Keys) > 0, "the API key (API密钥) of v2, such as env:WECHAT_V2_KEY")
	case gateway.UnionPay:
		need("mer_id", p.MerchantID != "", "the merchant's number, such as \"777290058110048\"")
		need("private_key", p.PrivateKey != sign.Secret{}, "the merchant's key, such as file:/etc/bellman/unionpay_key.pem")
		need("certificate", p.Certificate != sign.Secret{}, "the merchant's signing certificate, such as file:/etc/bellman/unionpay.pem")
		need("root_certificates", p.Roots != sign.Secret{}, "UnionPay's root and middle certificate, such as file:/etc/bellman/unionpay_roots.pem")
	case gateway.Stripe:
		need("secret_key", len(p.Keys) > 0, "a secret or restricted key, such as env:STRIPE_KEY")
	case gateway.Antom:
		need("client_id", p.MerchantID != "", "the Client-Id, such as SANDBOX_5X00000000000000")
		need("private_key", p.PrivateKey != sign.Secret{}, "the merchant's key, such as env:ANTOM_PRIVATE_KEY")
		need("antom_public_keys", len(p.PublicKeys) > 0, "Antom's keys, such as [file:/etc/bellman/antom.pem]")
	}
}
