package order

import (
	"bytes"
	"cmp"
	"encoding/json"
	"time"

	"github.com/bellmanhq/bellman"
)

// A Standing is the state of an order, as one of its tasks has it.
type Standing struct {
	State string // PENDING, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED or UNKNOWN; empty: the task keeps a notice
	Late  string // PAID or PAID_REFUNDED: a payment after the decision; empty: none

	Mismatch   string // which payment of another amount was found; empty: none
	Duplicates int    // further payments of an order that is paid

	Paid json.RawMessage // fields of the payment, as [Taken]; empty: none is known

	// Decided is when the order became State, or was given up. Zero: the order is PENDING, or its
	// watch was cancelled.
	Decided time.Time

	Beside  bool // not the order's own task: it watches for a payment after the decision, or keeps a notice
	Closing bool // the next attempts are the steps of the close protocol
	Acting  bool // the next attempt closes or reverses; a manual attempt queries instead
	Timed   bool // the close protocol sets the due time of the next attempt; do not move it
}

// StandingOf returns the state of the order of a task. If the task cannot be read, the state is
// UNKNOWN.
func StandingOf(t *bellman.Task) Standing {
	if t.Event == EventNotice {
		return Standing{Beside: true}
	}
	if t.Event == EventLateWatch && len(t.Data) == 0 { // its order's state is known from the start
		if a, err := ParseAsk(t.Body); err == nil && a.Watch != nil {
			return Standing{State: a.Watch.State, Beside: true}
		}
	}
	l, err := ParseLife(t.Data)
	if err != nil {
		return Standing{State: StateUnknown}
	}
	s := Standing{State: StateOf(t), Late: l.Late, Mismatch: l.Mismatch, Duplicates: len(l.Payments), Paid: l.Taken}
	if s.Duplicates > 0 && l.firstPayment() == "" { // the first payment is one of them
		s.Duplicates--
	}
	if l.DecidedAt != 0 {
		s.Decided = time.UnixMilli(l.DecidedAt).UTC()
	}
	switch l.Stage {
	case Watching, Reclosing:
		s.Beside = true
	case Close, Reverse:
		s.Closing, s.Acting = true, true
	case Confirming:
		s.Closing, s.Timed = true, true
	case Closing, Reversing:
		s.Closing = true
	}
	return s
}

// Refuses reports whether [Handler.Complete] rejects an outcome because it contradicts the
// decision. After the decision, Complete accepts only a payment or the decided state.
func (s *Standing) Refuses(outcome string) bool {
	r, err := ParseReading(outcome)
	return err == nil && !r.IsPaid() && outcome != s.State && (s.Beside || !s.Decided.IsZero() && s.State != StateUnknown)
}

// Open reports whether a person has to check an order: its state is UNKNOWN, and no payment was
// found or entered since.
func (s *Standing) Open() bool { return s.State == StateUnknown && s.Late == "" }

// Expired reports whether the expiry of an order has passed. It is false if the order has none.
func Expired(t *bellman.Task, now time.Time) bool {
	a, err := ParseAsk(t.Body)
	if err != nil || a.Watch != nil || a.Expires == 0 {
		return false
	}
	if a.Created.IsZero() {
		a.Created = t.Created()
	}
	return !a.Created.Add(a.Expires).After(now)
}

// A Payment is what the channel said about a payment, or who decided the order. A field is zero if
// nobody said it in the form of [Taken].
type Payment struct {
	TransactionID string
	Amount        int64
	Currency      string
	At            time.Time
}

// Payment returns the payment that decided the order or came late; zero: none is known.
func (s *Standing) Payment() (p Payment) {
	if len(s.Paid) == 0 {
		return p
	}
	var taken Taken
	d := json.NewDecoder(bytes.NewReader(s.Paid))
	d.UseNumber()
	d.Decode(&taken) // check has read it; otherwise nothing is known
	p.TransactionID = paymentOf(taken)
	p.Amount, _ = amountOf(taken["amount"])
	p.Currency, _ = taken["currency"].(string)
	at, _ := taken["paid_at"].(string)
	p.At, _ = time.Parse(time.RFC3339, at)
	return p
}

// Overall returns the standing of an order from all its tasks, which must be sorted from the
// newest. The order is paid if one of its own tasks is paid, otherwise pending if one is pending,
// otherwise as the newest says. own is the task that decides so; nil: the order has no task of its
// own. Late may come from any task. So may Paid if own has none.
func Overall(tasks []*bellman.Task) (s Standing, own *bellman.Task) {
	for _, t := range tasks {
		if t.Kind == bellman.KindOrder && s.take(StandingOf(t), own == nil) {
			own = t
		}
	}
	return s, own
}

// take adds the standing of an older task, and reports whether that task now decides the order's.
func (s *Standing) take(older Standing, first bool) bool {
	paid := func(state string) bool { return state == Paid.String() || state == PaidRefunded.String() }
	late := cmp.Or(s.Late, older.Late)
	takes := !older.Beside && (first || !paid(s.State) && (paid(older.State) || older.State == StatePending && s.State != StatePending))
	switch found := s.Paid; {
	case takes:
		if *s = older; len(s.Paid) == 0 {
			s.Paid = found
		}
	case older.Beside && older.Late != "" && len(found) == 0:
		s.Paid = older.Paid
	}
	s.Late = late
	return takes
}
