package order

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/rule"
)

// A Channel is one account at a payment channel: where an order was placed, and
// where it is asked how the order stands. It is called from many goroutines at
// once. ctx ends at the attempt's timeout.
type Channel interface {
	// Query asks how an order stands.
	Query(ctx context.Context, o *Order) QueryAnswer

	// Close asks the channel to take no more payment for an order. It is only
	// called after an answer that said in so many words that nobody paid yet.
	Close(ctx context.Context, o *Order) CloseAnswer
}

// A Reverser is a Channel that can undo a payment whose outcome stays unknown,
// as in-store payment needs it: paid or not, nothing is paid afterwards.
type Reverser interface {
	Reverse(ctx context.Context, o *Order) CloseAnswer
}

// An OrderChecker is a Channel that knows which orders it could not be asked
// about. It is asked before an order is accepted.
type OrderChecker interface {
	// CheckOrder returns an *[bellman.Invalid] that names order_no, merchant_no or
	// vars.NAME.
	CheckOrder(o *Order) error
}

// An Order is what a Channel needs to know of the order it is asked about.
type Order struct {
	MerchantNo string
	OrderNo    string
	Vars       map[string]string // the caller's own values for the channel's templates
	Created    time.Time         // at the channel, or else when bellman was told of it
}

// MaxBody is how much of a channel's answer is read, in bytes: what rules look at.
const MaxBody = rule.MaxBody

// An Answer is what came back from the channel, for the log and for rules.
type Answer struct {
	Result     bellman.Result    // Accepted: an answer that could be read, whatever it says
	Status     int               // HTTP status; 0 if none
	Header     map[string]string // names in lower case
	Body       []byte            // at most MaxBody
	Error      string            // what went wrong, in one line
	Throttled  bool              // the channel asks this account for fewer requests
	RetryAfter time.Duration     // … and to wait this long; 0: it does not say
}

// A QueryAnswer is how an order stands, as far as the channel says.
type QueryAnswer struct {
	Answer
	Reading Reading

	// Wait asks not to query again sooner, as WeChat does for five seconds while
	// the payer types a password; 0: does not ask.
	Wait time.Duration

	// Taken is what the answer says of a payment, for the merchant's
	// notification: "transaction_id", "amount", …; may be nil.
	Taken map[string]any
}

// A CloseAnswer is what became of a close, as far as the channel says.
type CloseAnswer struct {
	Answer
	Reading CloseReading
}

// A Reading says what an answer to a query means.
type Reading uint8

// The readings of a query. Only Paid, PaidRefunded, Closed, Revoked and Failed
// decide an order.
const (
	QueryError   Reading = iota // no answer, or one that says nothing about the order
	Pending                     // not paid, said in so many words
	NotFound                    // the channel knows no such order: not paid, not yet
	Paid                        //
	PaidRefunded                // it was paid, and the money went back since
	Closed                      // takes no payment any more
	Revoked                     // undone by the merchant
	Failed                      // the payment failed for good
)

// A CloseReading says what an answer to a close means.
type CloseReading uint8

// The readings of a close.
const (
	CloseUnknown  CloseReading = iota // no answer, or one that says nothing
	CloseDone                         // closed now
	CloseAlready                      // had been closed before: as good
	ClosePaidHint                     // refused because it seems paid: query
	CloseInFlight                     // the payer is just paying, or the channel cannot tell: query
	CloseNotExist                     // the channel knows no such order
	CloseRefunded                     // reversed now; it was paid, and the money goes back
)
