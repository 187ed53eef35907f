package order

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/rule"
)

// A Channel is one account at a payment channel, where orders are placed and queried. Its methods
// are called from many goroutines at once. ctx ends at the attempt's timeout.
type Channel interface {
	// Query asks the channel for the state of an order. A failed request is a [QueryError], never a
	// state of the order.
	Query(ctx context.Context, o *Order) QueryAnswer

	// Close asks the channel to accept no more payments for an order. It is only called right after
	// a Query whose answer was Pending or NotFound.
	Close(ctx context.Context, o *Order) CloseAnswer
}

// A Reverser is a Channel that can undo a payment whose outcome stays unknown, as in-store payment
// needs it.
type Reverser interface {
	// Reverse closes an order that nobody paid, and refunds an order that somebody paid.
	Reverse(ctx context.Context, o *Order) CloseAnswer
}

// A Canceller is a Channel that says whether its Close cancels: it also gives the money of an order
// back that somebody paid meanwhile, as Antom's cancel does. A notice of such a payment does not
// decide once the close was due.
type Canceller interface {
	Cancels() bool
}

// An OrderChecker is a Channel that knows which orders it cannot query. CheckOrder is called before
// an order is accepted.
type OrderChecker interface {
	// CheckOrder returns an *[bellman.Invalid] that names order_no, merchant_no or vars.NAME; nil:
	// the channel can be queried about o.
	CheckOrder(o *Order) error
}

// An Order identifies an order to a Channel.
type Order struct {
	MerchantNo string
	OrderNo    string // the number by which the channel knows the order
	OwnNo      string // the merchant's number of the order; often the same
	RefNo      string // of a refund, transfer or profit sharing (package poll); empty of an order
	Account    string // of the channel; empty: the queue's own

	// Amount is what the order should cost, in the smallest unit of Currency; 0: not known.
	Amount   int64
	Currency string

	Vars    map[string]string // values of the caller for the channel's templates
	Created time.Time         // at the channel; if the caller did not say, when the task was added
	Expires time.Time         // until when the order can be paid; zero: not known
}

// MaxBody is how much of a channel's answer is read, in bytes.
const MaxBody = rule.MaxBody

// An Answer is the channel's answer to one request, for the attempt log and for rules.
type Answer struct {
	Result     bellman.Result    // Accepted: the answer could be read
	Status     int               // HTTP status; 0 if none
	Header     map[string]string // names in lower case
	Body       []byte            // at most MaxBody
	Error      string            // why the answer is not usable, in one line; empty: it is
	Throttled  bool              // the channel asks this account for fewer requests
	RetryAfter time.Duration     // how long the channel asks to wait; 0: it does not say
}

// Verdict returns a verdict with this answer for the log of attempts. action and reading are those
// of [bellman.Verdict].
func (a *Answer) Verdict(action, reading string) bellman.Verdict {
	return bellman.Verdict{
		Action: action, Reading: reading, Result: a.Result, Status: a.Status, Error: a.Error,
		Response: excerpt(a.Body), Throttled: a.Throttled || rule.Throttles(a.Status),
	}
}

// A QueryAnswer is the answer to a query.
type QueryAnswer struct {
	Answer
	Reading Reading

	// Wait is how long the channel asks to wait before the next query: WeChat Pay asks for 5 s
	// while the payer types a password (USERPAYING). 0: it does not ask.
	Wait time.Duration

	// Taken are the fields of the payment for the merchant's notification. It may be nil.
	Taken Taken
}

// A CloseAnswer is the answer to a close or reverse.
type CloseAnswer struct {
	Answer
	Reading CloseReading
}

// A Reading is the meaning of an answer to a query.
type Reading uint8

// The readings of a query. Only Paid, PaidRefunded, Closed, Revoked and Failed
// decide an order.
const (
	QueryError   Reading = iota // no answer, or an answer without the order's state
	Pending                     // not paid yet, said explicitly
	NotFound                    // the channel knows no such order: not paid yet
	Paid                        // paid
	PaidRefunded                // paid, and refunded since
	Closed                      // cannot be paid any more
	Revoked                     // undone by the merchant
	Failed                      // the payment failed finally
)

// A CloseReading is the meaning of an answer to a close or reverse.
type CloseReading uint8

// The readings of a close.
const (
	CloseUnknown  CloseReading = iota // no answer, or an answer that does not say
	CloseDone                         // closed now
	CloseAlready                      // closed before
	ClosePaidHint                     // refused because the order seems paid: query next
	CloseInFlight                     // the payer is just paying, or the channel cannot tell: query next
	CloseNotExist                     // the channel knows no such order
	CloseRefunded                     // reversed now; the order was paid and is refunded
)
