package poll

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

// The states of a polled refund or transfer.
const (
	StatePending     = "PENDING"      // not decided yet
	StateDone        = "DONE"         // the money arrived
	StateFailedThere = "FAILED_THERE" // the channel ended it without success
	StateUnknown     = "UNKNOWN"      // its task was cancelled before it was decided
)

// A Stage says what the next attempt does.
type Stage string

// The stages of a life.
const (
	Announcing Stage = "announcing" // announces the first request, and sends nothing
	Requesting Stage = "requesting" // sends the request that was announced
	Polling    Stage = "polling"    // queries
	Decided    Stage = "decided"    // over
)

var stages = []Stage{Announcing, Requesting, Polling, Decided}

// A Life is the progress of a task: its Data, as JSON. The zero Life has not begun.
type Life struct {
	Stage Stage  `json:"stage"`
	State string `json:"poll_state"`

	Polls   int    `json:"polls,omitempty"`   // readable answers that did not decide
	Errors  int    `json:"errors,omitempty"`  // attempts in a row without a usable answer
	Slow    int    `json:"slow,omitempty"`    // index of the next pause in slowGaps, once the schedule is used up
	Reading string `json:"reading,omitempty"` // of the last query

	Requests  int    `json:"requests,omitempty"`   // announced so far, so that many may have been sent
	FirstAt   int64  `json:"first_at,omitempty"`   // when the first was announced, Unix ms
	RequestAt int64  `json:"request_at,omitempty"` // when the last was announced or sent, Unix ms
	Request   string `json:"request,omitempty"`    // RequestReading of the last; empty: no answer was recorded

	// Doubt is the outcome that a notice said after another decision; empty: none did, or a query
	// has settled it since.
	Doubt string `json:"doubt,omitempty"`

	Alerts []string `json:"alerts,omitempty"` // what somebody was told of already

	Repeats int `json:"repeats,omitempty"` // notices so far; see [order.MaxRepeats]

	Began  int64 `json:"began,omitempty"`  // the task's Began, Unix ms; another value means that the task was restarted
	Number int   `json:"number,omitempty"` // of the last attempt

	DecidedAt int64           `json:"decided_at,omitempty"` // Unix ms
	Taken     json.RawMessage `json:"taken,omitempty"`      // fields of the refund or transfer, from the answer: an object
}

// ParseLife reads the Data of a task. Empty Data is a Life that polls. It returns an error for a
// Life that the protocol cannot have reached.
func ParseLife(data []byte) (Life, error) {
	l := Life{Stage: Polling, State: StatePending}
	if err := wire.Parse(data, &l, "life of a poll", l.check); err != nil {
		return Life{}, err
	}
	return l, nil
}

func (l *Life) check() error {
	switch decided := l.State == StateDone || l.State == StateFailedThere; {
	case !slices.Contains(stages, l.Stage):
		return fmt.Errorf("%.40q is no stage: want one of %v", l.Stage, stages)
	case !decided && l.State != StatePending:
		return fmt.Errorf("%.40q is no state", l.State)
	case decided != (l.Stage == Decided):
		return fmt.Errorf("a poll that is %s cannot be %s", l.Stage, l.State)
	case min(l.Polls, l.Errors, l.Slow, l.Requests, l.Number) < 0:
		return fmt.Errorf("a count is negative")
	case l.Stage == Requesting && l.Requests == 0, l.Stage == Announcing && l.Requests > 0:
		return fmt.Errorf("%d requests were announced, and it is %s", l.Requests, l.Stage)
	case (l.Requests > 0) != (l.FirstAt != 0) || (l.Requests > 0) != (l.RequestAt != 0):
		return fmt.Errorf("%d requests were announced, and the times do not fit", l.Requests)
	}
	if l.Taken = bytes.TrimSpace(l.Taken); len(l.Taken) > 0 && l.Taken[0] != '{' {
		return fmt.Errorf("what was taken is no object")
	}
	return nil
}

// encode writes the JSON that ParseLife reads.
func (l *Life) encode() []byte { return wire.Encode(l) }

// A Standing is what the pages and the API show of a task.
type Standing struct {
	State   string // PENDING, DONE, FAILED_THERE or UNKNOWN
	RefNo   string
	Decided time.Time // zero: not decided
	Taken   string    // a JSON object: what the channel said, with the fields of [Taken]; empty: nothing
	Alerted bool      // somebody was told that a person must look, and the decision has not settled that
	Alert   string    // why, the latest: used_up, refused, not_there, contradicts, person, abnormal, untold or sent; empty: nobody was told
}

// StandingOf returns how the refund or transfer of a task stands. If the task cannot be read, the
// state is UNKNOWN.
func StandingOf(t *bellman.Task) Standing {
	s := Standing{State: StateUnknown}
	if ask, err := ParseAsk(t.Body); err == nil {
		s.RefNo = ask.RefNo
	}
	l, err := ParseLife(t.Data)
	switch {
	case err != nil:
		return s
	case l.State != StatePending:
		s.State, s.Decided, s.Taken = l.State, time.UnixMilli(l.DecidedAt).UTC(), string(l.Taken)
	case !t.State.Ended() && (t.Before == nil || !t.Before.State.Ended()):
		s.State = StatePending
	}
	if n := len(l.Alerts); n > 0 {
		s.Alerted, s.Alert = true, l.Alerts[n-1]
	}
	return s
}

// Refuses reports whether an outcome contradicts the decision.
func (s *Standing) Refuses(outcome string) bool {
	return !s.Decided.IsZero() && outcome != s.State
}

// doubts reports whether the outcome in a notice contradicts the decision, and neither a query nor
// an alert is about that yet.
func (l *Life) doubts(outcome string) bool {
	return l.over() && outcome != "" && outcome != l.State && l.Doubt == "" && !slices.Contains(l.Alerts, alertContradicts)
}

// tooLate reports whether the channel may have forgotten the number of the first request.
func (l *Life) tooLate(now time.Time) bool {
	return !now.Before(time.UnixMilli(l.FirstAt).Add(RequestFor))
}

func (l *Life) over() bool { return l.Stage == Decided }

// unsent reports whether the next scheduled attempt announces a request, or sends it.
func (l *Life) unsent() bool { return l.Stage == Announcing || l.Stage == Requesting }

// reason returns why the task of a decided life ended: done or failed_there.
func (l *Life) reason() string { return strings.ToLower(l.State) }

// warn notes an alert. It reports whether it is the first of its kind.
func (l *Life) warn(kind string) bool {
	if slices.Contains(l.Alerts, kind) {
		return false
	}
	l.Alerts = append(slices.Clone(l.Alerts), kind)
	return true
}

// resume returns the life at the start of an attempt. A restarted task polls its schedule from the
// start, and keeps what is known of its requests. A request is sent only by the attempt right after
// its announcement. If anything may have come in between, the request may have been sent until now:
// queries follow instead. They also follow if a repeat was announced in time, and its turn comes
// too late.
func (l Life) resume(t *bellman.Task, number int, requests bool, now time.Time) Life {
	began := t.Began.UnixMilli()
	restarted := l.Began != began && l.Number > 0
	l.Began = began
	if restarted {
		l.Polls, l.Errors, l.Slow = 0, 0, 0
		l.Alerts = slices.DeleteFunc(slices.Clone(l.Alerts), func(kind string) bool { return kind == alertUsedUp })
	}
	switch {
	case l.Stage == Requesting && (!requests || restarted || t.InDoubt() || number != l.Number+1 || l.Requests > 1 && l.tooLate(now)):
		l.Stage, l.RequestAt = Polling, now.UnixMilli()
	case l.Stage == Announcing && !requests:
		l.Stage = Polling
	}
	return l
}
