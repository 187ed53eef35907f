package states

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman/order"
)

// UnionPay. Values: transaction status query (open.unionpay.com, queryTrans.do) and the comments of
// UnionPay's own demo. respCode is about the query. Only with respCode 00 there is origRespCode,
// which is about the payment.
//
// The query of 云闪付 (/gateway/api/pay/queryOrder) has fields of the same names with other values,
// such as 01 for a payment that was refunded: these presets do not read it.
//
// In a front trade the payer types into UnionPay's page. Such a trade can fail, or not exist, and
// still be paid with the next card. So both are PENDING until the pay timeout is over. After that a
// failed trade is FAILED, and a missing one is CLOSED.
var (
	unionpay = Preset{
		Name:   "unionpay",
		Source: "UnionPay, transaction status query, front trades: respCode, origRespCode, and the pay timeout; form or JSON",
		parse:  either(parseForm),
		query:  func(r reply, late bool) finding { return unionpayQuery(r, true, late) },
		close:  unionpayClose,
	}
	unionpayBack = Preset{
		Name:   "unionpay_back",
		Source: "UnionPay, transaction status query, back trades: respCode, origRespCode; form or JSON",
		parse:  either(parseForm),
		query:  func(r reply, _ bool) finding { return unionpayQuery(r, false, false) },
		close:  unionpayClose,
	}
)

// payTimeout is the default pay timeout: the time of the last query that UnionPay advises for front
// trades. Too long a timeout decides late, too short a one decides wrong.
const payTimeout = 2 * time.Hour

// openWait says that a trade may be paid at this moment, so that the order is not closed. It is no
// longer than the shortest gap of the queries that UnionPay advises.
const openWait = time.Second

// Values of origRespCode, from UnionPay's list of response codes (应答码) in public copies.
var (
	// unionpayOpen: timed out (03), not clear (04), accepted (05), the payer has yet to type (70), the
	// issuer is still at it (83).
	unionpayOpen = []string{"03", "04", "05", "70", "83"}

	// unionpayDefects: the money was taken, but after the pay timeout (42), or it is not known to have
	// been booked (74), or it was not booked (75); a success with a defect (A6).
	unionpayDefects = []string{"42", "74", "75", "A6"}
)

func unionpayQuery(r reply, front, late bool) finding {
	code, original := r.word("respCode"), r.word("origRespCode")
	switch code {
	case "00":
	case "03", "04", "05":
		return finding{reading: order.Pending, wait: openWait}
	case "34": // no such trade
		switch {
		case !front:
			return finding{reading: order.NotFound}
		case !late:
			return finding{reading: order.Pending}
		}
		return finding{reading: order.Closed}
	default:
		// The query failed: busy, a signature, a field. 37 is too many queries.
		return finding{throttled: code == "37", why: "respCode " + cut(code) + ": " + cut(r.text("respMsg"))}
	}
	switch {
	case original == "00":
		return finding{reading: order.Paid, taken: taken(r.word("queryId"), smallest(r.word("txnAmt"), r.word("currencyCode")), "")}
	case slices.Contains(unionpayDefects, original):
		return unclear("origRespCode %s: a success with a defect, to be looked at by hand", original)
	case slices.Contains(unionpayOpen, original):
		return finding{reading: order.Pending, wait: openWait}
	case !isRespCode(original):
		return unclear("origRespCode is %.40q", original)
	case front && !late:
		return finding{reading: order.Pending}
	}
	return finding{reading: order.Failed}
}

// unionpayClose reads the answer to a reversal or an order close: 00 is done.
func unionpayClose(r reply) closing {
	switch code := r.word("respCode"); code {
	case "00":
		return closing{reading: order.CloseDone}
	case "03", "04", "05", "06", "37":
		return closing{reading: order.CloseInFlight, throttled: code == "37"}
	case "34":
		return closing{reading: order.CloseNotExist}
	case "35": // the state of the trade does not allow it
		return closing{reading: order.ClosePaidHint}
	default:
		return closing{why: "respCode " + cut(code) + ": " + cut(r.text("respMsg"))}
	}
}

// isRespCode reports whether a text has the form of a respCode: two digits or
// capital letters.
func isRespCode(s string) bool {
	if len(s) != 2 {
		return false
	}
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
