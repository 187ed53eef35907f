package config

import "github.com/bellmanhq/bellman/deliver/sign"

// builtIn reports whether the channel is WeChat Pay or Alipay.
func (c *Channel) builtIn() bool {
	return c.Kind == "wechatpay" || c.Kind == "alipay" || c.Account != ""
}

// Identity says which account it is at its provider; empty: no built-in channel.
func (c *Channel) Identity() string {
	switch endpoint := c.Endpoint(); {
	case c.SubMchID != "":
		return endpoint + ":" + c.SubMchID
	case c.Kind == "alipay" && c.AuthToken != sign.Secret{} && c.SellerID != "": // one application acts for many sellers
		return endpoint + ":" + c.SellerID
	default:
		return endpoint
	}
}

// Endpoint names what the provider's limits count; empty: no built-in channel. WeChat Pay counts the requests of
// a service provider and all its sub-merchants together. That Alipay counts those of an application together
// could not be confirmed.
func (c *Channel) Endpoint() string {
	switch c.Kind {
	case "wechatpay":
		return "wechatpay:" + c.MchID
	case "alipay":
		return "alipay:" + c.AppID
	}
	return ""
}

// accountFields are the fields of a channel that is a registered account.
var accountFields = []field[Channel]{
	{name: "kind", set: func(c *Channel, s string) error { return choice(&c.Kind, s, "wechatpay", "alipay") }},
	{name: "account", set: func(c *Channel, s string) error { return filled(&c.Account, s) }},
}
