package states

import "github.com/bellmanhq/bellman/order"

// Stripe. Values: the PaymentIntent object and its lifecycle
// (docs.stripe.com/payments/paymentintents/lifecycle), cancel
// (docs.stripe.com/api/payment_intents/cancel) and error codes
// (docs.stripe.com/error-codes).
var stripe = Preset{
	Name:   "stripe",
	Source: "Stripe, PaymentIntent retrieve and cancel: object, status, error.code",
	parse:  ParseJSON,
	query:  stripeQuery,
	close:  stripeClose,
}

// stripeDecimals are those that ISO 4217 has otherwise (docs.stripe.com/currencies, zero-decimal
// currencies and special cases).
var stripeDecimals = map[string]int{"ISK": 2, "UGX": 2, "MGA": 0}

func stripeQuery(r reply, _ bool) finding {
	code := r.text("error", "code")
	switch {
	case r.field("error") != nil && code == "resource_missing":
		return finding{reading: order.NotFound}
	case r.field("error") != nil:
		return finding{throttled: stripeThrottles(code), why: "error.code " + cut(code)}
	case r.text("object") != "payment_intent":
		return unclear("object is %.40q: want payment_intent", r.text("object"))
	}
	switch status := r.text("status"); status {
	case "succeeded":
		f := finding{reading: order.Paid, taken: taken(r.text("id"), smallest(r.word("amount_received"), r.text("currency")).rescaled(stripeDecimals), "")}
		// There only when the query asked for latest_charge to be expanded.
		if !isZero(r.word("latest_charge", "amount_refunded")) {
			f.reading = order.PaidRefunded
		}
		return f
	case "canceled":
		return finding{reading: order.Closed}
	case "requires_payment_method", "requires_confirmation", "requires_action", "requires_capture", "processing":
		return finding{reading: order.Pending}
	default:
		return unclear("status is %.40q", status)
	}
}

func stripeClose(r reply) closing {
	if r.field("error") != nil {
		switch code := r.text("error", "code"); code {
		case "resource_missing":
			return closing{reading: order.CloseNotExist}
		case "rate_limit", "lock_timeout":
			return closing{reading: order.CloseInFlight, throttled: stripeThrottles(code)}
		case "payment_intent_unexpected_state":
			switch r.text("error", "payment_intent", "status") {
			case "canceled":
				return closing{reading: order.CloseAlready}
			case "processing":
				return closing{reading: order.CloseInFlight}
			}
			return closing{reading: order.ClosePaidHint}
		default:
			return closing{why: "error.code " + cut(code)}
		}
	}
	if r.text("object") != "payment_intent" {
		return closing{why: "object is " + cut(r.text("object")) + ": want payment_intent"}
	}
	switch status := r.text("status"); status {
	case "canceled":
		return closing{reading: order.CloseDone}
	case "succeeded":
		return closing{reading: order.ClosePaidHint}
	case "processing":
		return closing{reading: order.CloseInFlight}
	default:
		return closing{why: "status is " + cut(status)}
	}
}

// stripeThrottles knows rate_limit; lock_timeout is about one object alone.
func stripeThrottles(code string) bool { return code == "rate_limit" }
