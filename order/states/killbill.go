package states

import (
	"time"

	"github.com/bellmanhq/bellman/order"
)

// Kill Bill. Values: TransactionStatus and TransactionType of a payment's
// transactions (killbill/killbill, payment state machine) and ErrorCode
// (killbill/killbill-api): 7020 no such payment, 7032 not possible in its state.
// SUCCESS, PAYMENT_FAILURE and PLUGIN_FAILURE are final; PENDING and UNKNOWN are not.
// Not confirmed: that effectiveDate of a transaction is the time of the payment.
var killbill = Preset{
	Name:   "killbill",
	Source: "Kill Bill, payments: transactions with transactionType and status, or one transaction",
	parse:  ParseJSON,
	unread: true,
	query:  killbillQuery,
	close:  killbillClose,
}

func killbillQuery(r reply, _ bool) finding {
	if r.unread != nil {
		return unclear("%s", r.unread)
	}
	if code := r.word("code"); code != "" {
		if code == "7020" {
			return finding{reading: order.NotFound}
		}
		return unclear("code %.60q", code)
	}
	transactions, isPayment := r.field("transactions").([]any)
	if !isPayment {
		transactions = []any{r.fields}
	}
	if len(transactions) == 0 {
		return unclear("the payment has no transactions")
	}
	var paid, paying, back, voided, waiting, unknown, failed bool
	var at string
	for _, one := range transactions {
		t := objectOf(one)
		kind, status := t.text("transactionType"), t.text("status")
		var pays, returns bool
		switch kind {
		case "PURCHASE", "CAPTURE":
			pays = true
		case "REFUND", "CHARGEBACK":
			returns = true
		case "AUTHORIZE", "VOID":
		default:
			return unclear("transactionType is %.40q", kind)
		}
		switch status {
		case "SUCCESS":
			if pays {
				paid, at = true, t.text("effectiveDate")
			}
			back = back || returns
			voided = voided || kind == "VOID"
			waiting = waiting || kind == "AUTHORIZE" // not captured yet
		case "PENDING":
			waiting = true
			paying = paying || pays
		case "UNKNOWN":
			unknown = true
		case "PAYMENT_FAILURE", "PLUGIN_FAILURE":
			failed = failed || pays || kind == "AUTHORIZE"
		default:
			return unclear("status is %.40q", status)
		}
	}
	switch {
	case voided && (paid || paying):
		return unclear("the payment was voided, and made or under way")
	case paid:
		f := finding{reading: order.Paid, taken: killbillTaken(r, isPayment, at)}
		if back {
			f.reading = order.PaidRefunded
		}
		return f
	case back:
		return unclear("the payment was returned, and never made")
	case unknown:
		return unclear("a transaction is UNKNOWN")
	case voided:
		return finding{reading: order.Revoked}
	case waiting:
		return finding{reading: order.Pending}
	case failed:
		return finding{reading: order.Failed}
	}
	return unclear("no transaction pays")
}

func killbillTaken(r reply, isPayment bool, at string) order.Taken {
	amount := r.word("amount")
	if isPayment {
		amount = r.word("purchasedAmount")
		if captured := r.word("capturedAmount"); !isZero(captured) {
			amount = captured
		}
	}
	return taken(r.text("paymentId"), whole(amount, r.text("currency")), timed(time.RFC3339, at))
}

// isZero reports whether a number as it is written is nothing: 0, 0.00.
func isZero(number string) bool {
	for _, c := range number {
		if '1' <= c && c <= '9' {
			return false
		}
	}
	return true
}

// killbillClose reads the answer to a void. A void that is pending is in flight.
func killbillClose(r reply) closing {
	switch {
	case r.status == 204:
		return closing{reading: order.CloseDone} // it has no body
	case r.status == 202:
		return closing{reading: order.CloseInFlight}
	case r.unread != nil:
		return closing{why: r.unread.Error()}
	}
	switch code := r.word("code"); code {
	case "7020":
		return closing{reading: order.CloseNotExist}
	case "7032":
		return closing{reading: order.ClosePaidHint}
	case "7100": // the plugin did not answer in time
		return closing{reading: order.CloseInFlight}
	case "":
	default:
		return closing{why: "code " + cut(code)}
	}
	switch f := killbillQuery(r, false); f.reading {
	case order.Revoked:
		return closing{reading: order.CloseDone}
	case order.Paid, order.PaidRefunded:
		return closing{reading: order.ClosePaidHint}
	case order.Pending:
		return closing{reading: order.CloseInFlight}
	default:
		return closing{why: f.why}
	}
}
