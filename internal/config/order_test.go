package config

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/order"
)

const orderQueue = `
queues:
  merchant-notify: {url: "https://shop.internal/paid"}
  wechat-orders:
    kind: order
    query: {method: GET,  url: "http://gateway.internal/wechat/orders/{order_no}"}
    close: {method: POST, url: "http://gateway.internal/wechat/orders/{order_no}/close", headers: {X-Shop: "{vars.shop}", Authorization: "env:NOT_SET_HERE"}, body: '{"no":"{order_no}"}'}
    states: wechat_v3
    close_states: wechat_v3
    schedule: order_poll
    expires: 30m
    on_exhausted: close
    min_close_age: 5m
    confirm: "0s, 5s, 25s"
    late_watch: 15m
    rate: 500/s
    then: merchant-notify
`

func TestOrderQueue(t *testing.T) {
	c, err := Parse([]byte(orderQueue))
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultOrderQueue("wechat-orders")
	want.Rate = 500
	want.Order.Query = Request{Method: "GET", URL: "http://gateway.internal/wechat/orders/{order_no}"}
	want.Order.Close = Request{Method: "POST", URL: "http://gateway.internal/wechat/orders/{order_no}/close",
		Headers: map[string]string{"X-Shop": "{vars.shop}", "Authorization": "env:NOT_SET_HERE"}, Body: `{"no":"{order_no}"}`}
	want.Order.States.Preset, want.Order.CloseStates.Preset = "wechat_v3", "wechat_v3"
	want.Order.OnExhausted = "close"
	want.Order.MinCloseAge = 5 * time.Minute
	want.Order.Then.Default = []Told{{Queue: "merchant-notify"}}
	if !reflect.DeepEqual(c.Queues[1], want) {
		t.Errorf("queue =\n%+v\nwant\n%+v", c.Queues[1], want)
	}
}

// The defaults of an order queue depend on its channel, and on what happens to an order that nobody
// pays.
func TestOrderDefaults(t *testing.T) {
	const (
		wechat  = `channel: {kind: wechatpay, mch_id: "1900000001", serial: ABC, app_id: wx1, private_key: "env:KEY", platform_keys: {PUB_KEY_ID_1: "env:KEY"}}`
		alipay  = `channel: {kind: alipay, app_id: "2021", private_key: "env:KEY", alipay_public_keys: ["MIIB"]}`
		gateway = `query: {url: "http://g/q/{order_no}"}, close: {url: "http://g/c/{order_no}"}, reverse: {url: "http://g/r/{order_no}"}, states: alipay, close_states: alipay`
		hour    = time.Hour
	)
	tests := []struct {
		rules                   string
		minClose, giveUp, codes time.Duration
		expires                 bool
	}{
		{"on_exhausted: close, " + wechat, 5 * time.Minute, 24 * hour, 2 * hour, true},
		{"on_exhausted: close, min_close_age: 0s, channel_expiry: false, give_up: 1h, code_life: 15d, " + wechat, 0, hour, 15 * 24 * hour, false},
		{"on_exhausted: close, min_close_age: 1m, " + wechat, time.Minute, 24 * hour, 2 * hour, true},
		{"on_exhausted: reverse, " + wechat, 5 * time.Minute, 7 * 24 * hour, 2 * hour, true},
		{"on_exhausted: close, " + alipay, 0, 24 * hour, 2 * hour, true},
		{"on_exhausted: reverse, give_up: 30m, code_life: 0s, channel_expiry: false, " + alipay, 0, hour / 2, 0, false},
		{"on_exhausted: close, " + gateway, 0, 24 * hour, 2 * hour, false},
		{"on_exhausted: reverse, channel_expiry: true, " + gateway, 0, 7 * 24 * hour, 2 * hour, true},
	}
	for _, tt := range tests {
		c, err := Parse([]byte("queues: {a: {kind: order, " + tt.rules + "}}"))
		if err != nil {
			t.Fatal(err)
		}
		o := c.Queues[0].Order
		if o.MinCloseAge != tt.minClose || o.GiveUp != tt.giveUp || o.CodeLife != tt.codes || o.ChannelExpiry != tt.expires {
			t.Errorf("%s: min_close_age %v, give_up %v, code_life %v, channel_expiry %t", tt.rules, o.MinCloseAge, o.GiveUp, o.CodeLife, o.ChannelExpiry)
		}
	}
}

func TestChannels(t *testing.T) {
	c, err := Parse([]byte(`
queues:
  a: {kind: order, on_exhausted: alert, late_watch: 0s, channel: {kind: wechatpay, mch_id: "1900000001", serial: ABC, private_key: "env:KEY",
    platform_keys: {PUB_KEY_ID_1: "file:/etc/wechat.pem"}}, then: {queue: b, json: {paid: "json.amount.total"}}}
  b: {}
  c: {kind: order, on_exhausted: reverse, channel: {kind: alipay, app_id: "2021", private_key: "env:KEY", alipay_public_keys: ["MIIB"]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	wechat := Channel{Kind: "wechatpay", MchID: "1900000001", Serial: "ABC", PrivateKey: sign.NewSecret("env:KEY"),
		PlatformKeys: map[string]sign.Secret{"PUB_KEY_ID_1": sign.NewSecret("file:/etc/wechat.pem")}}
	alipay := Channel{Kind: "alipay", AppID: "2021", PrivateKey: sign.NewSecret("env:KEY"), AlipayKeys: []sign.Secret{sign.NewSecret("MIIB")}}
	if got := c.Queues[0].Order.Channel; !reflect.DeepEqual(got, wechat) {
		t.Errorf("channel = %+v; want %+v", got, wechat)
	}
	if got := c.Queues[2].Order.Channel; !reflect.DeepEqual(got, alipay) {
		t.Errorf("channel = %+v; want %+v", got, alipay)
	}
	if got := c.Queues[0].Order.Then; len(got.Default) != 1 || got.Default[0] != (Told{Queue: "b"}) || got.JSON["paid"] != "json.amount.total" || c.Queues[0].Order.LateWatch != 0 {
		t.Errorf("order = %+v", c.Queues[0].Order)
	}
}

func TestOrderMistakes(t *testing.T) {
	whole := strings.TrimSpace(orderQueue)
	tests := []struct{ text, want string }{
		{strings.Replace(whole, "    on_exhausted: close\n", "", 1), "queues.wechat-orders.on_exhausted: is missing: want close, reverse, callback or alert"},
		{strings.Replace(whole, "on_exhausted: close", "on_exhausted: forget", 1), `"forget" does not exist: want close, reverse, callback or alert`},
		{strings.Replace(whole, "on_exhausted: close", "on_exhausted: reverse", 1), "wechat-orders.reverse: is missing"},
		{strings.Replace(whole, "    states: wechat_v3\n", "", 1), "wechat-orders.states: is missing"},
		{strings.Replace(whole, "    close_states: wechat_v3\n", "", 1), "wechat-orders.close_states: is missing"},
		{strings.Replace(whole, "{vars.shop}", "{shop}", 1), "line 6:108: queues.wechat-orders.close.headers.X-Shop: {shop} is unknown"},
		{strings.Replace(whole, "orders/{order_no}\"}", "orders\"}", 1), "query: names no order"},
		{strings.Replace(whole, "states: wechat_v3", "states: wechat", 1), "wechat-orders.states: "},
		{strings.Replace(whole, "close_states: wechat_v3", "close_states: {closed: 'status = 1'}", 1), "wechat-orders.close_states: "},
		{strings.Replace(whole, "states: wechat_v3", "states: {PAYED: 'true'}", 1), "wechat-orders.states: "},
		{strings.Replace(whole, "then: merchant-notify", "then: {queue: merchant-notify, json: {amount: 'json.'}}", 1), "wechat-orders.then.json.amount: "},
		{strings.Replace(whole, "then: merchant-notify", "then: {queue: merchant-notify, json: {order_no: status}}", 1), "wechat-orders.then.json.order_no: is told always"},
		{strings.Replace(whole, "    states: wechat_v3", "    states: {PENDING: 'true'}", 1), "wechat-orders.states: has no PAID"},
		{strings.Replace(whole, "then: merchant-notify", "then: nobody", 1), `line 16:11: queues.wechat-orders.then: "nobody" is no queue: want one of merchant-notify`},
		{"queues: {a: {kind: order, on_exhausted: alert, then: b}}", `queues.a.then: "b" is no queue, and none is of kind notify: want the name of a queue of kind notify`},
		{strings.Replace(whole, "then: merchant-notify", "then: wechat-orders", 1), `"wechat-orders" is of kind order: want a queue of kind notify`},
		{strings.Replace(whole, "then: merchant-notify", "then: {json: {a: status}}", 1), "wechat-orders.then.queue: is missing"},
		{strings.Replace(whole, "then: merchant-notify", "then: {PAYED: merchant-notify}", 1), "wechat-orders.then.PAYED: unknown field"},
		{strings.Replace(whole, "then: merchant-notify", "then: {done: merchant-notify}", 1), "wechat-orders.then.done: unknown field"},
		{strings.Replace(whole, "then: merchant-notify", "then: {PAID: nowhere}", 1), `wechat-orders.then.PAID: "nowhere" is no queue: want one of merchant-notify`},
		{strings.Replace(whole, "then: merchant-notify", "then: {default: none, FAILED: [merchant-notify, wechat-orders]}", 1), `wechat-orders.then.FAILED: "wechat-orders" is of kind order`},
		{strings.Replace(whole, "then: merchant-notify", "then: {PAID: [merchant-notify, {queue: merchant-notify, ordered: true}]}", 1), `names queue "merchant-notify" twice`},
		{strings.Replace(whole, "then: merchant-notify", "then: {PAID: {ordered: true}}", 1), "wechat-orders.then.PAID: want queue, the name of a queue of kind notify, or refund"},
		{strings.Replace(whole, "then: merchant-notify", "then: {queue: merchant-notify, default: none}", 1), "wechat-orders.then: has queue and default"},
		{strings.Replace(whole, "then: merchant-notify", "notice: {verify: {scheme: hmac_sha256, header: X-S, secrets: [\"a-secret-of-32-characters-at-least\"]}, order: json.no, states: alipay}\n    then: {duplicate_payment: {refund: merchant-notify}}", 1), "wechat-orders.then.duplicate_payment: the query and the notice may name one payment by different transaction_ids"},
		{strings.Replace(whole, "then: merchant-notify", "then: {PAID: {refund: merchant-notify}}", 1), "wechat-orders.then.PAID: refund is for late_payment and duplicate_payment alone"},
		{strings.Replace(whole, "then: merchant-notify", "then: {late_payment: {refund: merchant-notify}}", 1), `wechat-orders.then.late_payment: "merchant-notify" is of kind notify: want a queue of kind poll with a request`},
		{strings.Replace(whole, "then: merchant-notify", "then: {late_payment: {refund: refunds}}", 1), `wechat-orders.then.late_payment: "refunds" is no queue: want the name of a queue of kind poll`},
		{strings.Replace(whole, "then: merchant-notify", "then: {late_payment: {refund: r}}\n  r: {kind: poll, query: {url: 'http://g/{ref_no}'}, states: wechat_refund}", 1), `wechat-orders.then.late_payment: queue "r" has no request`},
		{strings.Replace(whole, "then: merchant-notify", "then: {late_payment: {refund: r, ordered: true}}", 1), "then.late_payment: a refund is requested, and nothing is written to it"},
		{strings.Replace(whole, "then: merchant-notify", "then: {queue: merchant-notify, template: epay}", 1), `then.template: "epay" is no template: want one of jeepay, jeepay_refund, roncoo, none`},
		{strings.Replace(whole, "then: merchant-notify", "then: {queue: merchant-notify, template: {format: csv, fields: {a: order_no}}}", 1), `then.template.format: "csv"`},
		{strings.Replace(whole, "then: merchant-notify", "then: {queue: merchant-notify, template: {format: query, method: POST, fields: {a: order_no}}}", 1), "then.template.method: the fields of a query are sent by GET"},
		{strings.Replace(whole, "then: merchant-notify", "then: {queue: merchant-notify, template: {format: form}}", 1), "then.template.fields: is missing"},
		{strings.Replace(whole, "then: merchant-notify", "then: {queue: merchant-notify, template: {fields: {a: orderno}}}", 1), "then.template.fields.a: column 1: undeclared reference to 'orderno' (did you mean 'order_no'?); known are json, event"},
		{strings.Replace(whole, "then: merchant-notify", "then: {queue: merchant-notify, template: {format: xml, fields: {'1a': order_no}}}", 1), "then.template.fields.1a: is no name of an element"},
		{strings.Replace(whole, "then: merchant-notify", "then: {queue: merchant-notify, template: {root: a, fields: {a: order_no}}}", 1), "then.template.root: is for the format xml alone"},
		{strings.Replace(whole, "then: merchant-notify", "sign: {scheme: md5_key, secrets: ['env:NOT_HERE'], params: {order: random}}", 1), `wechat-orders.sign: params: order: "random": want one of sorted, ignore_case, given`},
		{strings.Replace(whole, "then: merchant-notify", "sign: {scheme: t_v1, secrets: ['env:NOT_HERE'], header: 'a b'}", 1), `wechat-orders.sign: header: "a b": want a header's name`},
		{strings.Replace(whole, "then: merchant-notify", "success: success_text", 1), "wechat-orders.success: is for a queue of kind notify, and this one is of kind order: change kind, or leave it out"},
		{strings.Replace(whole, "expires: 30m", "expires: 30", 1), "wechat-orders.expires: "},
		{strings.Replace(whole, "expires: 30m", "expires: 0s", 1), "wechat-orders.expires: 0s: want 1s or more"},
		{strings.Replace(whole, `confirm: "0s, 5s, 25s"`, "confirm: soon", 1), "wechat-orders.confirm: "},
		{strings.Replace(whole, "    query: {method: GET,  url", "    query: {method: FETCH,  url", 1), "wechat-orders.query.method: "},
		{strings.Replace(whole, "    query: {method: GET,  url", "    query: {method: GET, address", 1), "wechat-orders.query.address: unknown field: want method, url, headers or body"},
		{strings.Replace(whole, "    states: wechat_v3", "    about: 'json.'\n    states: wechat_v3", 1), "wechat-orders.about: "},
		{"queues: {a: {kind: order, on_exhausted: alert, about: json.no, channel: {kind: alipay, app_id: x, private_key: 'env:K', alipay_public_keys: [y]}}}",
			"queues.a.about: is what the channel alipay knows by itself"},
		{strings.Replace(whole, "    states: wechat_v3", "    reconcile: {at: \"10:30\"}\n    states: wechat_v3", 1), "wechat-orders.reconcile: needs the channel wechatpay or alipay"},
		{"queues: {a: {kind: order, on_exhausted: alert, reconcile: {alarm: ops}, channel: {kind: alipay, app_id: x, private_key: 'env:K', alipay_public_keys: [y]}}}",
			"queues.a.reconcile.at: is missing: want a time of day"},
		{"queues: {a: {kind: order, on_exhausted: alert, reconcile: {at: \"10:30\", alarm: ops}, channel: {kind: alipay, app_id: x, private_key: 'env:K', alipay_public_keys: [y]}}}",
			`queues.a.reconcile.alarm: "ops" is no queue`},
		{"queues: {a: {kind: order, on_exhausted: alert, reconcile: {at: 25 o'clock}, channel: {kind: alipay, app_id: x, private_key: 'env:K', alipay_public_keys: [y]}}}",
			`"25 o'clock": want a time of day such as 10:30 Asia/Shanghai`},
		{"queues: {a: {kind: order, on_exhausted: alert, reconcile: {at: \"10:30 Mars\"}, channel: {kind: alipay, app_id: x, private_key: 'env:K', alipay_public_keys: [y]}}}",
			`"Mars" is no time zone: want one such as Asia/Shanghai`},
		{"queues: {a: {kind: order, on_exhausted: alert, reconcile: {at: \"10:30\", fund_flow: true}, channel: {kind: alipay, app_id: x, private_key: 'env:K', alipay_public_keys: [y]}}}",
			"queues.a.reconcile.fund_flow: is a bill of the channel wechatpay: leave it out"},
		{"queues: {a: {kind: order, on_exhausted: alert, channel: {}}}", "queues.a.channel.kind: is missing: want wechatpay, alipay, wechatpay_v2, unionpay, stripe, antom or program"},
		{"queues: {a: {kind: order, on_exhausted: alert, channel: wechatpay}}", "queues.a.channel: want fields"},
		{"queues: {a: {kind: order, on_exhausted: alert, channel: {kind: paypal}}}", `queues.a.channel.kind: "paypal" does not exist: want wechatpay, alipay, wechatpay_v2, unionpay, stripe, antom or program`},
		{"queues: {a: {kind: order, on_exhausted: alert, channel: {kind: alipay, app_id: x, private_key: 'env:K'}}}", "queues.a.channel.alipay_public_keys: is missing"},
		{"queues: {a: {kind: order, on_exhausted: alert, channel: {kind: alipay, mch_id: x}}}", "queues.a.channel.mch_id: unknown field: want kind, url, app_id"},
		{"queues: {a: {kind: order, on_exhausted: alert, states: wechat_v3, channel: {kind: alipay, app_id: x, private_key: 'env:K', alipay_public_keys: [y]}}}",
			"queues.a.states: is what the channel alipay knows by itself"},
	}
	for _, tt := range tests {
		_, err := Parse([]byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%s)\nsays %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

// The order queues of testdata/full.yaml.

func fullOrders() Queue {
	q := DefaultOrderQueue("orders")
	q.Schedule, q.Timeout, q.Concurrency, q.Rate = "order_poll_10m", 3*time.Second, 64, 500
	q.Sign = sign.Config{Scheme: "hmac_sha256_params", Secrets: []sign.Secret{sign.NewSecret("env:GATEWAY_SECRET")}}
	q.Order = Order{
		Query: Request{Method: "GET", URL: "http://gateway.internal/orders/{order_no}",
			Headers: map[string]string{"Authorization": "env:GATEWAY_TOKEN"}},
		Close:   Request{Method: "POST", URL: "http://gateway.internal/orders/{order_no}/close", Body: `{"shop": "{vars.shop}"}`},
		Reverse: Request{URL: "http://gateway.internal/orders/{order_no}/reverse"},
		States:  Readings{Preset: "wechat_v3"},
		CloseStates: Readings{Rules: map[string]string{
			"closed": "status == 204", "paid_hint": `json_field("code", "eq", "ORDERPAID")`}},
		About: "json.out_trade_no",
		Notice: &Notice{
			Verify: sign.VerifyConfig{Scheme: "stripe", Header: "X-Signature", Secrets: []sign.Secret{sign.NewSecret("env:GATEWAY_SECRET")}, Tolerance: 10 * time.Minute},
			Items:  "data.items", Order: "json.out_trade_no", States: Readings{Preset: "wechat_v3"},
			Accepted: NoticeAnswer{201, "ok"}, Refused: NoticeAnswer{500, "failed"},
		},
		Expires: 15 * time.Minute, Grace: 10 * time.Second, OnExhausted: "reverse",
		MinCloseAge: 5 * time.Minute, MinReverseAge: 20 * time.Second, Confirm: "1s, 5s",
		LateWatch: 20 * time.Minute, GiveUp: 12 * time.Hour, ChannelExpiry: true, CodeLife: 4 * time.Hour,
	}
	form := &order.Template{Method: "POST", Format: "form", Fields: []order.Field{{Name: "orderNo", Value: "order_no"}, {Name: "amt", Value: "string(amount)"}, {Name: "state", Value: "order_state"}}}
	q.Order.Then = Then{
		Default: []Told{{Queue: "merchant-notify", Own: true, Ordered: true, Template: form}},
		For: map[string][]Told{
			"CLOSED": {}, "UNKNOWN": {{Queue: "told", Own: true, Ordered: true}},
			"late_payment":      {{Queue: "told", Own: true, Ordered: true}, {Queue: "refunds", Own: true, Refund: true}},
			"duplicate_payment": {{Queue: "told", Own: true, Ordered: true, Template: &order.Template{Method: "POST", Format: "xml", Root: "notice", Fields: []order.Field{{Name: "no", Value: "order_no"}}}}},
		},
		JSON: map[string]string{"paid": "json.amount.total", "by": "taken.transaction_id"},
	}
	return q
}

func fullWechat() Queue {
	q := DefaultOrderQueue("wechat")
	q.Order.OnExhausted, q.Order.ChannelExpiry, q.Order.MinCloseAge = "close", true, 5*time.Minute
	q.Order.Channel = Channel{
		Kind: "wechatpay", MchID: "1900000001", SubMchID: "1900000109", AppID: "wx8888888888888888",
		Serial: "5157F09EFDC096DE15EBE81A47057A7232F1B8E1", PrivateKey: sign.NewSecret("file:/etc/bellman/apiclient_key.pem"),
		PlatformKeys: map[string]sign.Secret{"PUB_KEY_ID_0119000000012025": sign.NewSecret("file:/etc/bellman/pub_key.pem")},
		APIv3Keys:    []sign.Secret{sign.NewSecret("env:WECHAT_V3_KEY")},
		URL:          "https://api2.mch.weixin.qq.com",
	}
	return q
}

func fullAlipay() Queue {
	q := DefaultOrderQueue("alipay")
	q.Order.OnExhausted, q.Order.ChannelExpiry = "alert", true
	q.Order.Channel = Channel{
		Kind: "alipay", AppID: "2021000000000000", AuthToken: sign.NewSecret("env:ALIPAY_TOKEN"),
		PrivateKey: sign.NewSecret("env:ALIPAY_KEY"), AlipayKeys: []sign.Secret{sign.NewSecret("file:/etc/bellman/alipay.pem")},
		AppCertificate: sign.NewSecret("file:/etc/bellman/app.crt"), RootCertificates: sign.NewSecret("file:/etc/bellman/root.crt"),
		URL: "https://openapi-sandbox.dl.alipaydev.com/gateway.do", SellerID: "2088000000000000",
	}
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		panic(err)
	}
	q.Order.Reconcile = &Reconcile{At: 10*time.Hour + 30*time.Minute, Zone: shanghai, Alarm: "told"}
	return q
}

func fullShops() Queue {
	q := DefaultOrderQueue("shops")
	q.Order.OnExhausted, q.Order.ChannelExpiry, q.Order.MinCloseAge = "close", true, 5*time.Minute
	q.Order.Channel = Channel{Kind: "wechatpay", Account: "shop1"}
	q.Order.Reconcile = &Reconcile{At: 10*time.Hour + 30*time.Minute, Zone: bill.Zone, Refunds: true, FundFlow: true}
	return q
}

// One mistake hides no other: each field is reported once, whether it is missing or wrong.
func TestEveryMistakeOfAnOrder(t *testing.T) {
	tests := []struct{ text, want string }{
		{"{kind: order, on_exhausted: close, states: wechat_v3, query: {url: 'http://h/{orderno}'}}", "query.url close close_states"},
		{"{kind: order, on_exhausted: reverse, query: {url: 'http://h/{order_no}'}, close: {url: 'http://h/{order_no}'}, confirm: x, give_up: x, expires: x}",
			"confirm give_up expires states close_states reverse"},
		{"{kind: order, on_exhausted: never, channel: {kind: wechatpay}}",
			"on_exhausted channel.mch_id channel.serial channel.private_key channel.platform_keys"},
		{"{kind: order, states: wechat_v3, close_states: wechat_v3, query: {url: 'ftp://h', headers: {'A,B': x, Host: x}, body: x}, close: {}}",
			"query.url query.headers.A,B query.headers.Host query.body close.url on_exhausted"},
		{"{kind: order, on_exhausted: alert, states: nothing, close_states: nothing, query: {method: GET, url: 'http://h'}, close: {url: 'http://h/{order_no'}}",
			"states close_states query close.url"},
		{"{kind: order, on_exhausted: close, channel: {account: shop1, mch_id: '1'}, query: {method: GET, url: 'http://h/{order_no}'}, reconcile: {at: 10:30 Mars}}", "channel.mch_id query reconcile.at"},
		{"{kind: poll, channel: {account: ''}}", "channel.account"},
		{"{kind: order, kind: order, on_exhausted: alert}", "kind query close states close_states"},
	}
	for _, tt := range tests {
		_, err := Parse([]byte("queues: {a: " + tt.text + "}"))
		var problems Problems
		errors.As(err, &problems)
		var got []string
		for _, p := range problems {
			got = append(got, strings.TrimPrefix(p.Field, "queues.a."))
		}
		want := strings.Fields(tt.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: mistakes in %q; want %q", tt.text, got, want)
		}
	}
}

// The platform keys of WeChat Pay are configured, fetched, or both.
func TestPlatformKeys(t *testing.T) {
	parse := func(fields string) (*Config, error) {
		return Parse([]byte(`queues: {wx: {kind: order, on_exhausted: close, channel: {kind: wechatpay, mch_id: "1", private_key: "env:KEY", ` + fields + `}}}`))
	}
	for fields, want := range map[string]struct {
		keys  int
		fetch bool
	}{
		`serial: ABC, platform_keys: fetch, api_v3_key: "env:V3"`:                                                      {0, true},
		`certificate: "env:CERT", platform_keys: {certificates: fetch, PUB_KEY_ID_1: "env:KEY"}, api_v3_key: "env:V3"`: {1, true},
		`serial: ABC, platform_keys: {PUB_KEY_ID_1: "env:KEY"}`:                                                        {1, false},
	} {
		c, err := parse(fields)
		if err != nil {
			t.Errorf("%s: %v", fields, err)
			continue
		}
		if got := c.Queues[0].Order.Channel; len(got.PlatformKeys) != want.keys || got.FetchKeys != want.fetch {
			t.Errorf("%s: %+v; want %+v", fields, got, want)
		}
	}
	for fields, want := range map[string]string{
		`serial: ABC, platform_keys: fetch`:                                         "api_v3_key: is missing: want the APIv3 key",
		`serial: ABC, platform_keys: download, api_v3_key: "env:V3"`:                `platform_keys: "download": want the word fetch`,
		`serial: ABC, platform_keys: {certificates: "env:C"}, api_v3_key: "env:V3"`: `platform_keys.certificates: "env:C": want the word fetch`,
		`platform_keys: fetch, api_v3_key: "env:V3"`:                                "serial: is missing: want the serial number of the merchant's certificate, or certificate",
		`serial: ABC, platform_keys: {}, api_v3_key: "env:V3"`:                      "platform_keys: is missing",
	} {
		if _, err := parse(fields); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", fields, err, want)
		}
	}
}
