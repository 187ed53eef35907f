package config

import (
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
)

// The poll queues of testdata/full.yaml.

func fullRefunds() Queue {
	q := DefaultPollQueue("refunds")
	q.Schedule, q.Timeout, q.Concurrency, q.Rate, q.PropagateTrace = "alipay_refund", 3*time.Second, 32, 100, true
	q.Sign = sign.Config{Scheme: "hmac_sha256_params", Secrets: []sign.Secret{sign.NewSecret("env:GATEWAY_SECRET")}}
	q.Order = Order{
		Query: Request{Method: "GET", URL: "http://gateway.internal/refunds/{ref_no}"},
		States: Readings{Rules: map[string]string{"done": `json.state == "ok"`, "failed": `json.state == "failed"`,
			"waiting": `json.state == "new"`, "not_found": "status == 404"}},
		About: "json.no",
		Then: Then{
			Default: []Told{{Queue: "merchant-notify"}}, For: map[string][]Told{"failed": {{Queue: "told", Own: true}}},
			JSON: map[string]string{"fen": "json.fen"},
		},
	}
	q.Poll.Request = Request{Method: "POST", URL: "http://gateway.internal/refunds", Body: `{"no": "{ref_no}", "fen": {vars.amount}}`}
	return q
}

func fullTransfers() Queue {
	q := DefaultPollQueue("wechat-transfers")
	q.Schedule = "wechat_transfer"
	q.Order.Channel = Channel{
		Kind: "wechatpay", Of: "transfer", MchID: "1900000001",
		Certificate: sign.NewSecret("file:/etc/bellman/apiclient_cert.pem"), PrivateKey: sign.NewSecret("file:/etc/bellman/apiclient_key.pem"),
		FetchKeys: true, APIv3Keys: []sign.Secret{sign.NewSecret("env:WECHAT_V3_KEY")},
	}
	return q
}

const (
	wechatPoll   = `kind: poll, channel: {kind: wechatpay, mch_id: "1900000001", serial: ABC, private_key: "env:KEY", platform_keys: {PUB_KEY_ID_1: "env:KEY"}`
	alipayPoll   = `kind: poll, channel: {kind: alipay, app_id: "2021", private_key: "env:KEY", alipay_public_keys: ["MIIB"]`
	wechatOrders = `channel: {kind: wechatpay, mch_id: "1900000001", serial: ABC, private_key: "env:KEY", platform_keys: {PUB_KEY_ID_1: "env:KEY"}}`
	gatewayAsk   = `kind: poll, query: {url: "http://g/r/{ref_no}"}`
)

// The schedule of a queue that states none is that of its channel or states.
func TestPollSchedule(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{wechatPoll + ", of: refund}", "wechat_refund"},
		{wechatPoll + ", of: profitsharing}", "wechat_profitsharing"},
		{wechatPoll + `, of: refund}, schedule: "1m*"`, "1m*"},
		{alipayPoll + ", of: transfer}", "alipay_transfer"},
		{alipayPoll + ", of: refund}, request: channel", "alipay_refund"},
		{gatewayAsk + ", states: alipay_refund", "alipay_refund"},
		{gatewayAsk + ", states: stripe_refund", "wechat_refund"},
		{gatewayAsk + ", states: {done: status == 200}", "wechat_refund"},
	} {
		c, err := Parse([]byte("queues: {a: {" + tt.text + "}}"))
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if q := c.Queues[0]; q.Schedule != tt.want || q.Kind != "poll" || q.Poll.BuiltIn != strings.Contains(tt.text, "request: channel") {
			t.Errorf("%s: %+v; want schedule %s", tt.text, q, tt.want)
		}
	}
}

// A notification about a refund has no reason and no order_state of its own, so a queue may take
// them from the answer.
func TestPollTellsFieldsOfOrders(t *testing.T) {
	c, err := Parse([]byte("queues: {a: {" + gatewayAsk + ", states: wechat_refund, then: {queue: b, json: {reason: json.why, order_state: json.state}}}, b: {}}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Queues[0].Order.Then.JSON; got["reason"] != "json.why" || got["order_state"] != "json.state" {
		t.Errorf("json = %v", got)
	}
}

func TestPollMistakes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"kind: poll", "queues.a.query: is missing: want {method: GET, url: …}, or a channel"},
		{gatewayAsk, "queues.a.states: is missing: want a preset's name, such as wechat_refund, or an expression for done, failed and waiting"},
		{gatewayAsk + ", states: wechat_v3", `queues.a.states: states: no preset is called "wechat_v3": want one of wechat_refund`},
		{gatewayAsk + ", states: {PAID: 'true'}", `"PAID" is no state: want done, failed, waiting or not_found`},
		{gatewayAsk + ", states: {waiting: 'true'}", "queues.a.states: has no done"},
		{gatewayAsk + ", states: {done: 'json.'}", "queues.a.states: states: done: "},
		{gatewayAsk + ", states: wechat_refund, about: 'json.'", "queues.a.about: "},
		{gatewayAsk + ", states: wechat_refund, schedule: soon", "queues.a.schedule: "},
		{gatewayAsk + ", states: wechat_refund, request: channel", "queues.a.request: there is no channel: want {method: POST, url: …}"},
		{gatewayAsk + ", states: wechat_refund, request: 'yes'", "queues.a.request: want {method: POST, url: …}, or the word channel"},
		{gatewayAsk + ", states: wechat_refund, request: {url: 'http://g/{order_no}'}", "queues.a.request: names no refund: want {ref_no}"},
		{gatewayAsk + ", states: wechat_refund, request: {url: 'http://g/{refno}'}", "queues.a.request.url: {refno} is unknown"},
		{gatewayAsk + ", states: wechat_refund, expires: 1h", "queues.a.expires: is for a queue of kind order, and this one is of kind poll"},
		{gatewayAsk + ", states: wechat_refund, close: {url: 'http://g/{ref_no}'}", "queues.a.close: is for a queue of kind order, and this one is of kind poll"},
		{gatewayAsk + ", states: wechat_refund, then: {PAID: b}", "queues.a.then.PAID: unknown field: want queue, ordered, json, template, default, done or failed"},
		{gatewayAsk + ", states: wechat_refund, then: {done: {refund: a}}", "queues.a.then.done: refund is for late_payment and duplicate_payment alone"},
		{gatewayAsk + ", states: wechat_refund, then: nobody", `queues.a.then: "nobody" is no queue`},
		{gatewayAsk + ", states: wechat_refund, then: {queue: b, json: {ref_no: status}}", "queues.a.then.json.ref_no: is told always"},
		{wechatPoll + "}", "queues.a.channel.of: is missing: want refund, transfer or profitsharing"},
		{wechatPoll + ", of: payment}", `queues.a.channel.of: "payment" does not exist: want refund, transfer or profitsharing`},
		{wechatPoll + ", of: transfer}, request: channel", "queues.a.request: the channel requests refunds alone, not a transfer"},
		{wechatPoll + ", of: transfer, sub_mch_id: '1'}", "queues.a.channel.sub_mch_id: a transfer is of the merchant itself"},
		{"kind: order, on_exhausted: close, then: {late_payment: {refund: r}}, " + wechatOrders + "}, r: {" + alipayPoll + ", of: refund}, request: channel",
			`queues.a.then.late_payment: queue "r" requests refunds of the account alipay:2021, and the orders are paid at wechatpay:1900000001`},
		{wechatPoll + ", of: refund}, states: wechat_refund", "queues.a.states: is what the channel wechatpay knows by itself"},
		{alipayPoll + ", of: profitsharing}", "queues.a.channel.of: the channel alipay has none"},
		{"kind: poll, channel: {kind: program, of: refund}", "queues.a.channel.kind: program is for orders"},
		{"kind: order, on_exhausted: alert, channel: {kind: alipay, of: refund, app_id: x, private_key: 'env:K', alipay_public_keys: [y]}", "queues.a.channel.of: unknown field"},
	} {
		_, err := Parse([]byte("queues: {a: {" + tt.text + "}, b: {}}"))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%s)\nsays %v\nwant %s", tt.text, err, tt.want)
		}
	}
}
