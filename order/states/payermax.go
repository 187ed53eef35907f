package states

import (
	"time"

	"github.com/bellmanhq/bellman/order"
)

// PayerMax. Values: transaction status and error codes
// (docs.payermax.com/en/doc-center/appendix/collection/transaction-status.html).
// code says that the call was understood, and nothing of the order. Not confirmed: that
// data.completeTime is the time of the payment; another form of it is left out.
var payermax = Preset{
	Name:   "payermax",
	Source: "PayerMax, order query: code, data.status",
	parse:  ParseJSON,
	query:  payermaxQuery,
	close:  payermaxClose,
}

func payermaxQuery(r reply, _ bool) finding {
	code, status := r.text("code"), r.text("data", "status")
	switch {
	case code == "APPLY_SUCCESS":
	case code == "ORDER_NOT_EXIST" && status == "":
		return finding{reading: order.NotFound}
	default:
		return unclear("code %.60q: %.60q", code, r.text("msg"))
	}
	reading, known := payermaxStatuses[status]
	if !known {
		return unclear("data.status is %.40q", status)
	}
	f := finding{reading: reading.query}
	if f.reading.IsPaid() {
		paid := whole(r.word("data", "totalAmount"), r.text("data", "currency"))
		f.taken = taken(r.text("data", "tradeToken"), paid, timed(time.RFC3339, r.text("data", "completeTime")))
	}
	return f
}

// payermaxStatuses are the values of data.status, as answers to a query and to a close.
var payermaxStatuses = map[string]struct {
	query order.Reading
	close order.CloseReading
}{
	"SUCCESS": {order.Paid, order.ClosePaidHint},
	"FAILED":  {order.Failed, order.CloseAlready},
	"CLOSED":  {order.Closed, order.CloseDone},
	"PENDING": {order.Pending, order.CloseInFlight},
}

// payermaxClose reads the order's own status: APPLY_SUCCESS alone does not mean that it is closed.
func payermaxClose(r reply) closing {
	code, status := r.text("code"), r.text("data", "status")
	switch code {
	case "APPLY_SUCCESS":
		if reading, known := payermaxStatuses[status]; known {
			return closing{reading: reading.close}
		}
		return closing{why: "data.status is " + cut(status)}
	case "ORDER_NOT_EXIST":
		return closing{reading: order.CloseNotExist}
	case "SYSTEM_ERROR", "REQUEST_TIMEOUT", "UNEXPECTED_ERROR":
		return closing{reading: order.CloseInFlight}
	}
	return closing{why: "code " + cut(code)}
}
