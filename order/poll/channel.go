package poll

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/wire"
)

// A Channel is one account at a payment channel, where refunds, transfers and the like are queried.
// Its methods are called from many goroutines at once. ctx ends at the attempt's timeout. The
// RefNo of o is the number of the refund or transfer, OrderNo that of the order it belongs to. A
// channel with a method Currency() string gives new tasks that currency as vars.currency, if they
// have an amount, and neither they nor their order name one.
type Channel interface {
	// Query asks how the refund stands. A failed request is a [QueryError].
	Query(ctx context.Context, o *order.Order) Answer
}

// A Requester is a Channel that can ask for the refund. The channel must treat a second request
// under the same RefNo as the first one.
type Requester interface {
	// Request sends one request. All requests about one RefNo are equal.
	Request(ctx context.Context, o *order.Order) RequestAnswer
}

// A RefChecker is a Channel that knows which refunds it cannot query or request. CheckRef is called
// before a task is accepted.
type RefChecker interface {
	// CheckRef returns an *[bellman.Invalid] that names ref_no, order_no, merchant_no or vars.NAME;
	// nil: the channel can be queried about o. request says that it will also be requested.
	CheckRef(o *order.Order, request bool) error
}

// An Answer is the answer to a query.
type Answer struct {
	order.Answer
	Reading Reading

	// Wait is how long the channel asks to wait before the next query. 0: it does not ask.
	Wait time.Duration

	// Taken are fields for the merchant's notification; see [Taken]. It may be nil.
	Taken Taken

	// Person says why a person must act, whether the answer decides or not: WeChat Pay's ABNORMAL
	// is a refund that the payer's bank refused, and an answer may be about another amount. Empty:
	// nobody must.
	Person string
}

// An OtherAmount is the error of an answer about another amount than vars.amount.
type OtherAmount string

// Error returns the text of the error.
func (e OtherAmount) Error() string { return string(e) }

// Undecided returns an answer that decides nothing because of err. A person must act if err is an
// [OtherAmount].
func Undecided(a order.Answer, err error) Answer {
	var other OtherAmount
	errors.As(err, &other)
	return Answer{Answer: a, Person: string(other)}
}

// Taken are the fields of a refund or transfer, in one shape for every channel. A field that the
// channel does not say is absent.
//
//   - channel_ref_no: a text, the channel's number of the refund or transfer
//   - channel_state: a text, the state in the channel's own words
//   - fail_reason: a text, why it failed
//   - amount: an int64, in the currency's smallest unit
//   - currency: a text, an ISO 4217 code
//   - finished_at: a text, RFC 3339 in UTC, when the channel finished it
type Taken = map[string]any

// A Reading is the meaning of an answer to a query.
type Reading uint8

// The readings of a query. Only Done and FailedThere decide.
const (
	QueryError  Reading = iota // no answer, or an answer that does not say how the refund stands
	Waiting                    // the channel is still at it, said explicitly
	NotFound                   // the channel knows no such refund, said explicitly
	Done                       // the money arrived
	FailedThere                // the channel ended it without success
)

var readingNames = []string{"QUERY_ERROR", StatePending, "NOT_FOUND", StateDone, StateFailedThere}

// Decides reports whether a refund with this reading has ended.
func (r Reading) Decides() bool { return r == Done || r == FailedThere }

func (r Reading) String() string { return wire.Word(readingNames, int(r), "Reading") }

// A RequestAnswer is the answer to a request. It decides nothing: a query follows.
type RequestAnswer struct {
	order.Answer
	Reading RequestReading
}

// A RequestReading is the meaning of an answer to a request.
type RequestReading uint8

// The readings of a request.
const (
	RequestUnknown  RequestReading = iota // no answer, or one that does not say: the request may have had its effect
	RequestAccepted                       // the channel took the request
	RequestRefused                        // the channel refused the request, and says why
)

var requestNames = []string{"unknown", "accepted", "refused"}

func (r RequestReading) String() string { return wire.Word(requestNames, int(r), "RequestReading") }

// ReadRequest reads the answer to a request by its HTTP status alone: 200 to 299 is accepted, 400
// to 499 is refused, except for those statuses that say nothing about this request.
func ReadRequest(a order.Answer) RequestAnswer {
	switch s := a.Status; {
	case a.Result != bellman.Accepted && a.Result != bellman.ErrorStatus: // no complete answer
		return RequestAnswer{a, RequestUnknown}
	case s >= 200 && s <= 299:
		return RequestAnswer{a, RequestAccepted}
	case s < 400 || s > 499 || a.Throttled || slices.Contains([]int{408, 409, 425, 429}, s):
		return RequestAnswer{a, RequestUnknown}
	}
	return RequestAnswer{a, RequestRefused}
}

// AmountVar returns a variable of a refund or transfer that is an amount, in the currency's
// smallest unit.
func AmountVar(o *order.Order, name string) (int64, error) {
	n, err := strconv.ParseInt(o.Vars[name], 10, 64)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != o.Vars[name] {
		return 0, errors.New("want a whole number above 0, in the currency's smallest unit")
	}
	return n, nil
}
