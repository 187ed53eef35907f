package states

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman/order"
)

// WeChat Pay. Values: query order v2 (pay.weixin.qq.com/wiki/doc/api, chapter 9_2)
// and v3 (pay.weixin.qq.com/doc/v3/merchant/4013070356); close order v2 (9_3) and
// v3 (pay.weixin.qq.com/doc/v3/merchant/4012556398, wiki/doc/apiv3, chapter
// 3_4_3), whose lists spell some codes with an underscore and some without.
//
// Both presets also read the same fields as JSON, as a gateway of the platform's own may pass them
// on. Only v2 needs return_code and result_code.
var (
	wechatV2 = Preset{
		Name:   "wechat_v2",
		Source: "WeChat Pay v2, orderquery and closeorder: return_code, result_code, err_code, trade_state",
		parse:  either(ParseXML),
		unread: true,
		query:  func(r reply, _ bool) finding { return wechatQuery(r, true) },
		close:  func(r reply) closing { return wechatClose(r, true) },
	}
	wechatV3 = Preset{
		Name:   "wechat_v3",
		Source: "WeChat Pay v3, transactions/out-trade-no: HTTP status, code, trade_state",
		parse:  ParseJSON,
		unread: true,
		query:  func(r reply, _ bool) finding { return wechatQuery(r, false) },
		close:  func(r reply) closing { return wechatClose(r, false) },
	}
)

// payingWait is how long the payer gets to type a password. WeChat Pay's lists say of USERPAYING:
// wait 5 seconds, then query. An order with a wait is not closed.
const payingWait = 5 * time.Second

// wechatStates are the values of trade_state. REFUND means a paid order. Only micropay has
// PAYERROR.
var wechatStates = map[string]finding{
	"SUCCESS":    {reading: order.Paid},
	"REFUND":     {reading: order.PaidRefunded},
	"NOTPAY":     {reading: order.Pending},
	"USERPAYING": {reading: order.Pending, wait: payingWait},
	"ACCEPT":     {reading: order.Pending},
	"CLOSED":     {reading: order.Closed},
	"REVOKED":    {reading: order.Revoked},
	"PAYERROR":   {reading: order.Failed},
}

func wechatQuery(r reply, v2 bool) finding {
	if r.status == 202 && r.unread != nil {
		return finding{wait: payingWait, why: "HTTP status 202: the payer is just paying"}
	}
	if r.unread != nil {
		return unclear("%s", r.unread)
	}
	code, why := wechatCode(r, v2)
	state := r.text("trade_state")
	switch {
	case why != "":
		return finding{throttled: wechatThrottles(code), why: why}
	case isWeChatSuccess(code):
		f, known := wechatStates[state]
		if !known {
			return unclear("trade_state is %.40q", state)
		}
		if f.reading.IsPaid() {
			f.taken = wechatTaken(r)
		}
		return f
	case state != "":
		return finding{throttled: wechatThrottles(code), why: "the answer contradicts itself: code " + cut(code) + " and trade_state " + cut(state)}
	case code == "ORDERNOTEXIST" || code == "ORDER_NOT_EXIST":
		return finding{reading: order.NotFound}
	case code == "USERPAYING" || code == "USER_PAYING":
		if r.status > 299 {
			return finding{wait: payingWait, why: "code " + code}
		}
		return finding{reading: order.Pending, wait: payingWait}
	}
	return finding{throttled: wechatThrottles(code), why: "code " + cut(code)}
}

func wechatClose(r reply, v2 bool) closing {
	if !v2 && r.status == 204 {
		return closing{reading: order.CloseDone} // it has no body
	}
	if r.status == 202 && r.unread != nil {
		return closing{reading: order.CloseInFlight}
	}
	if r.unread != nil {
		return closing{why: r.unread.Error()}
	}
	code, why := wechatCode(r, v2)
	switch {
	case why != "":
		return closing{why: why}
	case isWeChatSuccess(code):
		if code != "SUCCESS" && r.text("result_code") != "SUCCESS" {
			return closing{why: "neither HTTP status 204 nor code or result_code SUCCESS"} // a gateway's 0 is about itself
		}
		if r.text("recall") == "Y" { // of a reverse: it must be called again
			return closing{reading: order.CloseInFlight}
		}
		return closing{reading: order.CloseDone}
	case wechatThrottles(code):
		// Seen while the payer had just typed the password, so no plain refusal.
		return closing{reading: order.CloseInFlight, throttled: true}
	}
	switch code {
	case "ORDERCLOSED", "ORDER_CLOSED":
		return closing{reading: order.CloseAlready}
	case "ORDERPAID", "ORDER_PAID":
		return closing{reading: order.ClosePaidHint}
	case "ORDERNOTEXIST", "ORDER_NOT_EXIST":
		return closing{reading: order.CloseNotExist}
	case "USERPAYING", "USER_PAYING", "SYSTEMERROR", "SYSTEM_ERROR", "BANKERROR", "BANK_ERROR":
		return closing{reading: order.CloseInFlight}
	}
	return closing{why: "code " + cut(code)}
}

// wechatCode returns the error code of an answer; empty: there is none, or it means success. why
// says why the answer has no usable code.
func wechatCode(r reply, v2 bool) (code, why string) {
	returned, result := r.text("return_code"), r.text("result_code")
	code = r.word("code")
	if errCode := r.word("err_code"); !isWeChatSuccess(errCode) {
		code = errCode
	}
	switch {
	case v2 && returned == "":
		return code, "no return_code"
	case returned != "" && returned != "SUCCESS":
		return code, "return_code " + cut(returned) + ": " + cut(r.text("return_msg"))
	case v2 && result == "":
		return code, "no result_code"
	case result != "" && result != "SUCCESS" && isWeChatSuccess(code):
		return code, "result_code " + cut(result) + " without err_code"
	}
	return code, ""
}

// isWeChatSuccess reports whether an error code means success: it is empty, or a value that
// gateways write instead.
func isWeChatSuccess(code string) bool {
	switch code {
	case "", "SUCCESS", "OK", "0", "200":
		return true
	}
	return false
}

// wechatThrottles knows the codes that ask for fewer requests.
func wechatThrottles(code string) bool {
	switch code {
	case "FREQUENCY_LIMITED", "FREQUENCY_LIMIT_EXCEEDED", "FREQUENCY_LIMIT_EXCEED",
		"RATELIMIT_EXCEEDED", "RATELIMIT_EXCEED", "RULELIMIT", "RULE_LIMIT":
		return true
	}
	return false
}

// wechatTaken reads amount.total, amount.currency and success_time of v3, total_fee, fee_type and
// time_end of v2. An amount is in fen. Both versions mean CNY where they name no currency.
func wechatTaken(r reply) order.Taken {
	amount := cmp.Or(r.word("amount", "total"), r.word("total_fee"))
	currency := cmp.Or(r.text("amount", "currency"), r.text("fee_type"), "CNY")
	at := cmp.Or(timed(time.RFC3339, r.text("success_time")), timed("20060102150405", r.word("time_end")))
	return taken(r.text("transaction_id"), smallest(amount, currency), at)
}

// cut shortens what a channel wrote, for one line of a log.
func cut(s string) string { return fmt.Sprintf("%.60q", s) }
