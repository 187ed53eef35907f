package states

import (
	"strings"
	"time"

	"github.com/bellmanhq/bellman/order"
)

// Antom. Values: inquiryPayment (docs.antom.com/ac/ams/paymentri) and cancel
// (docs.antom.com/ac/ams/paymentc). result is about the call alone; paymentStatus
// is there when it is S.
var antom = Preset{
	Name:   "antom",
	Source: "Antom, inquiryPayment and cancel: result.resultStatus, result.resultCode, paymentStatus",
	parse:  ParseJSON,
	query:  antomQuery,
	close:  antomClose,
}

func antomQuery(r reply, _ bool) finding {
	result, code := r.text("result", "resultStatus"), r.text("result", "resultCode")
	switch {
	case result == "S":
	case result == "F" && code == "ORDER_NOT_EXIST":
		return finding{reading: order.NotFound}
	default:
		return finding{throttled: code == "REQUEST_TRAFFIC_EXCEED_LIMIT", why: antomWhy(result, code)}
	}
	status := r.text("paymentStatus")
	switch strings.ToUpper(status) { // an example of Antom's writes "Success"
	case "SUCCESS":
		return finding{reading: order.Paid, taken: taken(r.text("paymentId"),
			smallest(r.word("paymentAmount", "value"), r.text("paymentAmount", "currency")), timed(time.RFC3339, r.text("paymentTime")))}
	case "FAIL":
		return finding{reading: order.Failed}
	case "CANCELLED": // by cancel, which is how an order is closed
		return finding{reading: order.Closed}
	case "PROCESSING", "PENDING":
		return finding{reading: order.Pending}
	}
	return unclear("paymentStatus is %.40q", status)
}

func antomClose(r reply) closing {
	result, code := r.text("result", "resultStatus"), r.text("result", "resultCode")
	throttled := code == "REQUEST_TRAFFIC_EXCEED_LIMIT"
	switch {
	case result == "S":
		return closing{reading: order.CloseDone}
	case result == "U" || throttled:
		return closing{reading: order.CloseInFlight, throttled: throttled}
	case result == "F" && code == "ORDER_NOT_EXIST":
		return closing{reading: order.CloseNotExist}
	case result == "F" && code == "ORDER_IS_CLOSED":
		return closing{reading: order.CloseAlready}
	case result == "F" && (code == "ORDER_STATUS_INVALID" || code == "CANCEL_WINDOW_EXCEED"):
		return closing{reading: order.ClosePaidHint}
	case result == "F" && code == "PAYMENT_IN_PROCESS":
		return closing{reading: order.CloseInFlight}
	}
	return closing{why: antomWhy(result, code)}
}

func antomWhy(result, code string) string {
	return "resultStatus " + cut(result) + ", resultCode " + cut(code)
}
