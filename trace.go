package bellman

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
)

// A Trace is the place in a trace that something was done under, as in W3C Trace
// Context: a span of this trace is its parent. Whoever has one shares it, so it must
// not be changed.
type Trace struct {
	ID    [16]byte // of the trace; never zero
	Span  [8]byte  // the parent; never zero
	Flags byte     // 1: the trace is recorded; 2: its id is random
	State string   // tracestate: what others want to find again; at most 512 bytes, may be empty
}

const (
	sampled    = 1
	knownFlags = 3
)

// ParseTrace reads the headers traceparent and tracestate. What is no traceparent is
// nil, and a tracestate that is none is left out, as the standard asks for.
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

// isState reports whether text may be sent on as a tracestate: up to 32 members
// KEY=VALUE with commas between them.
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

// Parent is the header traceparent.
func (t *Trace) Parent() string {
	b := append(make([]byte, 0, 55), "00-"...)
	b = append(hex.AppendEncode(b, t.ID[:]), '-')
	b = append(hex.AppendEncode(b, t.Span[:]), '-')
	return string(hex.AppendEncode(b, []byte{t.Flags & knownFlags}))
}

// TraceID is the trace's id in hexadecimal, as pages of traces and logs have it;
// empty of nil.
func (t *Trace) TraceID() string {
	if t == nil {
		return ""
	}
	return hex.EncodeToString(t.ID[:])
}

// Sampled reports whether the trace is recorded.
func (t *Trace) Sampled() bool { return t.Flags&sampled != 0 }

// AppendBinary writes what UnmarshalBinary reads: 25 bytes and the state. Stores keep
// it so.
func (t *Trace) AppendBinary(b []byte) ([]byte, error) {
	b = append(append(append(b, t.ID[:]...), t.Span[:]...), t.Flags)
	return append(b, t.State...), nil
}

// UnmarshalBinary reads what AppendBinary wrote.
func (t *Trace) UnmarshalBinary(b []byte) error {
	const size = len(t.ID) + len(t.Span) + 1
	if len(b) < size {
		return errors.New("bellman: a trace is cut short")
	}
	*t = Trace{ID: [16]byte(b), Span: [8]byte(b[16:]), Flags: b[24], State: string(b[size:])}
	return nil
}

// WithTrace returns a context of what is done under t.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceOf returns the trace that ctx is of; nil: none. In an attempt it is that of
// the attempt's span, which a handler may send on.
func TraceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

type traceKey struct{}

// A Tracer makes spans of what happens to tasks, for people to look at elsewhere. Its
// methods are called on hot paths, from many goroutines, and must return at once.
type Tracer interface {
	// Trace returns the trace that ctx is of; nil: none. Tasks that are added under it
	// and have no Trace get this one.
	Trace(ctx context.Context) *Trace

	// Added follows each call that added tasks under ctx, with what became of them.
	Added(ctx context.Context, tasks []*Task, added []Added)

	// Attempt begins the span of an attempt of task to endpoint, under the task's
	// Trace. The handler gets the context that it returns, of which TraceOf is the span's.
	// Of a, Number, Trigger, Due and Started are known.
	Attempt(ctx context.Context, task *Task, a *Attempt, endpoint string) (context.Context, Span)
}

// A Span is an attempt that is being made.
type Span interface {
	// End ends it, once: with the attempt as it will be recorded, and with what the
	// task becomes by it, as far as is known before that is stored.
	End(a *Attempt, to *Status)
}
