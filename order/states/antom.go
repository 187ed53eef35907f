package states

import (
	"math"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/order"
)

// Antom. Values: inquiryPayment (docs.antom.com/ac/ams/paymentri) and cancel
// (docs.antom.com/ac/ams/paymentc), capture (docs.antom.com/ac/cashierpay/capture), and the fields of
// a transaction in global-open-sdk-java. result is about the call alone; paymentStatus is there when
// it is S. Not confirmed: that the answer lists a capture that Antom makes by itself.
var antom = Preset{
	Name:   "antom",
	Source: "Antom, inquiryPayment and cancel: result.resultStatus, result.resultCode, paymentStatus, transactions",
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
		return antomPaid(r)
	case "FAIL":
		return finding{reading: order.Failed}
	case "CANCELLED": // by cancel, which is how an order is closed
		return finding{reading: order.Closed}
	case "PROCESSING":
		return finding{reading: order.Pending}
	case "PENDING": // the payer is done, and the outcome is still to come
		return finding{reading: order.Pending, wait: payingWait}
	}
	return unclear("paymentStatus is %.40q", status)
}

// antomPaid reads a payment with what was done since, which transactions lists. A payment by card
// is SUCCESS once it is authorised, and the money comes with a capture. If captures are listed, only
// they count. If none is, the payment counts: most methods have no capture.
func antomPaid(r reply) finding {
	paid, reading := antomAmount(r, "paymentAmount"), order.Paid
	var captures, captured, waits bool
	total := sum{known: true, currency: paid.currency}
	list, _ := r.field("transactions").([]any)
	for _, one := range list {
		t := objectOf(one)
		switch kind, status := t.text("transactionType"), strings.ToUpper(t.text("transactionStatus")); {
		case kind == "REFUND" && status == "SUCCESS":
			reading = order.PaidRefunded
		case kind == "CAPTURE":
			captures, waits = true, waits || status == "PROCESSING" || status == "PENDING"
			if part := antomAmount(t, "transactionAmount"); status == "SUCCESS" {
				captured = true
				total.known = total.known && part.known && part.currency == paid.currency && part.amount <= math.MaxInt64-total.amount
				total.amount += part.amount
			}
		}
	}
	switch {
	case captured:
		paid = total
	case !captures:
	case waits:
		return finding{reading: order.Pending, wait: payingWait}
	default:
		return unclear("the payment was authorised, and could not be captured")
	}
	return finding{reading: reading, taken: taken(r.text("paymentId"), paid, timed(time.RFC3339, r.text("paymentTime")))}
}

// antomAmount reads the amount in a field.
func antomAmount(r reply, name string) sum {
	return smallest(r.word(name, "value"), r.text(name, "currency"))
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
