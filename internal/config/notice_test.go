package config

import (
	"fmt"
	"strings"
	"testing"
)

// gated is a queue of orders whose gateway sends notices that are verified so.
func gated(verify string) string {
	return `queues:
  orders:
    kind: order
    query: {url: "http://h/{order_no}"}
    close: {url: "http://h/{order_no}"}
    states: wechat_v3
    close_states: wechat_v3
    on_exhausted: close
    notice: {verify: ` + verify + `, order: json.no, states: wechat_v3}
`
}

// The secrets of notices are tried out: those in the file at once, the others where the server is.
// None is shown.
func TestSecretsOfNotices(t *testing.T) {
	t.Setenv("BELLMAN_TEST_SHORT", "geheim")
	t.Setenv("BELLMAN_TEST_LONG", "geheim-of-sixteen")
	for verify, want := range map[string]string{
		`{scheme: hmac_sha256, header: X, secrets: [geheim-of-sixteen]}`:                           "",
		`{scheme: hmac_sha256, header: X, secrets: ["env:BELLMAN_TEST_LONG"]}`:                     "",
		`{scheme: stripe, secrets: [geheim-of-sixteen], tolerance: 0s}`:                            "queues.orders.notice.verify.tolerance: 0s: want 1s or more",
		`{scheme: hmac_sha256, header: X, secrets: [geheim-of-sixteen, "env:BELLMAN_TEST_SHORT"]}`: "queues.orders.notice.verify.secrets[1]: env:BELLMAN_TEST_SHORT: has 6 bytes: want 16 or more",
		`{scheme: standard_webhooks, secrets: ["env:BELLMAN_TEST_LONG"]}`:                          "env:BELLMAN_TEST_LONG: want whsec_",
	} {
		c, err := Parse([]byte(gated(verify)))
		if err == nil {
			err = c.CheckSecrets()
		}
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) || strings.Contains(got, "geheim") {
			t.Errorf("%s: %v; want %q, and no secret", verify, err, want)
		}
	}
}

// The place of a notice's items is names with dots between them: with an empty name no notice could
// be read.
func TestItemsOfNotices(t *testing.T) {
	for items, ok := range map[string]bool{"items": true, "data.items": true, "": false, ".": false, "data..items": false, ".items": false, "items.": false} {
		text := strings.Replace(gated(`{scheme: hmac_sha256, header: X, secrets: [geheim-of-sixteen]}`), "order: json.no", fmt.Sprintf("items: %q, order: json.no", items), 1)
		_, err := Parse([]byte(text))
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "queues.orders.notice.items: ") {
			t.Errorf("items %q: %v; want an error of notice.items: %t", items, err, !ok)
		}
	}
}

// Settings that have no effect are warned of, with the line.
func TestWarnings(t *testing.T) {
	const (
		verify   = `{scheme: hmac_sha256, header: X, secrets: [geheim-of-sixteen]}`
		accounts = "master_key: env:KEY\nqueues: {orders: {kind: order, on_exhausted: close, channel: {account: shop1}, reconcile: "
		service  = `queues: {orders: {kind: order, on_exhausted: close, channel: {kind: wechatpay, mch_id: "1900000001", SUB serial: 5157F09E, private_key: "env:A", platform_keys: {A: "env:B"}}, reconcile: `
	)
	for text, want := range map[string]string{
		gated(verify): "line 9:13: queues.orders.notice: notices.listen is not set",
		"notices: {listen: 127.0.0.1:2380}\n" + gated(verify): "",
		"queues: {a: {}}": "",
		"queues: {a: {kind: poll, query: {url: 'http://g/{order_no}'}, states: wechat_refund}}":                                              "line 1:33: queues.a.query: names no refund: if an order has two",
		"queues: {a: {kind: poll, query: {url: 'http://g/{ref_no}'}, states: wechat_refund}}":                                                "",
		"queues: {a: {kind: poll, query: {url: 'http://g/x', body: '{\"no\": \"{vars.no}\"}', method: POST}, states: wechat_refund}}":        "",
		"queues: {a: {kind: poll, query: {url: 'http://g/{order_no}'}, about: 'json.no', states: wechat_refund}}":                            "",
		"store: postgres://h/d\nqueues: {a: {}, b: {rate: 50/s}}":                                                                            "line 2:27: queues.b.rate: a merchant that this queue and another of kind notify serve",
		"store: mysql://h/d\nqueues:\n  a: {concurrency: 5}\n  b: {rate: 50/s}":                                                              "line 3:20: queues.a.concurrency: a merchant",
		"store: pebble:d\nqueues: {a: {}, b: {rate: 50/s}}":                                                                                  "",
		"store: postgres://h/d\nqueues: {a: {rate: 50/s}}":                                                                                   "",
		"store: postgres://h/d\nqueues: {a: {}, b: {per_endpoint: {rate: 50/s}}}":                                                            "",
		"notices: {listen: 127.0.0.1:2380}\nqueues: {a: {}}":                                                                                 "line 1:19: notices.listen: no queue receives notices",
		"notices: {listen: 127.0.0.1:2380}\n" + accounts + "{at: 10:30, fund_flow: true}}}\n":                                                "",
		"notices: {listen: 127.0.0.1:2380}\n" + strings.Replace(service, "SUB", "", 1) + "{at: 10:30, fund_flow: true}}}\n":                  "",
		"notices: {listen: 127.0.0.1:2380}\n" + strings.Replace(service, "SUB", `sub_mch_id: "19",`, 1) + "{at: 10:30, fund_flow: true}}}\n": "queues.orders.reconcile.fund_flow: bellman downloads no fund flow bill of a service provider's sub-merchant",
	} {
		c, err := checked(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Warnings(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

// A queue of registered accounts needs a master key, by which their keys are opened.
func TestAccountsWithoutMasterKey(t *testing.T) {
	const orders, refunds = "queues:\n  orders: {kind: order, on_exhausted: close, channel: {account: shop1}}\n", "queues:\n  refunds: {kind: poll, channel: {kind: alipay, account: shop1, of: refund}}\n"
	for text, want := range map[string]string{
		orders:                               "line 2:65: queues.orders.channel.account: there is no master key",
		refunds:                              "queues.refunds.channel.account: there is no master key",
		"master_key: env:KEY\n" + orders:     "",
		"master_keys: [env:KEY]\n" + refunds: "",
	} {
		c, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

// The API and the notices cannot share an address.
func TestNoticesListener(t *testing.T) {
	for text, same := range map[string]bool{
		"listen: 127.0.0.1:2380\nnotices: {listen: 127.0.0.1:2380}":     true,
		"notices: {listen: 0.0.0.0:2355}":                               true, // the API listens at 127.0.0.1:2355
		"listen: 127.0.0.1:2380\nnotices: {listen: \":2380\"}":          true,
		"listen: 127.0.0.1:2380\nnotices: {listen: \"127.0.0.1:2381\"}": false,
		"listen: 127.0.0.1:0\nnotices: {listen: \"127.0.0.1:0\"}":       false,
		"listen: 127.0.0.1:2380\nnotices: {listen: \"10.0.0.1:2380\"}":  false,
	} {
		c, err := Parse([]byte(text + "\nqueues: {a: {}}"))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(); (err != nil) != same || same && !strings.Contains(err.Error(), "is the address of the API, too") {
			t.Errorf("%s: %v; want an error: %t", text, err, same)
		}
	}
}
