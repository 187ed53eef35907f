package config

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/nearest"
	"github.com/bellmanhq/bellman/order/gateway"
)

// A Channel is an account at a built-in channel.
type Channel struct {
	Kind string // wechatpay, alipay, one of gateway.Providers, or program; empty: none, or the Account's kind

	// Account is the registered account of orders that name none. The queue has no account of its
	// own then, and of the fields below only Of.
	Account string

	URL string // the provider's address; empty: the usual one, for WeChat Pay the usual two

	PrivateKey sign.Secret // of the merchant or the application

	// WeChat Pay, API v3.
	MchID        string
	SubMchID     string                 // service provider mode: the sub-merchant; empty: the merchant itself
	Serial       string                 // of the merchant's certificate
	Certificate  sign.Secret            // the merchant's certificate, which says Serial; zero: it is not given
	PlatformKeys map[string]sign.Secret // verify answers; by serial number or id
	FetchKeys    bool                   // platform certificates are fetched from WeChat Pay
	APIv3Keys    []sign.Secret          // decrypt notices; several while they are changed

	AppID string // of the application; for WeChat Pay with in-store payment, and to check notices
	Of    string // of a queue of kind poll: refund, transfer or profitsharing

	// Alipay. An application has keys or certificates.
	AuthToken        sign.Secret   // of a merchant that authorised another one's application
	AlipayKeys       []sign.Secret // verify answers
	AppCertificate   sign.Secret
	RootCertificates sign.Secret
	SellerID         string // whose notices are read; empty: those of the application

	// Provider has the fields of one of gateway.Providers; its name is Kind, its address URL.
	Provider gateway.ProviderOptions
}

var wechatFields = []field[Channel]{
	kindField, urlField,
	textField("mch_id", func(c *Channel) *string { return &c.MchID }),
	textField("sub_mch_id", func(c *Channel) *string { return &c.SubMchID }),
	textField("serial", func(c *Channel) *string { return &c.Serial }),
	textField("app_id", func(c *Channel) *string { return &c.AppID }),
	secretField("private_key", func(c *Channel) *sign.Secret { return &c.PrivateKey }),
	secretsField("api_v3_key", func(c *Channel) *[]sign.Secret { return &c.APIv3Keys }),
	{name: "platform_keys", read: readPlatformKeys},
	secretField("certificate", func(c *Channel) *sign.Secret { return &c.Certificate }),
}

var alipayFields = []field[Channel]{
	kindField, urlField,
	textField("app_id", func(c *Channel) *string { return &c.AppID }),
	secretField("app_auth_token", func(c *Channel) *sign.Secret { return &c.AuthToken }),
	secretField("private_key", func(c *Channel) *sign.Secret { return &c.PrivateKey }),
	{name: "alipay_public_keys", read: func(r *reader, path string, n ast.Node, c *Channel) { c.AlipayKeys = r.secrets(n, path) }},
	secretField("app_certificate", func(c *Channel) *sign.Secret { return &c.AppCertificate }),
	secretField("root_certificates", func(c *Channel) *sign.Secret { return &c.RootCertificates }),
	textField("seller_id", func(c *Channel) *string { return &c.SellerID }),
}

// readPlatformKeys reads the word fetch, or keys by their serial numbers and ids. Among the keys,
// certificates: fetch is the same as the word.
func readPlatformKeys(r *reader, path string, n ast.Node, c *Channel) {
	fetch := func(n ast.Node, path string) {
		if word, ok := r.scalar(n, path); ok && word != "fetch" {
			r.note(n, path, fmt.Sprintf("%.20q: want the word fetch, or keys by their ids, such as {PUB_KEY_ID_…: file:/etc/bellman/pub_key.pem}", word))
		}
		c.FetchKeys = true
	}
	if !r.isMapping(n, path) {
		fetch(n, path)
		return
	}
	c.PlatformKeys = map[string]sign.Secret{}
	for _, e := range r.entries(n, path) {
		if e.name == "certificates" {
			fetch(e.value, e.at)
			continue
		}
		c.PlatformKeys[e.name] = r.secret(e.value, e.at)
	}
}

// readChannel reads an account at a channel; its kind decides which fields it has.
func readChannel(r *reader, path string, n ast.Node, q *Queue) {
	c := &q.Order.Channel
	noted := len(r.problems)
	need := func(name string, there bool, want string) { r.need(n, within(path, name), there, want) }
	var of []field[Channel]
	if q.Kind == "poll" {
		of = pollChannelFields
	}
	if r.names(n, path)["account"] {
		fill(r, n, path, slices.Concat(accountFields, of), c)
		return
	}
	switch kind := r.kindOf(n, path); kind {
	case "wechatpay":
		fill(r, n, path, slices.Concat(wechatFields, of), c)
		need("mch_id", c.MchID != "", "the merchant's number, such as \"1900000001\"")
		need("serial", c.Serial != "" || c.Certificate != sign.Secret{}, "the serial number of the merchant's certificate, or certificate, the file itself")
		need("private_key", c.PrivateKey != sign.Secret{}, "the merchant's key, such as file:/etc/bellman/apiclient_key.pem")
		need("platform_keys", len(c.PlatformKeys) > 0 || c.FetchKeys, "WeChat Pay's keys by their ids, such as {PUB_KEY_ID_…: file:/etc/bellman/pub_key.pem}, or fetch")
		if c.FetchKeys {
			need("api_v3_key", len(c.APIv3Keys) > 0, "the APIv3 key, with which the platform certificates that are fetched are encrypted")
		}
	case "alipay":
		fill(r, n, path, slices.Concat(alipayFields, of), c)
		need("app_id", c.AppID != "", "the application's id, such as \"2021000000000000\"")
		need("private_key", c.PrivateKey != sign.Secret{}, "the application's key, such as env:ALIPAY_KEY")
		need("alipay_public_keys", len(c.AlipayKeys) > 0, "Alipay's keys, such as [file:/etc/bellman/alipay.pem]")
	case "":
		if len(r.problems) == noted {
			r.note(n, within(path, "kind"), "is missing: want "+nearest.Either(channelKinds)+", or the name of a registered account in account")
		}
	default:
		if fields := providerFields[kind]; fields != nil {
			fill(r, n, path, slices.Concat(fields, of), c)
			checkProvider(c, need)
			return
		}
		if !slices.Contains(channelKinds, kind) {
			wrongKind(r, n, path, kindField, c)
			return
		}
		fill(r, n, path, slices.Concat([]field[Channel]{kindField}, of), c)
	}
}
