package order

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order/internal/wire"
)

// The states of an order that are no [Reading]. The other states have the name of the reading that
// decided: PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED.
const (
	StatePending = "PENDING" // not decided yet
	StateUnknown = "UNKNOWN" // given up without a decision: a person has to check
)

// A Stage is the stage of an order's watch.
type Stage string

// The stages of a watch. The drawing above step shows their order.
const (
	Polling    Stage = "polling"    // queries on the schedule
	Closing    Stage = "closing"    // queries before a close: only an explicit "not paid" allows the close
	Close      Stage = "close"      // closes next
	Confirming Stage = "confirming" // queries whether the close held
	Reversing  Stage = "reversing"  // queries before a reverse
	Reverse    Stage = "reverse"    // reverses next
	Decided    Stage = "decided"    // over: decided, or UNKNOWN
	Watching   Stage = "watching"   // a task of its own: queries for a late payment
	Reclosing  Stage = "reclosing"  // of a watch: closes an order next that the channel did not know at the first close
)

var stages = []Stage{Polling, Closing, Close, Confirming, Reversing, Reverse, Decided, Watching, Reclosing}

// A Life is the progress of an order's watch: the Data of its task, as JSON. The zero Life has not
// begun.
type Life struct {
	Stage Stage  `json:"stage"`
	State string `json:"order_state"`

	Polls    int `json:"polls,omitempty"`    // readable answers while polling
	Closes   int `json:"closes,omitempty"`   // close requests
	Confirms int `json:"confirms,omitempty"` // unpaid readings since the close
	Reverses int `json:"reverses,omitempty"` // reverse requests without success
	Errors   int `json:"errors,omitempty"`   // attempts in a row without a usable answer

	Why     string `json:"why,omitempty"`     // why the close or reverse began: expired, exhausted, failed
	Reading string `json:"reading,omitempty"` // of the last query
	Close   string `json:"close,omitempty"`   // CloseReading of the last close or reverse; see note

	Began    int64 `json:"began,omitempty"`     // the task's Began, Unix ms; another value means that the task was restarted
	Number   int   `json:"number,omitempty"`    // of the last attempt
	Asked    int64 `json:"asked,omitempty"`     // when it started, Unix ms
	Stale    bool  `json:"stale,omitempty"`     // a close or reverse was delayed once beyond fresh or freshCancel, and the query before it repeated
	ClosedAt int64 `json:"closed_at,omitempty"` // when the channel accepted the close, Unix ms
	Cancels  bool  `json:"cancels,omitempty"`   // a reverse was due, or a close that cancels: each gives the money back of a payment that it meets

	DecidedAt int64           `json:"decided_at,omitempty"` // Unix ms
	Taken     json.RawMessage `json:"taken,omitempty"`      // fields of the payment, from the answer: an object
	Given     bool            `json:"given,omitempty"`      // the payment's number in Taken is what a person or a service said, not the channel
	Numbers   string          `json:"numbers,omitempty"`    // Then.Numbers when the payment's number in Taken was read
	Late      string          `json:"late_payment,omitempty"`

	// Payments are the hashes of the numbers of duplicate payments. The first payment's number is
	// in Taken; if Taken has none, its hash is the first here.
	Payments []string `json:"duplicate_payments,omitempty"`

	// Mismatch says which payment of another amount was found; empty: none.
	Mismatch string `json:"amount_mismatch,omitempty"`

	// Hinted says that a refused notice was recorded and has caused a query. [Handler.Complete]
	// says when another refused notice does the same.
	Hinted bool `json:"hinted,omitempty"`

	Repeats int `json:"repeats,omitempty"` // notices that changed nothing; see [MaxRepeats]
}

// ParseLife reads the Data of an order's task. Empty Data is the Life of an order that is polled.
// It returns an error for a Life that the protocol cannot have reached.
func ParseLife(data []byte) (Life, error) {
	if len(data) == 0 {
		return Life{Stage: Polling, State: StatePending}, nil
	}
	l := Life{Stage: Polling, State: StatePending}
	if err := wire.Parse(data, &l, "life of an order", l.check); err != nil {
		return Life{}, err
	}
	return l, nil
}

func (l *Life) check() error {
	if !slices.Contains(stages, l.Stage) {
		return fmt.Errorf("%.40q is no stage: want one of %v", l.Stage, stages)
	}
	decided := slices.Contains(readingNames[Paid:], l.State)
	switch open := l.State == StatePending; {
	case !open && !decided && l.State != StateUnknown:
		return fmt.Errorf("%.40q is no state of an order", l.State)
	case l.watches() && !decided, !l.watches() && open == (l.Stage == Decided):
		return fmt.Errorf("an order that is %s cannot be %s", l.Stage, l.State)
	case min(l.Polls, l.Closes, l.Confirms, l.Reverses, l.Errors, l.Number, l.Repeats) < 0:
		return fmt.Errorf("a count is negative")
	case l.Late != "" && l.Late != Paid.String() && l.Late != PaidRefunded.String():
		return fmt.Errorf("%.40q is no late payment: want PAID or PAID_REFUNDED", l.Late)
	}
	if l.Taken = bytes.TrimSpace(l.Taken); len(l.Taken) > 0 && l.Taken[0] != '{' {
		return fmt.Errorf("what was taken is no object")
	}
	return nil
}

// encode writes the JSON that ParseLife reads.
func (l *Life) encode() []byte { return wire.Encode(l) }

// StateOf returns the state of the order that a task watches. If the watch ended without a
// decision, the state is UNKNOWN.
func StateOf(t *bellman.Task) string {
	l, err := ParseLife(t.Data)
	switch {
	case err != nil:
		return StateUnknown
	case l.State != StatePending:
		return l.State
	case t.State.Ended(), t.Before != nil && t.Before.State.Ended():
		return StateUnknown
	}
	return StatePending
}

// over reports whether the order is decided or given up.
func (l *Life) over() bool { return l.Stage == Decided }

// watches reports whether this is the life of a watch for a late payment.
func (l *Life) watches() bool { return l.Stage == Watching || l.Stage == Reclosing }

// unborn reports whether the channel did not know the order when it was closed, and does not know
// it since.
func (l *Life) unborn() bool {
	return l.State == Closed.String() && l.Close == CloseNotExist.String() && l.Reading == NotFound.String()
}

// news reports whether a reading after the decision is a payment that is not known yet. The refund
// of a reversed payment is not news: it is what the reverse was for.
func (l *Life) news(r Reading) bool {
	return r.IsPaid() && l.Late == "" && !l.isPaid() && !(r == PaidRefunded && l.State == Revoked.String())
}

// reversing reports whether an order that is not decided is reversed or cancelled next, or may have
// been.
func (l *Life) reversing() bool {
	return l.Stage == Reversing || l.Stage == Reverse || l.Cancels
}

// refundedByReverse reports whether the channel said that the reverse refunded a payment. The
// notice of that payment may come later.
func (l *Life) refundedByReverse() bool {
	return l.over() && !l.isPaid() && l.Close == CloseRefunded.String() && l.Late == ""
}

// perhapsReversed reports whether an order may have been reversed or cancelled, by this queue or
// somebody else. An old notice of its payment may then tell of money that was given back.
func (l *Life) perhapsReversed() bool { return l.Cancels || l.State == Revoked.String() }

// maxPayments limits the duplicate payments that are told of one order.
const maxPayments = 20

// contradicts reports whether a query says that an order was not paid, and a payment is known: the
// order was UNKNOWN, and is restarted.
func (l *Life) contradicts(a answer) bool {
	return a.act == askQuery && !a.ended && !l.over() && !l.watches() && (l.Late != "" || l.Mismatch != "") && !a.reading.IsPaid()
}

// paidAgain reports whether an answer after the decision is about another payment than those that
// are known. Only the channel's number tells payments apart: without it there is no notification.
func (l *Life) paidAgain(a answer) bool {
	known := l.firstPayment()
	return l.namesPayment(a) && len(l.Payments) < maxPayments && (known != "" || len(l.Payments) > 0) &&
		known != a.payment && !slices.Contains(l.Payments, hashed(a.payment))
}

// paidFirst reports whether an answer after the decision is the first one with the payment's
// number.
func (l *Life) paidFirst(a answer) bool {
	return l.namesPayment(a) && a.mismatch == "" && l.firstPayment() == "" && len(l.Payments) == 0
}

// namesPayment reports whether an answer has the number of a payment, and the order is known as
// paid.
func (l *Life) namesPayment(a answer) bool {
	return a.reading.IsPaid() && (l.isPaid() || l.Late != "") && a.payment != ""
}

// firstPayment returns the number of the payment in Taken; empty: it has none.
func (l *Life) firstPayment() string {
	var first struct {
		ID any `json:"transaction_id"`
	}
	json.Unmarshal(l.Taken, &first) // check has read it; otherwise nothing is known
	known, _ := first.ID.(string)
	return known
}

// addPayments adds the payments of another task of the same order.
func (l *Life) addPayments(known *Life) {
	hashes := known.Payments
	if first := known.firstPayment(); first != "" {
		hashes = append([]string{hashed(first)}, hashes...)
	}
	payments := slices.Clone(l.Payments)
	for _, hash := range hashes {
		if hash != hashed(l.firstPayment()) && !slices.Contains(payments, hash) {
			payments = append(payments, hash)
		}
	}
	l.Payments = payments
}

func (l *Life) isPaid() bool {
	return l.State == Paid.String() || l.State == PaidRefunded.String()
}

// reason returns why the task of a decided order ended: "paid".
func (l *Life) reason() string { return strings.ToLower(l.State) }

// fresh is the longest time between the start of a query and the close that it allows. freshCancel
// is that time for a reverse, and for a close that cancels: each gives the money of a payment back.
// A database that fails over to an asynchronous replica may lose the decision that the order is
// paid, and bring back the state just before the reverse. Such a fail-over usually takes longer.
const (
	fresh       = 10 * time.Minute
	freshCancel = 30 * time.Second
)

// resume returns the life at the start of an attempt. A restarted task begins with a new life,
// unless the order is decided. A payment that is known stays known. An attempt closes or reverses
// only if the attempt just before it was a query and is recent; otherwise it queries again.
func (l Life) resume(t *bellman.Task, number int, now time.Time) Life {
	if began := t.Began.UnixMilli(); l.Began != began {
		known := Life{Cancels: l.Cancels, Hinted: l.Hinted, Repeats: l.Repeats, Late: l.Late, Mismatch: l.Mismatch, Taken: l.Taken, Given: l.Given, Numbers: l.Numbers, Payments: l.Payments}
		switch {
		case l.watches():
			known.Stage, known.State, known.DecidedAt = Watching, l.State, l.DecidedAt
			l = known
		case !l.over() || l.State == StateUnknown:
			known.Stage, known.State = Polling, StatePending
			l = known
		}
		l.Began = began
	}
	if l.Stage != Close && l.Stage != Reverse && l.Stage != Reclosing {
		return l
	}
	most := fresh
	if l.Cancels {
		most = freshCancel
	}
	old := !l.Stale && now.Sub(time.UnixMilli(l.Asked)) > most
	if old || t.Before != nil || t.Trigger != bellman.BySchedule || t.InDoubt() || number != l.Number+1 {
		l.Stale = l.Stale || old // once: an order whose every step is late must still make progress
		l.Stage = l.before()
	}
	return l
}

// before returns the stage whose query must precede the action of this stage.
func (l *Life) before() Stage {
	switch l.Stage {
	case Reverse:
		return Reversing
	case Reclosing:
		return Watching
	}
	return Closing
}
