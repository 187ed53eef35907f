package bellman

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
)

// A Trace is a position in a distributed trace, as in W3C Trace Context: new spans get it as their
// parent. It is shared; do not modify it.
type Trace struct {
	ID    [16]byte // of the trace; never zero
	Span  [8]byte  // the parent; never zero
	Flags byte     // 1: the trace is recorded; 2: its id is random
	State string   // tracestate, at most 512 bytes; may be empty
}

const (
	sampled    = 1
	knownFlags = 3
)

// ParseTrace reads the headers traceparent and tracestate. It returns nil for an invalid
// traceparent, and ignores an invalid tracestate, as the standard requires.
func ParseTrace(traceparent, tracestate string) *Trace {
	const size = len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	p := traceparent
	if len(p) < size || p[2] != '-' || p[35] != '-' || p[52] != '-' || len(p) > size && (p[:2] == "00" || p[size] != '-') {
		return nil
	}
	t := new(Trace)
	var version, flags [1]byte
	if !unhex(version[:], p[:2]) || !unhex(t.ID[:], p[3:35]) || !unhex(t.Span[:], p[36:52]) || !unhex(flags[:], p[53:55]) ||
		version[0] == 0xff || t.ID == [16]byte{} || t.Span == [8]byte{} {
		return nil
	}
	t.Flags = flags[0] & knownFlags
	if state := strings.Trim(tracestate, " \t"); isState(state) {
		t.State = state
	}
	return t
}

// unhex reads lower-case hexadecimal digits.
func unhex(to []byte, text string) bool {
	for i := range len(text) {
		if c := text[i]; 'A' <= c && c <= 'F' {
			return false
		}
	}
	_, err := hex.Decode(to, []byte(text))
	return err == nil
}

// isState reports whether text is a valid tracestate: up to 32 members KEY=VALUE separated by
// commas.
func isState(text string) bool {
	if len(text) > 512 || strings.Count(text, ",") >= 32 {
		return false
	}
	for member := range strings.SplitSeq(text, ",") {
		member = strings.Trim(member, " \t")
		key, value, found := strings.Cut(member, "=")
		if member == "" {
			continue
		}
		if !found || key == "" || value == "" || len(key) > 256 || len(value) > 256 {
			return false
		}
		for _, c := range []byte(key) {
			if ('a' > c || c > 'z') && ('0' > c || c > '9') && !strings.ContainsRune("_-*/@", rune(c)) {
				return false
			}
		}
		for _, c := range []byte(value) {
			if c < ' ' || c > '~' || c == '=' {
				return false
			}
		}
	}
	return true
}

// Parent returns the header traceparent.
func (t *Trace) Parent() string {
	b := append(make([]byte, 0, 55), "00-"...)
	b = append(hex.AppendEncode(b, t.ID[:]), '-')
	b = append(hex.AppendEncode(b, t.Span[:]), '-')
	return string(hex.AppendEncode(b, []byte{t.Flags & knownFlags}))
}

// TraceID returns the trace id in hexadecimal; empty for a nil trace.
func (t *Trace) TraceID() string {
	if t == nil {
		return ""
	}
	return hex.EncodeToString(t.ID[:])
}

// Sampled reports whether the trace is recorded.
func (t *Trace) Sampled() bool { return t.Flags&sampled != 0 }

// AppendBinary appends the form that stores keep: 25 bytes and the state.
func (t *Trace) AppendBinary(b []byte) ([]byte, error) {
	b = append(append(append(b, t.ID[:]...), t.Span[:]...), t.Flags)
	return append(b, t.State...), nil
}

// UnmarshalBinary reads the form of AppendBinary.
func (t *Trace) UnmarshalBinary(b []byte) error {
	const size = len(t.ID) + len(t.Span) + 1
	if len(b) < size {
		return errors.New("bellman: a trace is cut short")
	}
	*t = Trace{ID: [16]byte(b), Span: [8]byte(b[16:]), Flags: b[24], State: string(b[size:])}
	return nil
}

// WithTrace returns a context that carries t.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceOf returns the trace of ctx; nil: none. In an attempt it is the trace of the attempt's span,
// which a handler may send on.
func TraceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

type traceKey struct{}

// A Tracer makes spans of attempts and of calls that add tasks. Its methods are called concurrently
// on hot paths and must return at once.
type Tracer interface {
	// Trace returns the trace of ctx; nil: none. Tasks without a trace that are added in ctx get
	// it.
	Trace(ctx context.Context) *Trace

	// Added is called after each call that added tasks in ctx, with the results.
	Added(ctx context.Context, tasks []*Task, added []Added)

	// Attempt starts the span of an attempt to endpoint, with the task's Trace as its parent. The
	// handler gets the returned context, whose TraceOf is the new span. Of a, only Number, Trigger,
	// Due and Started are set.
	Attempt(ctx context.Context, task *Task, a *Attempt, endpoint string) (context.Context, Span)
}

// A Span is the span of an attempt in flight.
type Span interface {
	// End ends the span. It is called once, with the attempt as it will be recorded and the new
	// status, before that is committed.
	End(a *Attempt, to *Status)
}
