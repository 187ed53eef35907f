package order

import (
	"net/http"
	"time"
)

// A RawNotice is a notice as a channel sent it. Its body must be the bytes that came: a signature
// covers exactly those.
type RawNotice struct {
	Header http.Header
	Body   []byte
	At     time.Time // when it came
}

// A Notice is one verified statement of a channel about a payment, a refund or a transfer.
type Notice struct {
	ID      string   // the channel's id of the notice; a repeat has the same; empty: it has none
	Of      NoticeOf // what it is about
	OrderNo string   // the channel's order number (out_trade_no); empty for a transfer
	RefNo   string   // the number of the refund or transfer; empty for a payment
	Reading Reading  // of a payment; QueryError: the notice does not decide, and causes a query
	Outcome string   // of a refund or transfer: DONE or FAILED_THERE; empty: the notice does not say that it ended
	Answer  Answer   // the decrypted content as Body, for rules, the log and pages
	Taken   Taken    // of a payment: the fields that a query's answer has
	Err     error    // why this item cannot be used, although the notice is the channel's; nil: it can
	Other   bool     // Err is that it is about something else than payments, refunds and transfers: a repeat would not help
}

// Taken are the fields of a payment, in one shape for every channel. A field that the channel does
// not say is absent.
//
//   - transaction_id: a text, the channel's number of the payment
//   - amount: an int64, in the currency's smallest unit
//   - currency: a text, an ISO 4217 code
//   - paid_at: a text, RFC 3339 in UTC, when the channel received the payment
//
// A queue's own fields stand beside them.
type Taken = map[string]any

// NoticeOf says what a notice is about.
type NoticeOf string

// What a notice can be about.
const (
	OfPayment  NoticeOf = "payment"
	OfRefund   NoticeOf = "refund"
	OfTransfer NoticeOf = "transfer"
)

// A NoticeReader is a Channel that reads the notices which the channel sends by itself. Its methods
// may be called concurrently.
type NoticeReader interface {
	// ReadNotice verifies a notice over its raw bytes, decrypts it, and checks that it is for this
	// account. It returns one Notice for each item of the body. An error says why the notice is
	// refused: it is not signed, the signature is wrong, or it is for another account. Nothing of a
	// refused notice may be trusted. hint is then the order number that the unverified content
	// names, for one query about it; empty: none can be read.
	ReadNotice(raw *RawNotice) (items []Notice, hint string, err error)

	// AnswerNotice returns the answer that the channel expects to a notice. If the notice was not
	// accepted, why is the reason in one line, and the channel sends the notice again.
	AnswerNotice(accepted bool, why string) NoticeAnswer
}

// A RefusedNotice is the error of a notice that is not the channel's, or for another account.
type RefusedNotice struct{ Why error }

func (e *RefusedNotice) Error() string { return e.Why.Error() }

// Unwrap returns why.
func (e *RefusedNotice) Unwrap() error { return e.Why }

// A NoticeAnswer is what a channel is answered.
type NoticeAnswer struct {
	Status      int
	ContentType string
	Body        string
}
