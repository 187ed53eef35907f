package order

import (
	"time"

	"github.com/bellmanhq/bellman"
)

// A Standing is how an order stands, as far as one of its tasks says.
type Standing struct {
	State string // PENDING, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED or UNKNOWN
	Late  string // PAID or PAID_REFUNDED: a payment that came after the decision; empty: none

	// Decided is when the order became State, or was given up; zero: it is PENDING, or
	// its watch was cancelled.
	Decided time.Time

	Watch   bool // the task is not the order's own: it watches for a payment after the decision
	Closing bool // the next attempts are the steps of the close protocol
	Acting  bool // the next attempt closes or reverses; an attempt that somebody asks for is a query instead
	Timed   bool // the due time of the next attempt is part of the protocol: it is not moved
}

// StandingOf returns how the order of a task stands.
func StandingOf(t *bellman.Task) Standing {
	if t.Event == EventLateWatch && len(t.Data) == 0 { // it knows its order's state from the start
		if a, err := ParseAsk(t.Body); err == nil && a.Watch != nil {
			return Standing{State: a.Watch.State, Watch: true}
		}
	}
	l, err := ParseLife(t.Data)
	if err != nil {
		return Standing{State: StateUnknown}
	}
	s := Standing{State: StateOf(t), Late: l.Late}
	if l.DecidedAt != 0 {
		s.Decided = time.UnixMilli(l.DecidedAt).UTC()
	}
	switch l.Stage {
	case Watching, Reclosing:
		s.Watch = true
	case Close, Reverse:
		s.Closing, s.Acting = true, true
	case Confirming:
		s.Closing, s.Timed = true, true
	case Closing, Reversing:
		s.Closing = true
	}
	return s
}

// Refuses reports whether an outcome contradicts the decision: [Handler.Complete] takes a payment after it, and the
// same once more.
func (s *Standing) Refuses(outcome string) bool {
	r, err := ParseReading(outcome)
	return err == nil && !r.IsPaid() && outcome != s.State && (s.Watch || !s.Decided.IsZero() && s.State != StateUnknown)
}

// Open reports whether somebody has to look at an order: it was given up, and no payment
// was found or entered since.
func (s *Standing) Open() bool { return s.State == StateUnknown && s.Late == "" }

// Expired reports whether an order can be paid no more by what was asked for.
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
