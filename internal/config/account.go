package config

import (
	"cmp"
	"strings"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order/gateway"
)

// builtIn reports whether bellman knows the channel's protocol by itself.
func (c *Channel) builtIn() bool {
	return c.Kind != "" && c.Kind != "program" || c.Account != ""
}

// Identity says which account it is at its provider; empty: no built-in channel. Stripe's numbers
// are unique over all accounts.
func (c *Channel) Identity() string {
	sub := cmp.Or(c.SubMchID, c.Provider.SubMerchantID)
	if c.Kind == "alipay" && c.AuthToken != (sign.Secret{}) {
		sub = c.SellerID // one application acts for many sellers
	}
	return strings.TrimSuffix(c.Endpoint()+":"+sub, ":")
}

// Owner returns the numbers by which the provider's bills name the account: of the merchant, and of
// the sub-merchant for which it acts. Empty: not known.
func (c *Channel) Owner() (no, sub string) {
	switch c.Kind {
	case "wechatpay":
		return c.MchID, c.SubMchID
	case "alipay":
		return c.SellerID, ""
	}
	return c.Provider.MerchantID, c.Provider.SubMerchantID
}

// Endpoint names what the provider's limits count; empty: no built-in channel. WeChat Pay counts
// the requests of a service provider and all its sub-merchants together, and both versions of its
// API know an order by the same number. That Alipay counts those of an application together could
// not be confirmed.
func (c *Channel) Endpoint() string {
	switch c.Kind {
	case "wechatpay":
		return "wechatpay:" + c.MchID
	case gateway.WeChatV2:
		return "wechatpay:" + c.Provider.MerchantID
	case "alipay":
		return "alipay:" + c.AppID
	case "", "program":
		return ""
	}
	return strings.TrimSuffix(c.Kind+":"+c.Provider.MerchantID, ":")
}

// accountFields are the fields of a channel that is a registered account.
var accountFields = []field[Channel]{
	{name: "kind", set: func(c *Channel, s string) error { return choice(&c.Kind, s, "wechatpay", "alipay") }},
	{name: "account", set: func(c *Channel, s string) error { return filled(&c.Account, s) }},
}
