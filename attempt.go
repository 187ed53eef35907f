package bellman

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Attempt records one try, answered or not.
type Attempt struct {
	Number   int           // 1 for the first
	Trigger  Trigger       // why it was made
	Due      time.Time     // earliest time it was allowed to start
	Started  time.Time     // never before Due
	Took     time.Duration // start to last byte, or to giving up
	Action   string        // what was requested, if the handler has several kinds of requests: "query", "close"; otherwise empty
	Reading  string        // how the handler read the answer: PENDING, PAID, paid_hint; empty: it does not read answers
	Timing   Timing        // parts of Took
	Result   Result
	Status   int    // HTTP status; 0 if no answer came
	Response string // the answer, cut at 600 characters

	// Header is the header of an answer that was not accepted, a line "Name: value" for each name,
	// at most [MaxResponseHeader] characters. Fields that hold credentials are left out. Empty: the
	// answer was accepted, none came, or the handler does not keep headers.
	Header string

	Error string // what went wrong, in one line; empty if nothing did

	// Node is the node that made the attempt. For an attempt that a death lost it is the dead owner
	// of the task's shard, or empty if the owner had released the shard.
	Node string
}

// Headers returns Header by name; nil if it is empty.
func (a *Attempt) Headers() map[string]string {
	if a.Header == "" {
		return nil
	}
	all := map[string]string{}
	for line := range strings.Lines(a.Header) {
		if name, value, is := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); is {
			all[name] = value
		}
	}
	return all
}

// Timing is the duration of each part of a request. A part that did not happen is zero: a reused
// connection needs no DNS, connect or TLS.
type Timing struct {
	DNS       time.Duration // resolving the name
	Connect   time.Duration // TCP, or to the proxy
	TLS       time.Duration // handshake
	FirstByte time.Duration // from the open connection to the first byte of the answer
}

// Lateness is Started minus Due, never negative.
func (a *Attempt) Lateness() time.Duration { return max(a.Started.Sub(a.Due), 0) }

// A Result is the outcome of an attempt in one word.
type Result uint8

// The results of an attempt.
const (
	Unknown     Result = iota // the node died between sending and recording, or a stop cut the attempt off
	Accepted                  // the expected answer
	Refused                   // another answer
	ErrorStatus               // an answer whose HTTP status is an error
	Unreachable               // no connection, or it broke before an answer
	TimedOut                  // no answer in time
	Blocked                   // the egress guard refused the address
)

var resultNames = []string{"unknown", "accepted", "refused", "error_status", "unreachable", "timeout", "blocked"}

func (r Result) String() string { return name(resultNames, int(r), "result") }

// MarshalText writes the result's name.
func (r Result) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a result's name.
func (r *Result) UnmarshalText(text []byte) (err error) {
	*r, err = parse[Result](resultNames, string(text), "result")
	return err
}

// A Trigger is the reason of an attempt.
type Trigger uint8

// The triggers of an attempt.
const (
	BySchedule Trigger = iota // it was due
	ByHand                    // a person or a service asked for it
	BySettle                  // a reader wanted the final state now
	ByTakeover                // its last owner may have attempted it without recording that, usually because that node died
)

var triggerNames = []string{"schedule", "manual", "settle", "takeover"}

func (t Trigger) String() string { return name(triggerNames, int(t), "trigger") }

// MarshalText writes the trigger's name.
func (t Trigger) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a trigger's name.
func (t *Trigger) UnmarshalText(text []byte) (err error) {
	*t, err = parse[Trigger](triggerNames, string(text), "trigger")
	return err
}

func name(names []string, i int, kind string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}

func parse[T ~uint8](names []string, text, kind string) (T, error) {
	i := slices.Index(names, text)
	if i < 0 {
		return 0, fmt.Errorf("bellman: unknown %s %.40q: want one of %s", kind, text, strings.Join(names, ", "))
	}
	return T(i), nil
}
