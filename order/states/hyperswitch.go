package states

import (
	"strings"

	"github.com/bellmanhq/bellman/order"
)

// hyperswitch. Values: AttemptStatus and IntentStatus of common_enums (juspay/hyperswitch), and its
// mapping of the first to the second, in which VoidFailed, RouterDeclined and CaptureFailed are
// failed. Error codes: HE_02 (no such payment) and IR_16 (cannot be cancelled in its status). A
// status is read in either spelling: Charged in the code, charged in the API.
var hyperswitch = Preset{
	Name:   "hyperswitch",
	Source: "hyperswitch, payments retrieve and cancel: status of an attempt or intent, error.code",
	parse:  ParseJSON,
	query:  hyperswitchQuery,
	close:  hyperswitchClose,
}

var hyperswitchStatuses = map[string]order.Reading{
	"charged":         order.Paid,
	"succeeded":       order.Paid,
	"auto_refunded":   order.PaidRefunded,
	"voided":          order.Revoked,
	"cancelled":       order.Closed,
	"expired":         order.Closed,
	"router_declined": order.Failed,
	"void_failed":     order.Failed,
	"capture_failed":  order.Failed,
	"failure":         order.Failed,
	"failed":          order.Failed,

	"started":                        order.Pending,
	"authentication_pending":         order.Pending,
	"authentication_successful":      order.Pending,
	"authentication_failed":          order.Pending,
	"authorization_failed":           order.Pending,
	"authorizing":                    order.Pending,
	"authorized":                     order.Pending,
	"cod_initiated":                  order.Pending,
	"void_initiated":                 order.Pending,
	"capture_initiated":              order.Pending,
	"pending":                        order.Pending,
	"payment_method_awaited":         order.Pending,
	"confirmation_awaited":           order.Pending,
	"device_data_collection_pending": order.Pending,
	"processing":                     order.Pending,
	"requires_payment_method":        order.Pending,
	"requires_confirmation":          order.Pending,
	"requires_customer_action":       order.Pending,
	"requires_merchant_action":       order.Pending,
	"requires_capture":               order.Pending,
	// Not here, for somebody to look at: partial charges, conflicts, unresolved.
}

// hyperswitchDecimals are those of Currency::number_of_digits_after_decimal_point (common_enums)
// that ISO 4217 has otherwise. Its older versions write IQD and LYD with 2 decimals instead of 3, and
// IRR with 2 instead of none.
var hyperswitchDecimals = map[string]int{"IRR": 0, "ISK": 2, "MGA": 0}

func hyperswitchQuery(r reply, _ bool) finding {
	status, code := r.text("status"), r.text("error", "code")
	reading, known := hyperswitchStatuses[snake(status)]
	switch {
	case code == "HE_02" && status == "":
		return finding{reading: order.NotFound}
	case code != "":
		return unclear("error.code %.60q", code)
	case !known:
		return unclear("status is %.40q", status)
	case !reading.IsPaid():
		return finding{reading: reading}
	}
	refunds, _ := r.field("refunds").([]any)
	for _, refund := range refunds {
		if objectOf(refund).text("status") == "succeeded" {
			reading = order.PaidRefunded
		}
	}
	paid := smallest(r.word("amount"), r.text("currency")).rescaled(hyperswitchDecimals)
	return finding{reading: reading, taken: taken(r.text("payment_id"), paid, "")}
}

func hyperswitchClose(r reply) closing {
	code, status := r.text("error", "code"), snake(r.text("status"))
	switch {
	case code == "HE_02":
		return closing{reading: order.CloseNotExist}
	case code == "IR_16":
		// "You cannot cancel this payment because it has status …"
		switch message := r.text("error", "message"); {
		case strings.HasSuffix(message, "status cancelled"):
			return closing{reading: order.CloseAlready}
		case strings.HasSuffix(message, "status processing"):
			return closing{reading: order.CloseInFlight}
		}
		return closing{reading: order.ClosePaidHint}
	case code != "":
		return closing{why: "error.code " + cut(code)}
	}
	switch status {
	case "cancelled", "voided":
		return closing{reading: order.CloseDone}
	case "processing", "void_initiated":
		return closing{reading: order.CloseInFlight}
	case "succeeded", "charged":
		return closing{reading: order.ClosePaidHint}
	}
	return closing{why: "status is " + cut(status)}
}

// snake writes CamelCase as camel_case.
func snake(s string) string {
	var b strings.Builder
	for i, c := range s {
		if 'A' <= c && c <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}
