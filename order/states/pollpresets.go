package states

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

// Marks in Source: [off] the provider's own documentation; [comm] community text or a copy of a
// document; [unconfirmed] not seen in a source.
var pollPresets = []PollPreset{
	{
		Name: "wechat_refund",
		Source: "[off] WeChat Pay v3, GET /v3/refund/domestic/refunds/{out_refund_no} (pay.weixin.qq.com/doc/v3/merchant/4013071041): status, code. " +
			"[unconfirmed] that RESOURCE_NOT_EXISTS always means that no refund was accepted",
		query: func(r reply) pollFinding {
			return wechatPoll(r, "status", wechatRefunds, pollFields{no: r.text("refund_id"), paid: smallest(r.word("amount", "refund"), r.text("amount", "currency")), at: timed(time.RFC3339, r.text("success_time"))})
		},
	},
	{
		Name: "wechat_v2_refund",
		Source: "[off] WeChat Pay v2, refundquery by out_refund_no (pay.weixin.qq.com/wiki/doc/api, chapter 9_5, and wxpay_v2/open/chapter7_5): return_code, result_code, err_code, refund_status_0. " +
			"[comm] the spelling of REFUNDCLOSE and CHANGE, as public code has them. [unconfirmed] that REFUNDNOTEXIST always means that no refund was accepted",
		parse: either(ParseXML),
		query: wechatV2Refund,
	},
	{
		Name: "wechat_transfer",
		Source: "[comm] WeChat Pay v3, GET /v3/fund-app/mch-transfer/transfer-bills/out-bill-no/{out_bill_no}, values as public SDKs have them: state, fail_reason. " +
			"[comm] NOT_FOUND, which a transfer that is still being accepted answers, too (jeepay)",
		query: func(r reply) pollFinding {
			return wechatPoll(r, "state", wechatTransfers, pollFields{no: r.text("transfer_bill_no"), paid: smallest(r.word("transfer_amount"), "CNY"), why: r.text("fail_reason"), at: timed(time.RFC3339, r.text("update_time"))})
		},
	},
	{
		Name: "wechat_profitsharing",
		Source: "[comm] WeChat Pay v3, GET /v3/profitsharing/orders/{out_order_no}: state, receivers[].result. " +
			"Our choice: one receiver that is CLOSED makes it failed, because somebody did not get the money. " +
			"[comm] the rest that is unfrozen for the merchant itself is a receiver described as 解冻给分账方; the amount leaves it out",
		query: wechatSharing,
	},
	{
		Name: "alipay_refund",
		Source: "[off] Alipay, alipay.trade.fastpay.refund.query (opendocs.alipay.com/open/02ekfl): code, sub_code, refund_status. " +
			"10000 without refund_status and refund_amount says that no refund was made; Alipay's document advises to request it again under the same number",
		query: alipayRefund,
	},
	{
		Name: "alipay_transfer",
		Source: "[off] Alipay, alipay.fund.trans.common.query (opendocs.alipay.com/open/309): code, sub_code, status, fail_reason. " +
			"A transfer to a bank card can change from SUCCESS to REFUND later; that is not polled for, but a notice of it causes a query. [unconfirmed] WAIT_PAY and INVALID",
		query: alipayTransfer,
	},
	{
		Name: "unionpay_refund",
		Source: "[off] UnionPay, transaction status query of a refund's own orderId and txnTime (open.unionpay.com, queryTrans.do): respCode, origRespCode; form or JSON. " +
			"[comm] the meaning of 03, 04, 05 and 34, from the comments of UnionPay's demo; of 42, 70, 74, 75, 83 and A6, from copies of its list of response codes",
		parse: either(parseForm),
		query: unionpayRefund,
	},
	{
		Name: "stripe_refund",
		Source: "[off] Stripe, GET /v1/refunds/{id} (docs.stripe.com/api/refunds/object): object, status, failure_reason, error.code. " +
			"[unconfirmed] Stripe's document says that a refund can change from succeeded to failed; that is not polled for, but a notice of it causes a query",
		query: stripeRefund,
	},
	{
		Name: "adyen_refund",
		Source: "[unconfirmed] Adyen answers a refund with status received and tells the rest by webhook (docs.adyen.com/online-payments/refund); it has no query. " +
			"The preset reads what a gateway of your own keeps of the webhook: eventCode, success, reason",
		query: adyenRefund,
	},
	{
		Name: "antom_refund",
		Source: "[off] Antom, inquiryRefund (docs.antom.com/ac/ams/ir_online): result.resultStatus, result.resultCode, refundStatus, refundTime (gmtRefundTime in older versions). " +
			"[unconfirmed] the code REFUND_NOT_EXIST",
		query: antomRefund,
	},
}

var wechatRefunds = map[string]state{
	"SUCCESS":    {poll.Done, ""},
	"CLOSED":     {poll.FailedThere, ""},
	"PROCESSING": {poll.Waiting, ""},
	"ABNORMAL":   {poll.FailedThere, "the refund is ABNORMAL: the payer's account cannot take it, and a person must pay it back another way"},
}

var wechatTransfers = map[string]state{
	"SUCCESS":           {poll.Done, ""},
	"FAIL":              {poll.FailedThere, ""},
	"CANCELLED":         {poll.FailedThere, ""},
	"ACCEPTED":          {poll.Waiting, ""},
	"PROCESSING":        {poll.Waiting, ""},
	"WAIT_USER_CONFIRM": {poll.Waiting, ""},
	"TRANSFERING":       {poll.Waiting, ""}, // WeChat's own spelling
	"CANCELING":         {poll.Waiting, ""},
}

// wechatV2Refunds are the values of refund_status_n.
var wechatV2Refunds = map[string]state{
	"SUCCESS":     {poll.Done, ""},
	"REFUNDCLOSE": {poll.FailedThere, ""},
	"PROCESSING":  {poll.Waiting, ""},
	"CHANGE":      wechatRefunds["ABNORMAL"],
}

// wechatV2Refund reads the answer about one refund. A query by out_refund_no answers one; several
// are not read.
func wechatV2Refund(r reply) pollFinding {
	code, why := wechatCode(r, true)
	status := r.text("refund_status_0")
	switch {
	case why != "":
		return pollFinding{throttled: wechatThrottles(code), why: why}
	case !isWeChatSuccess(code) && status != "":
		return pollFinding{throttled: wechatThrottles(code), why: "the answer contradicts itself: code " + cut(code) + " and refund_status_0 " + cut(status)}
	case code == "REFUNDNOTEXIST":
		return pollFinding{reading: poll.NotFound}
	case !isWeChatSuccess(code):
		return pollFinding{throttled: wechatThrottles(code), why: "code " + cut(code)}
	case r.field("refund_status_1") != nil:
		return unclearPoll("the answer is about several refunds")
	}
	return settled(wechatV2Refunds, "refund_status_0", status, pollFields{no: r.text("refund_id_0"),
		paid: smallest(r.word("refund_fee_0"), cmp.Or(r.text("refund_fee_type_0"), r.text("fee_type"), "CNY")), at: timed(time.DateTime, r.text("refund_success_time_0"))})
}

// wechatPoll reads an answer whose state stands in one field.
func wechatPoll(r reply, name string, states map[string]state, t pollFields) pollFinding {
	code, value := r.word("code"), r.text(name)
	switch {
	case isWeChatSuccess(code):
		return settled(states, name, value, t)
	case value != "":
		return pollFinding{throttled: wechatThrottles(code), why: "the answer contradicts itself: code " + cut(code) + " and " + name + " " + cut(value)}
	case code == "RESOURCE_NOT_EXISTS" || code == "NOT_FOUND":
		return pollFinding{reading: poll.NotFound}
	}
	return pollFinding{throttled: wechatThrottles(code), why: "code " + cut(code)}
}

// released is WeChat Pay's description of the rest of a payment, which goes to the merchant itself
// when the rest is unfrozen. It stands among the receivers, as answers in public code show.
const released = "解冻给分账方"

// wechatSharing reads the answer about a profit sharing, which has a result for each receiver. The
// rest that goes to the merchant itself counts in the amount only if it is alone. If one share
// cannot be read, the amount is absent.
func wechatSharing(r reply) pollFinding {
	f := wechatPoll(r, "state", map[string]state{"PROCESSING": {poll.Waiting, ""}, "FINISHED": {poll.Done, ""}}, pollFields{no: r.text("order_id")})
	if f.reading != poll.Done {
		return f
	}
	receivers, _ := r.field("receivers").([]any)
	if len(receivers) == 0 {
		return unclearPoll("it is FINISHED and names no receiver")
	}
	total, known := int64(0), true
	var last string
	for _, one := range receivers {
		o := objectOf(one)
		paid := smallest(o.word("amount"), "CNY")
		if len(receivers) > 1 && o.text("type") == "MERCHANT_ID" && o.text("description") == released {
			paid = sum{known: true}
		}
		switch result := o.text("result"); result {
		case "SUCCESS":
			known = known && paid.known && paid.amount <= math.MaxInt64-total
			total += paid.amount
		case "CLOSED":
			f.reading, f.taken["fail_reason"] = poll.FailedThere, o.text("fail_reason")
		default:
			return unclearPoll("it is FINISHED, and the result of a receiver is %.40q", result)
		}
		last = max(last, timed(time.RFC3339, o.text("finish_time")))
	}
	if known {
		f.taken["amount"], f.taken["currency"] = total, "CNY"
	}
	if last != "" {
		f.taken["finished_at"] = last
	}
	return f
}

func alipayRefund(r reply) pollFinding {
	r = unwrap(r, "alipay_trade_fastpay_refund_query_response")
	if r.unread != nil {
		return unclearPoll("%s", r.unread)
	}
	code, sub, status := r.word("code"), r.text("sub_code"), r.text("refund_status")
	switch {
	case code == "10000" && sub == "":
	case status != "":
		return pollFinding{throttled: alipayThrottles(code, sub), why: "the answer contradicts itself: " + alipayWhy(code, sub) + " and refund_status " + cut(status)}
	case code == "40004" && sub == "ACQ.TRADE_NOT_EXIST":
		return pollFinding{reading: poll.NotFound}
	default:
		return pollFinding{throttled: alipayThrottles(code, sub), why: alipayWhy(code, sub)}
	}
	switch {
	case status == "" && r.word("refund_amount") == "":
		return pollFinding{reading: poll.NotFound}
	case status == "":
		return pollFinding{reading: poll.Waiting}
	}
	return settled(map[string]state{"REFUND_SUCCESS": {poll.Done, ""}}, "refund_status", status,
		pollFields{no: r.text("trade_no"), paid: whole(r.word("refund_amount"), "CNY"), at: timed(time.DateTime, r.text("gmt_refund_pay"))})
}

var alipayTransfers = map[string]state{
	"SUCCESS":  {poll.Done, ""},
	"FAIL":     {poll.FailedThere, ""},
	"CLOSED":   {poll.FailedThere, ""},
	"REFUND":   {poll.FailedThere, ""}, // the bank sent the money back
	"DEALING":  {poll.Waiting, ""},
	"INIT":     {poll.Waiting, ""},
	"UNKNOWN":  {poll.Waiting, ""},
	"WAIT_PAY": {poll.Waiting, ""},
}

func alipayTransfer(r reply) pollFinding {
	r = unwrap(r, "alipay_fund_trans_common_query_response")
	if r.unread != nil {
		return unclearPoll("%s", r.unread)
	}
	code, sub, status := r.word("code"), r.text("sub_code"), r.text("status")
	switch {
	case code == "10000" && sub == "":
		return settled(alipayTransfers, "status", status, pollFields{no: r.text("order_id"), paid: whole(r.word("trans_amount"), "CNY"),
			why: r.text("fail_reason"), at: timed(time.DateTime, r.text("pay_date"))})
	case status != "":
		return pollFinding{throttled: alipayThrottles(code, sub), why: "the answer contradicts itself: " + alipayWhy(code, sub) + " and status " + cut(status)}
	case code == "40004" && sub == "ORDER_NOT_EXIST":
		return pollFinding{reading: poll.NotFound}
	}
	return pollFinding{throttled: alipayThrottles(code, sub), why: alipayWhy(code, sub)}
}

// unionpayRefund reads the answer to a status query about a refund, which is a back trade: there is
// no pay timeout.
func unionpayRefund(r reply) pollFinding {
	t := pollFields{no: r.word("queryId"), state: r.word("origRespCode"), paid: smallest(r.word("txnAmt"), r.word("currencyCode"))}
	switch f := unionpayQuery(r, false, false); f.reading {
	case order.Paid:
		return pollFinding{reading: poll.Done, taken: t.taken()}
	case order.Failed:
		t.why = r.text("origRespMsg")
		return pollFinding{reading: poll.FailedThere, taken: t.taken()}
	case order.Pending:
		return pollFinding{reading: poll.Waiting}
	case order.NotFound:
		return pollFinding{reading: poll.NotFound}
	default:
		return pollFinding{throttled: f.throttled, why: f.why}
	}
}

var stripeRefunds = map[string]state{
	"succeeded":       {poll.Done, ""},
	"failed":          {poll.FailedThere, ""},
	"canceled":        {poll.FailedThere, ""},
	"pending":         {poll.Waiting, ""},
	"requires_action": {poll.Waiting, ""},
}

func stripeRefund(r reply) pollFinding {
	code := r.text("error", "code")
	switch {
	case r.field("error") != nil && code == "resource_missing":
		return pollFinding{reading: poll.NotFound}
	case r.field("error") != nil:
		return pollFinding{throttled: stripeThrottles(code), why: "error.code " + cut(code)}
	case r.text("object") != "refund":
		return unclearPoll("object is %.40q: want refund", r.text("object"))
	}
	return settled(stripeRefunds, "status", r.text("status"), pollFields{no: r.text("id"), paid: smallest(r.word("amount"), r.text("currency")).rescaled(stripeDecimals), why: r.text("failure_reason")})
}

// adyenDecimals are those that ISO 4217 has otherwise
// (docs.adyen.com/development-resources/currency-codes).
var adyenDecimals = map[string]int{"CLP": 2, "CVE": 0, "IDR": 0, "ISK": 2}

func adyenRefund(r reply) pollFinding {
	paid := smallest(r.word("amount", "value"), r.text("amount", "currency")).rescaled(adyenDecimals)
	t := pollFields{no: r.text("pspReference"), paid: paid, why: r.text("reason"), at: timed(time.RFC3339, r.text("eventDate"))}
	event, success := r.text("eventCode"), r.text("success")
	if b, is := r.field("success").(bool); is {
		success = map[bool]string{true: "true", false: "false"}[b]
	}
	switch {
	case event == "" && r.text("status") == "received":
		return pollFinding{reading: poll.Waiting}
	case event == "":
		return unclearPoll("status is %.40q, and there is no eventCode", r.text("status"))
	case event == "REFUND":
		event += " " + success
	}
	return settled(map[string]state{
		"REFUND true": {poll.Done, ""}, "REFUND false": {poll.FailedThere, ""},
		"REFUND_FAILED": {poll.FailedThere, ""}, "REFUNDED_REVERSED": {poll.FailedThere, ""},
	}, "eventCode", event, t)
}

var antomRefunds = map[string]state{"SUCCESS": {poll.Done, ""}, "FAIL": {poll.FailedThere, ""}, "PROCESSING": {poll.Waiting, ""}}

func antomRefund(r reply) pollFinding {
	result, code := r.text("result", "resultStatus"), r.text("result", "resultCode")
	switch {
	case result == "F" && code == "REFUND_NOT_EXIST":
		return pollFinding{reading: poll.NotFound}
	case result != "S":
		return pollFinding{throttled: code == "REQUEST_TRAFFIC_EXCEED_LIMIT", why: antomWhy(result, code)}
	}
	return settled(antomRefunds,
		"refundStatus", strings.ToUpper(r.text("refundStatus")),
		pollFields{no: r.text("refundId"), paid: smallest(r.word("refundAmount", "value"), r.text("refundAmount", "currency")), at: timed(time.RFC3339, cmp.Or(r.text("refundTime"), r.text("gmtRefundTime")))})
}
