package pack

import (
	"encoding/binary"
	"time"

	"github.com/bellmanhq/bellman"
)

// Attempt appends an attempt of a task, except its number. The bits of the first byte say which of
// the fields follow that few attempts have.
func Attempt(b []byte, id bellman.ID, a *bellman.Attempt) []byte {
	durations, texts := rare(a)
	first := len(b)
	b = append(b, 0, byte(a.Trigger), byte(a.Result))
	b = Time(b, a.Due, Created(id))
	b = Time(b, a.Started, startedBase(id, a))
	b = binary.AppendVarint(b, int64(a.Took))
	b = binary.AppendVarint(b, int64(a.Status))
	b = Text(Text(Text(b, a.Response), a.Error), a.Node)
	for i, d := range durations {
		if *d != 0 {
			b[first] |= 1 << i
			b = binary.AppendVarint(b, int64(*d))
		}
	}
	for i, s := range texts {
		if *s != "" {
			b[first] |= 1 << (len(durations) + i)
			b = Text(b, *s)
		}
	}
	return b
}

// Attempt reads the result of Attempt, which ends the row, into an attempt that has its number.
func (r *Reader) Attempt(id bellman.ID, a *bellman.Attempt) error {
	first := r.Byte()
	*a = bellman.Attempt{Number: a.Number, Trigger: bellman.Trigger(r.Byte()), Result: bellman.Result(r.Byte())}
	a.Due = r.Time(Created(id))
	a.Started = r.Time(startedBase(id, a))
	a.Took = r.Duration()
	a.Status = int(r.Varint())
	a.Response, a.Error, a.Node = r.Text(), r.Text(), r.Text()
	durations, texts := rare(a)
	for i, d := range durations {
		if first>>i&1 != 0 {
			*d = r.Duration()
		}
	}
	for i, s := range texts {
		if first>>(len(durations)+i)&1 != 0 {
			*s = r.Text()
		}
	}
	return r.End()
}

// rare returns the fields that few attempts have.
func rare(a *bellman.Attempt) (durations [4]*time.Duration, texts [3]*string) {
	t := &a.Timing
	return [...]*time.Duration{&t.DNS, &t.Connect, &t.TLS, &t.FirstByte}, [...]*string{&a.Action, &a.Reading, &a.Header}
}

// startedBase is the time to which Started is relative: most attempts start soon after they are
// due.
func startedBase(id bellman.ID, a *bellman.Attempt) int64 {
	if a.Due.IsZero() {
		return Created(id)
	}
	return a.Due.UnixMilli()
}
