package states

import "github.com/bellmanhq/bellman/order"

// PayerMax. Values: transaction status and error codes
// (docs.payermax.com/en/doc-center/appendix/collection/transaction-status.html).
// code says that the call was understood, and nothing of the order.
var payermax = Preset{
	Name:   "payermax",
	Source: "PayerMax, order query: code, data.status",
	parse:  parseJSON,
	query:  payermaxQuery,
	close:  payermaxClose,
}

func payermaxQuery(r reply, _ bool) finding {
	if r.unread != nil {
		return unclear("%s", r.unread)
	}
	code, status := r.text("code"), r.text("data", "status")
	switch {
	case code == "APPLY_SUCCESS":
	case code == "ORDER_NOT_EXIST" && status == "":
		return finding{reading: order.NotFound}
	default:
		return unclear("code %.60q: %.60q", code, r.text("msg"))
	}
	switch status {
	case "SUCCESS":
		return finding{reading: order.Paid, taken: taken(r.text("data", "tradeToken"), whole(r.word("data", "totalAmount")), r.text("data", "currency"))}
	case "FAILED":
		return finding{reading: order.Failed}
	case "CLOSED":
		return finding{reading: order.Closed}
	case "PENDING":
		return finding{reading: order.Pending}
	}
	return unclear("data.status is %.40q", status)
}

// payermaxClose goes by the order's own status: APPLY_SUCCESS alone closes
// nothing.
func payermaxClose(r reply) closing {
	if r.unread != nil {
		return closing{why: r.unread.Error()}
	}
	code, status := r.text("code"), r.text("data", "status")
	switch code {
	case "APPLY_SUCCESS":
		switch status {
		case "CLOSED":
			return closing{reading: order.CloseDone}
		case "FAILED":
			return closing{reading: order.CloseAlready}
		case "SUCCESS":
			return closing{reading: order.ClosePaidHint}
		case "PENDING":
			return closing{reading: order.CloseInFlight}
		}
		return closing{why: "data.status is " + cut(status)}
	case "ORDER_NOT_EXIST":
		return closing{reading: order.CloseNotExist}
	case "SYSTEM_ERROR", "REQUEST_TIMEOUT", "UNEXPECTED_ERROR":
		return closing{reading: order.CloseInFlight}
	}
	return closing{why: "code " + cut(code)}
}
