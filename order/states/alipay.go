package states

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/order"
)

// Alipay. Values: alipay.trade.query, .close and .cancel (opendocs.alipay.com, unified collection)
// and the gateway's common codes. TRADE_CLOSED with send_pay_date is read as in dax-pay: the order
// was paid, and refunded in full.
var alipay = Preset{
	Name:   "alipay",
	Source: "Alipay, alipay.trade.query, alipay.trade.close and alipay.trade.cancel: code, sub_code, trade_status; wrapped or bare",
	parse:  ParseJSON,
	query: func(r reply, _ bool) finding {
		r = unwrap(r, "alipay_trade_query_response")
		if r.unread != nil {
			return unclear("%s", r.unread)
		}
		return alipayQuery(r)
	},
	close: func(r reply) closing {
		r = unwrap(r, "alipay_trade_close_response", "alipay_trade_cancel_response")
		if r.unread != nil {
			return closing{why: r.unread.Error()}
		}
		return alipayClose(r)
	},
}

// unwrap returns the answer inside the object that Alipay puts it in. If a gateway has taken it
// out, unwrap returns the answer itself.
func unwrap(r reply, names ...string) reply {
	var wrapped []string
	for name := range r.fields {
		if name == "error_response" || strings.HasPrefix(name, "alipay_") && strings.HasSuffix(name, "_response") {
			wrapped = append(wrapped, name)
		}
	}
	switch len(wrapped) {
	case 0:
		return r
	case 1:
		if r.field("code") == nil && r.field("trade_status") == nil {
			break
		}
		fallthrough
	default:
		r.fields, r.unread = nil, errors.New("the answer is there twice")
		return r
	}
	for _, name := range append(names, "error_response") {
		if wrapped[0] == name {
			if r = r.within(name); r.fields == nil {
				r.unread = errors.New(name + " is not an object")
			}
			return r
		}
	}
	r.fields, r.unread = nil, errors.New("the answer is "+cut(wrapped[0])+": want "+names[0])
	return r
}

func alipayQuery(r reply) finding {
	code, sub, state := r.word("code"), r.text("sub_code"), r.text("trade_status")
	switch {
	case code == "10000" && sub == "":
	case state != "":
		return finding{throttled: alipayThrottles(code, sub), why: "the answer contradicts itself: " + alipayWhy(code, sub) + " and trade_status " + cut(state)}
	case code == "40004" && sub == "ACQ.TRADE_NOT_EXIST":
		// Until the payer scans the code or types the password.
		return finding{reading: order.NotFound}
	default:
		return finding{throttled: alipayThrottles(code, sub), why: alipayWhy(code, sub)}
	}
	f := finding{}
	switch state {
	case "TRADE_SUCCESS", "TRADE_FINISHED":
		f.reading = order.Paid
	case "WAIT_BUYER_PAY":
		f.reading = order.Pending
	case "TRADE_CLOSED":
		f.reading = order.Closed
		if r.word("send_pay_date") != "" {
			f.reading = order.PaidRefunded
		}
	default:
		return unclear("trade_status is %.40q", state)
	}
	if f.reading.IsPaid() {
		// total_amount is in trans_currency, which an order in yuan does not have.
		currency := cmp.Or(r.text("trans_currency"), "CNY")
		f.taken = taken(r.text("trade_no"), whole(r.word("total_amount"), currency), timed(time.DateTime, r.text("send_pay_date")))
	}
	return f
}

func alipayClose(r reply) closing {
	code, sub := r.word("code"), r.text("sub_code")
	throttled := alipayThrottles(code, sub)
	switch {
	case code == "10000" && sub == "":
		if r.text("retry_flag") == "Y" { // of a cancel: it must be called again
			return closing{reading: order.CloseInFlight}
		}
		if r.text("action") == "refund" { // of a cancel: it had been paid
			return closing{reading: order.CloseRefunded}
		}
		return closing{reading: order.CloseDone}
	case throttled, code == "20000":
		return closing{reading: order.CloseInFlight, throttled: throttled}
	case code != "40004":
		return closing{why: alipayWhy(code, sub)}
	}
	switch sub {
	case "ACQ.TRADE_NOT_EXIST":
		return closing{reading: order.CloseNotExist}
	case "ACQ.TRADE_HAS_CLOSE":
		return closing{reading: order.CloseAlready}
	case "ACQ.TRADE_STATUS_ERROR", "ACQ.REASON_TRADE_STATUS_INVALID", "ACQ.REASON_ILLEGAL_STATUS",
		"ACQ.TRADE_HAS_SUCCESS", "ACQ.TRADE_HAS_FINISHED":
		return closing{reading: order.ClosePaidHint}
	case "ACQ.SYSTEM_ERROR", "AQC.SYSTEM_ERROR": // the second is Alipay's own spelling
		return closing{reading: order.CloseInFlight}
	}
	return closing{why: alipayWhy(code, sub)}
}

// alipayThrottles knows 40005 (calls limited), and the same as a sub_code.
func alipayThrottles(code, sub string) bool {
	return code == "40005" || strings.HasSuffix(sub, "call-limited")
}

func alipayWhy(code, sub string) string { return "code " + cut(code) + ", sub_code " + cut(sub) }
