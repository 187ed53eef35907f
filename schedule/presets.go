package schedule

import "slices"

// Default is the schedule of a queue that names none.
const Default = "wechat_notify"

// Marks in Source: [off] the provider's own documentation; [code] public source code; [comm]
// community text or a copy of a document; [unconfirmed] no source seen.
var presets = slices.Concat(
	ofKind(Notify, []Preset{
		{
			Name:   "wechat_notify",
			Text:   "0s, 15s*2, 30s, 3m, 10m, 20m, 30m*3, 1h, 3h*3, 6h*2",
			Source: "[off] pay.weixin.qq.com/docs/partner/apis/partner-native-payment/payment-notice.html, pay.weixin.qq.com/doc/v2/merchant/4011937248",
			Note:   "16 attempts, 24h4m; what WeChat's v2 and v3 payment notices follow",
		},
		{
			Name:   "wechat_notify_legacy",
			Text:   "0s, 15s*2, 30s, 3m, 30m*4, 1h",
			Source: "[off] pay.weixin.qq.com/doc/global/v3/zh/4014096450 (payscore, global)",
			Note:   "10 attempts; many Chinese gateways copied it",
		},
		{
			Name:   "alipay_notify",
			Text:   "0s, 4m, 10m*2, 1h, 2h, 6h, 15h",
			Source: "[comm] copies of docs.open.alipay.com/270/105902",
			Note:   "8 attempts; the text says \"25 hours\", the gaps sum to 24h24m",
		},
		{
			Name:   "alipay_notify_burst",
			Text:   "0s, 1s*3, 4m, 10m*2, 1h, 2h, 6h, 15h",
			Source: "[comm] hexdocs.pm/alipay_sdk Alipay.Plug.EventHandler, quoting newer documentation",
			Note:   "the newer text has three immediate resends first; the gap of 1s between them is our choice",
		},
		{
			Name:   "alipay_intl_notify",
			Text:   "0s, 2m, 10m*2, 1h, 2h, 6h, 15h",
			Source: "[off] docs.antom.com/ac/web/async, docs.antom.com/ac/wap_hk/asyncnotif (Antom legacy)",
		},
		{
			Name:   "roncoo_notify",
			Text:   "0s, 1m, 2m, 5m, 15m",
			Source: `[code] roncoo-pay, notify_rule {"1":0,"2":1,"3":2,"4":5,"5":15} in minutes`,
		},
		{
			Name:   "jeepay_notify",
			Text:   "0s, 30s, 1m, 1m30s, 2m, 2m30s",
			Source: "[code] jeepay",
		},
		{
			Name:   "xxpay_notify",
			Text:   "0s, 1m, 2m, 3m, 4m, 5m",
			Source: "[code] xxpay",
		},
		{
			Name:   "hyperswitch_webhook",
			Text:   "0s, 1m, 5m*2, 10m*5, 1h*5, 6h*3",
			Source: "[code] hyperswitch",
			Note:   "17 attempts, the last 24h1m after the first",
		},
		{
			Name:   "killbill_push",
			Text:   "0s, 15m, 30m, 2h, 12h, 24h",
			Source: "[code] killbill",
		},
		{
			Name:   "adyen_webhook",
			Text:   "0s, 9s, 18s, 27s, 2m, 5m, 10m, 15m, 30m, 1h, 2h, 4h, 8h*; max 30d",
			Source: "[off] docs.adyen.com/development-resources/webhooks/troubleshoot",
			Note:   "that the last gap repeats is inferred from \"for up to 30 days\"; the first three, read as gaps here, may be meant as offsets",
		},
		{
			Name:   "stripe_like",
			Text:   "0s, 5m, 30m, 2h, 4h, 8h, 16h, 24h*; max 72h",
			Source: "UNOFFICIAL: Stripe publishes only \"exponential, up to 3 days\"; [comm] dev.to/shannonllc",
			Note:   "UNOFFICIAL, hence _like; the list goes on in \"...\" after 24h: read as 24h again, of which only the first fits into 72h, so there are 8 attempts, the last at 54h35m",
		},
		{
			Name:   "nmi_webhook",
			Text:   "0s, 15s, 1m*3, 5m, 15m, 30m, 1h*10, 12h*2, 24h",
			Source: "[off] docs.nmi.com/reference/retry-logic",
			Note:   "the first attempt and 20 retries",
		},
		{
			Name:   "payermax_notify",
			Text:   "0s, 30s, 5m, 10m, 1h, 12h",
			Source: "[off] docs.payermax.com (collection)",
		},
		{
			Name:   "payermax_payout",
			Text:   "0s, 10s, 30s, 1m, 2m, 5m, 1h, 2h, 5h, 15h",
			Source: "[off] docs.payermax.com (payout)",
		},
		{
			Name:   "useepay_notify",
			Text:   "0s, 1m, 3m, 5m, 10m, 15m*2, 30m, 1h",
			Source: "[off] useepay.gitbook.io",
		},
		{
			Name:   "alipay_style_1m",
			Text:   "0s, 1m, 5m, 10m, 1h, 2h, 6h, 15h",
			Source: "[comm] kancloud.cn/dianfu/pay_doc/592252 (典付)",
		},
		{
			Name:   "retry_5_10_30",
			Text:   "5s, 10s, 30s",
			Source: "the article on retrying an asynchronous notification: delayed messages after 5, 10, 30 s",
			Note:   "the first attempt comes after 5s: the caller has tried once itself",
		},
	}),
	ofKind(Poll, []Preset{
		{
			Name:        "order_poll",
			Text:        "3s*20, 1m*2, 2m, 3m, 5m*; max 30m",
			OnExhausted: "close",
			Source:      "the article on polling with a pool and a delay queue, its text",
			Note:        "the text lists 13 minutes of gaps and a cap of 30: that the last gap repeats until then is our reading; order_poll_10m is its code",
		},
		{
			Name:        "order_poll_10m",
			Text:        "@ 3s, 6s, 9s, 12s, 15s, 18s, 21s, 24s, 27s, 30s, 33s, 36s, 39s, 42s, 45s, 48s, 51s, 54s, 57s, 60s, 90s, 2m, 3m, 5m, 10m",
			OnExhausted: "alert",
			Source:      "the article on polling with a pool and a delay queue, its code",
			Note:        "the code stops without a word after 10 minutes; alert is ours, as no order may be forgotten in silence",
		},
		{
			Name:        "wechat_query_plan1",
			Text:        "5s, 30s, 1m, 3m, 5m, 10m, 30m",
			OnExhausted: "close",
			Source:      "[off] pay.weixin.qq.com/docs/merchant/products/query-order/callback-and-query-order.html, plan 1",
			Note:        "the figures read as gaps (last query at 49m35s); wechat_query_plan1_offsets reads them as offsets",
		},
		{
			Name:        "wechat_query_plan1_offsets",
			Text:        "@ 5s, 30s, 1m, 3m, 5m, 10m, 30m",
			OnExhausted: "close",
			Source:      "[off] pay.weixin.qq.com/docs/merchant/products/query-order/callback-and-query-order.html, plan 1",
			Note:        "the figures read as offsets (last query at 30m); wechat_query_plan1 reads them as gaps",
		},
		{
			Name:        "wechat_query_plan2",
			Text:        "30s*10; max 10m",
			OnExhausted: "close",
			Source:      "[off] pay.weixin.qq.com/docs/merchant/products/query-order/callback-and-query-order.html, plan 2",
			Note:        "WeChat's is a job over the orders of the last 10 minutes; here each order counts for itself",
		},
		{
			Name:   "wechat_native_front",
			Text:   "2s*30; max 60s",
			Source: "[off] pay.weixin.qq.com/docs/merchant/products/query-order/callback-and-query-order.html, front end of Native",
		},
		{
			Name:        "wechat_micropay",
			Text:        "5s*6; max 45s",
			OnExhausted: "reverse",
			Source:      "[off] pay.weixin.qq.com/doc/global/v2/zh/4013637903: every 3 to 5 s, within 45 s",
			Note:        "reverse no earlier than 15 s after the payment; the 5s are the wait that USERPAYING asks for",
		},
		{
			Name:   "wechat_f2f",
			Text:   "@ 10s, 20s, 30s, 40s, 50s, 60s, 80s, 100s, 2m, 4m, 6m, 8m, 10m, 15m, 20m, 25m, 30m, 35m, 40m, 45m, 50m, 55m, 60m, 65m",
			Source: "[off] pay.weixin.qq.com/doc/v3/merchant/4012268557 (face-to-face mini-program)",
		},
		{
			Name:        "alipay_instore",
			Text:        "5s, 3s*18; max 60s",
			OnExhausted: "reverse",
			Source:      "[off] docs.antom.com/ac/barcode_cn/practice, docs.antom.com/ac/globalbarcode/practice",
			Note:        "what Alipay calls cancel refunds what was paid: reverse; an order that still reads WAIT_BUYER_PAY must be cancelled",
		},
		{
			Name:        "alipay_f2f_demo",
			Text:        "5s*5",
			OnExhausted: "reverse",
			Source:      "[comm] Alipay's face-to-face demo: max_query_retry 5, query_duration 5000",
			Note:        "the demo cancels up to 3 times, 2s apart",
		},
		{
			Name:   "unionpay_front",
			Text:   "5m, 10m, 30m, 1h, 2h",
			Source: "[code] comments of UnionPay's own demo, front-end trades",
			Note:   "the figures read as gaps; the text may mean offsets: unionpay_front_offsets",
		},
		{
			Name:   "unionpay_front_offsets",
			Text:   "@ 5m, 10m, 30m, 1h, 2h",
			Source: "[code] comments of UnionPay's own demo, front-end trades",
			Note:   "the figures read as offsets; the text may mean gaps: unionpay_front",
		},
		{
			Name:   "unionpay_back",
			Text:   "1s, 2s, 4s, 8s, 16s, 32s",
			Source: "[code] comments of UnionPay's own demo, back-end trades",
			Note:   "ask on only while the answer is 03, 04 or 05: that is for the rule to say",
		},
		{
			Name:   "roncoo_poll",
			Text:   "2s, 3s, 5s, 10s, 20s, 30s",
			Source: "[code] roncoo-pay",
		},
		{
			Name:   "jeepay_poll",
			Text:   "5s*6, @10m, 1m*",
			Source: "[code] jeepay: six queries, then a scan each minute over orders older than 10 minutes",
			Note:   "without end: give the task a max age, or the order an expiry",
		},
		{
			Name:   "daxpay_sync",
			Text:   "1m* until 10m, 10m* until 1h, 1h* until 24h, 24h*",
			Source: "[code] dax-pay, refund synchronisation",
			Note:   "ages count from the start of the schedule, to be the creation of the trade; dax-pay's code for payments counts from their expiry; without end: give the task a max age",
		},
		{
			Name:   "hyperswitch_psync",
			Text:   "1m, 5m*5",
			Source: "[code] hyperswitch",
		},
		{
			Name:   "hyperswitch_psync_pm",
			Text:   "15m, 5m*5",
			Source: "[code] hyperswitch, by payment method",
		},
		{
			Name:   "killbill_unknown",
			Text:   "5m, 1h, 24h*5",
			Source: "[code] killbill, payments in state UNKNOWN",
		},
		{
			Name:   "killbill_pending",
			Text:   "1h, 24h",
			Source: "[code] killbill, payments in state PENDING",
		},
	}),
	ofKind(Poll, []Preset{
		{
			Name:   "wechat_refund",
			Text:   "1m*5, 5m, 10m, 20m, 30m*; max 5d",
			Source: "[off] pay.weixin.qq.com/doc/v3/merchant/4013071041: each minute, after five minutes slower, such as 5, 10, 20 and 30 minutes",
			Note:   "for a queue of kind poll; five days are our choice: three working days and a weekend",
		},
		{
			Name:   "wechat_transfer",
			Text:   "10s, 30s, 1m*5, 5m, 10m, 20m, 30m*; max 3d",
			Source: "[unconfirmed] the document says only that a transfer can be queried for 30 days",
			Note:   "for a queue of kind poll; all figures are our choice: a payer has 24 hours to confirm",
		},
		{
			Name:   "wechat_profitsharing",
			Text:   "1m*5, 5m, 10m, 20m, 30m*; max 2d",
			Source: "[comm] each minute for five minutes, then slower",
			Note:   "for a queue of kind poll; what follows the first five minutes is our choice",
		},
		{
			Name:   "alipay_refund",
			Text:   "30s*10, 5m, 10m, 20m, 30m*; max 24h",
			Source: "[comm] each 30 seconds for five minutes, then slower, for a day; [off] not within 10 seconds of the refund",
			Note:   "for a queue of kind poll",
		},
		{
			Name:   "alipay_transfer",
			Text:   "1m*10, 10m*; max 3d",
			Source: "[comm] each minute for ten minutes, then each ten minutes, for three days",
			Note:   "for a queue of kind poll",
		},
	}),
	ofKind(Close, []Preset{
		{
			Name:        "order_close_15m",
			Text:        "15m, 5s, 15s, 30s, 1m, 5m*; max 24h",
			OnExhausted: "alert",
			Source:      "the article on closing unpaid orders: after 15 or 30 minutes",
			Note:        "what follows the first attempt is our choice: a close that failed is tried again, for a day",
		},
		{
			Name:        "order_close_30m",
			Text:        "30m, 5s, 15s, 30s, 1m, 5m*; max 24h",
			OnExhausted: "alert",
			Source:      "the article on closing unpaid orders: after 15 or 30 minutes",
			Note:        "what follows the first attempt is our choice: a close that failed is tried again, for a day",
		},
		{
			Name:        "order_close_2h",
			Text:        "2h, 5s, 15s, 30s, 1m, 5m*; max 24h",
			OnExhausted: "alert",
			Source:      "[code] jeepay's default expiry",
			Note:        "what follows the first attempt is our choice: a close that failed is tried again, for a day",
		},
	}))

func ofKind(kind Kind, these []Preset) []Preset {
	for i := range these {
		these[i].Kind = kind
	}
	return these
}
