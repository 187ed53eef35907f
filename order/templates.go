package order

import (
	"maps"
	"slices"
)

// templates are the forms in which platforms that merchants already know tell their results, by
// name. The order's vars have what bellman does not know, under the platform's own names.
//
//   - jeepay: QueryPayOrderRS as PayMchNotifyService.createNotifyUrl fills it, sent as a form by
//     PayOrderMchNotifyMQReceiver. States: 2 paid, 3 failed, 4 revoked, 5 refunded, 6 closed.
//   - jeepay_refund: QueryRefundOrderRS, for a queue of kind poll. States: 2 done, 3 failed.
//     https://github.com/jeequan/jeepay at ba37111, jeepay-payment/src/main/java/com/jeequan/jeepay/pay
//   - roncoo: RpTradePaymentManagerServiceImpl.getMerchantNotifyUrl, sent as a GET by NotifyTask. TradeStatusEnum has the
//     values of tradeStatus: an order that is UNKNOWN may be paid, so it is not CANCELED.
//     https://github.com/roncoo/roncoo-pay at 9428382, roncoo-pay-service and roncoo-pay-app-notify
//
// roncoo-pay writes an amount as its database keeps it, with six decimals. Here an amount has the
// decimals of its currency.
var templates = map[string]Template{
	"jeepay": {Format: "form", Fields: []Field{
		{"payOrderId", `channel_order_no`},
		{"mchNo", `merchant_no`},
		{"appId", `vars.appId`},
		{"mchOrderNo", `order_no`},
		{"ifCode", `vars.ifCode`},
		{"wayCode", `vars.wayCode`},
		{"amount", `has(json.amount) ? json.amount : order_amount`},
		{"currency", `(has(json.currency) ? string(json.currency) : order_currency).lowerAscii()`},
		{"state", `order_state == "PAID" ? 2 : order_state == "FAILED" ? 3 : order_state == "REVOKED" ? 4 : order_state == "PAID_REFUNDED" ? 5 : order_state == "CLOSED" ? 6 : 1`},
		{"clientIp", `vars.clientIp`},
		{"subject", `vars.subject`},
		{"body", `vars.body`},
		{"channelOrderNo", `transaction_id`},
		{"errCode", `vars.errCode`},
		{"errMsg", `vars.errMsg`},
		{"extParam", `vars.extParam`},
		{"successTime", `unix_ms(paid_at)`},
		{"createdAt", `unix_ms(created_at)`},
		{"reqTime", `unix_ms(has(json.found_at) ? string(json.found_at) : string(decided_at))`},
	}},
	"jeepay_refund": {Format: "form", Fields: []Field{
		{"refundOrderId", `ref_no`},
		{"payOrderId", `channel_order_no`},
		{"mchNo", `merchant_no`},
		{"appId", `vars.appId`},
		{"mchRefundNo", `vars.mchRefundNo`},
		{"payAmount", `vars.total`},
		{"refundAmount", `has(json.amount) ? string(json.amount) : vars.amount`},
		{"currency", `has(json.currency) ? string(json.currency).lowerAscii() : vars.currency.lowerAscii()`},
		{"state", `json.state == "DONE" ? 2 : 3`},
		{"channelOrderNo", `channel_ref_no`},
		{"errMsg", `fail_reason`},
		{"extParam", `vars.extParam`},
		{"successTime", `unix_ms(finished_at)`},
		{"createdAt", `unix_ms(created_at)`},
		{"reqTime", `unix_ms(decided_at)`},
	}},
	"roncoo": {Format: "query", Fields: []Field{
		{"payKey", `vars.payKey`},
		{"productName", `vars.productName`},
		{"orderNo", `order_no`},
		{"orderPrice", `has(json.amount) ? major(amount, currency) : major(order_amount, order_currency)`},
		{"payWayCode", `vars.payWayCode`},
		{"tradeStatus", `order_state == "PAID" ? "SUCCESS" : order_state == "FAILED" ? "FAILED" : order_state == "UNKNOWN" ? "WAITING_PAYMENT" : "CANCELED"`},
		{"orderDate", `local_time(created_at, "Asia/Shanghai", "yyyyMMdd")`},
		{"orderTime", `local_time(created_at, "Asia/Shanghai", "yyyyMMddHHmmss")`},
		{"remark", `vars.remark`},
		{"trxNo", `has(json.trx_no) ? string(json.trx_no) : channel_order_no`},
	}},
}

// TemplateNames lists the names of the templates that are built in.
func TemplateNames() []string { return slices.Sorted(maps.Keys(templates)) }

// TemplateNamed returns a template that is built in. known is false if there is none of that name.
func TemplateNamed(name string) (t Template, known bool) {
	t, known = templates[name]
	t.Fields = slices.Clone(t.Fields)
	return t, known
}
