package pebble

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
)

// format begins each row that may one day be written differently.
const format = 1

// A status is what a hot or an ended row says of a task.
type status struct {
	bellman.Status
	queue uint32
	line  bellman.Line
}

// What a status row has, beyond what every one has. The lowest two bits are
// the state.
const (
	hasReason = 1 << (iota + 2)
	hasTrigger
	hasBegan
	beganIsDue
	hasDue
	hasLook
	lookIsDue
	hasUpdated
	hasFinished
	hasBefore
	hasData
)

// appendStatus encodes st. Times are milliseconds since the task was created,
// which its id says, so that they are short.
func appendStatus(b []byte, id bellman.ID, st *status) []byte {
	base := created(id)
	flags := uint16(st.State)
	set := func(has uint16, when bool) {
		if when {
			flags |= has
		}
	}
	set(hasReason, st.Reason != "")
	set(hasTrigger, st.Trigger != 0)
	set(hasDue, !st.Due.IsZero())
	set(hasBegan, !st.Began.IsZero())
	set(hasLook, !st.Look.IsZero())
	same := flags & hasDue
	set(beganIsDue, same != 0 && flags&hasBegan != 0 && milli(st.Began) == milli(st.Due))
	set(lookIsDue, same != 0 && flags&hasLook != 0 && milli(st.Look) == milli(st.Due))
	set(hasUpdated, !st.Updated.IsZero())
	set(hasFinished, !st.Finished.IsZero())
	set(hasBefore, st.Before != nil)
	set(hasData, len(st.Data) > 0)

	b = append(b, format, byte(flags), byte(flags>>8))
	b = binary.LittleEndian.AppendUint64(b, uint64(st.line))
	b = binary.AppendUvarint(b, uint64(st.queue))
	b = binary.AppendUvarint(b, uint64(st.Version))
	b = binary.AppendUvarint(b, uint64(st.Shard))
	b = binary.AppendUvarint(b, uint64(st.Attempts))
	b = binary.AppendUvarint(b, uint64(st.Step))
	if flags&hasReason != 0 {
		b = appendText(b, st.Reason)
	}
	if flags&hasTrigger != 0 {
		b = append(b, byte(st.Trigger))
	}
	if flags&hasDue != 0 {
		b = binary.AppendVarint(b, milli(st.Due)-base)
	}
	if flags&hasBegan != 0 && flags&beganIsDue == 0 {
		b = binary.AppendVarint(b, milli(st.Began)-base)
	}
	if flags&hasLook != 0 && flags&lookIsDue == 0 {
		b = binary.AppendVarint(b, milli(st.Look)-base)
	}
	if flags&hasUpdated != 0 {
		b = binary.AppendVarint(b, milli(st.Updated)-base)
	}
	if flags&hasFinished != 0 {
		b = binary.AppendVarint(b, milli(st.Finished)-base)
	}
	if st.Before != nil {
		b = append(b, byte(st.Before.State))
		b = appendText(b, st.Before.Reason)
		b = appendOptional(b, st.Before.Due, base)
		b = appendOptional(b, st.Before.Finished, base)
	}
	if flags&hasData != 0 {
		b = appendText(b, st.Data)
	}
	return b
}

// parseStatus decodes row into st; nothing of st points into row.
func parseStatus(row []byte, id bellman.ID, st *status) error {
	p := parser{b: row}
	if p.byte() != format {
		return errCorrupt
	}
	base := created(id)
	flags := p.uint16()
	*st = status{line: bellman.Line(p.uint64()), queue: uint32(p.uvarint())}
	st.State = bellman.State(flags & 3)
	st.Version = uint32(p.uvarint())
	st.Shard = uint16(p.uvarint())
	st.Attempts = int(p.uvarint())
	st.Step = int(p.uvarint())
	if flags&hasReason != 0 {
		st.Reason = reason(p.bytes())
	}
	if flags&hasTrigger != 0 {
		st.Trigger = bellman.Trigger(p.byte())
	}
	if flags&hasDue != 0 {
		st.Due = p.time(base)
	}
	switch {
	case flags&beganIsDue != 0:
		st.Began = st.Due
	case flags&hasBegan != 0:
		st.Began = p.time(base)
	}
	switch {
	case flags&lookIsDue != 0:
		st.Look = st.Due
	case flags&hasLook != 0:
		st.Look = p.time(base)
	}
	if flags&hasUpdated != 0 {
		st.Updated = p.time(base)
	}
	if flags&hasFinished != 0 {
		st.Finished = p.time(base)
	}
	if flags&hasBefore != 0 {
		st.Before = &bellman.Before{State: bellman.State(p.byte()), Reason: p.string()}
		st.Before.Due = p.optional(base)
		st.Before.Finished = p.optional(base)
	}
	if flags&hasData != 0 {
		st.Data = slices.Clone(p.bytes())
	}
	return p.end()
}

// created is the time in id, in Unix ms.
func created(id bellman.ID) int64 {
	return int64(binary.BigEndian.Uint64(id[:8]) >> 16)
}

// reason is text as a string; the usual ones cost no memory.
func reason(text []byte) string {
	switch string(text) {
	case "accepted":
		return "accepted"
	case "attempts_used_up":
		return "attempts_used_up"
	case "max_age":
		return "max_age"
	case "gave_up":
		return "gave_up"
	}
	return string(text)
}

func appendOptional(b []byte, t time.Time, base int64) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.AppendVarint(append(b, 1), milli(t)-base)
}

func (p *parser) optional(base int64) time.Time {
	if p.byte() == 0 {
		return time.Time{}
	}
	return p.time(base)
}

// appendCold encodes what never changes of t. The body comes last, so that
// the rest can be read as one string. Lent has the upper half of the first byte.
func appendCold(b []byte, t *bellman.Task, queue uint32) []byte {
	b = binary.AppendUvarint(append(b, format|byte(t.Lent)<<4), uint64(queue))
	b = binary.AppendUvarint(b, uint64(len(t.Body)))
	b = binary.AppendVarint(b, int64(t.Timeout))
	b = binary.AppendVarint(b, int64(t.MaxAge))
	b = binary.AppendVarint(b, int64(t.Delay))
	b = appendOptional(b, t.StartAt, created(t.ID))
	b = binary.AppendUvarint(b, uint64(len(t.Header)))
	for _, s := range [...]string{t.Key, t.MerchantNo, t.OrderNo, t.Event, t.URL, t.Method,
		t.Schedule, t.Success, t.Repeat, t.Endpoint} {
		b = appendText(b, s)
	}
	if len(t.Header) > 0 {
		for _, name := range slices.Sorted(maps.Keys(t.Header)) {
			b = appendText(appendText(b, name), t.Header[name])
		}
	}
	return append(b, t.Body...)
}

// parseCold decodes row into t, all but the name of its queue, and returns the
// queue's number. Nothing of t points into row.
func parseCold(row []byte, id bellman.ID, t *bellman.Task) (queue uint32, err error) {
	p := parser{b: row}
	first := p.byte()
	if first&0xf != format {
		return 0, errCorrupt
	}
	t.ID, t.Lent = id, bellman.Lent(first>>4)
	queue = uint32(p.uvarint())
	body := p.uvarint()
	t.Timeout = time.Duration(p.varint())
	t.MaxAge = time.Duration(p.varint())
	t.Delay = time.Duration(p.varint())
	t.StartAt = p.optional(created(id))
	headers := p.uvarint()
	if p.err != nil || body > uint64(len(p.b)) {
		return 0, errCorrupt
	}
	text, rest := p.b[:len(p.b)-int(body)], p.b[len(p.b)-int(body):]
	if body > 0 {
		t.Body = slices.Clone(rest)
	}

	// One string for all the text: its parts share its memory.
	all := string(text)
	p.b = text
	next := func() string {
		n := len(p.bytes())
		end := len(all) - len(p.b)
		if p.err != nil {
			return ""
		}
		return all[end-n : end]
	}
	for _, s := range [...]*string{&t.Key, &t.MerchantNo, &t.OrderNo, &t.Event, &t.URL, &t.Method,
		&t.Schedule, &t.Success, &t.Repeat, &t.Endpoint} {
		*s = next()
	}
	if headers > uint64(len(p.b)) {
		return 0, errCorrupt
	}
	if headers > 0 {
		t.Header = make(map[string]string, headers)
		for range headers {
			name := next()
			t.Header[name] = next()
		}
	}
	return queue, p.end()
}

// appendEntry encodes what a due row says beyond its key.
func appendEntry(b []byte, st *status) []byte {
	b = binary.AppendUvarint(append(b, format), uint64(st.Version))
	b = binary.AppendUvarint(b, uint64(st.Shard))
	b = binary.AppendUvarint(b, uint64(st.Attempts))
	b = binary.AppendVarint(b, milli(st.Due)-milli(st.Look))
	return binary.LittleEndian.AppendUint64(b, uint64(st.line))
}

// parseEntry decodes a due row.
func parseEntry(key, row []byte, e *bellman.Entry) error {
	p := parser{b: row}
	if p.byte() != format {
		return errCorrupt
	}
	e.Look, e.ID = parseDueKey(key)
	e.Version = uint32(p.uvarint())
	e.Shard = uint16(p.uvarint())
	e.Attempts = uint32(p.uvarint())
	e.Due = e.Look + p.varint()
	e.Line = bellman.Line(p.uint64())
	return p.end()
}

// appendAttempt encodes a, all but its number. Action, Timing and Reading follow
// where there is one of them, Reading only where there is one: rows without are as
// they were before there was any.
func appendAttempt(b []byte, id bellman.ID, a *bellman.Attempt) []byte {
	base := created(id)
	b = append(b, format, byte(a.Trigger), byte(a.Result))
	b = appendOptional(b, a.Due, base)
	b = appendOptional(b, a.Started, milli(a.Due))
	b = binary.AppendVarint(b, int64(a.Took))
	b = binary.AppendVarint(b, int64(a.Status))
	b = appendText(b, a.Response)
	b = appendText(b, a.Error)
	b = appendText(b, a.Node)
	if a.Action == "" && a.Reading == "" && a.Timing == (bellman.Timing{}) {
		return b
	}
	b = appendText(b, a.Action)
	for _, part := range [...]time.Duration{a.Timing.DNS, a.Timing.Connect, a.Timing.TLS} {
		b = binary.AppendVarint(b, int64(part))
	}
	if a.Reading == "" {
		return b
	}
	return appendText(b, a.Reading)
}

// parseAttempt decodes row into a.
func parseAttempt(row []byte, id bellman.ID, number int, a *bellman.Attempt) error {
	p := parser{b: row}
	if p.byte() != format {
		return errCorrupt
	}
	a.Number = number
	a.Trigger = bellman.Trigger(p.byte())
	a.Result = bellman.Result(p.byte())
	a.Due = p.optional(created(id))
	a.Started = p.optional(milli(a.Due))
	a.Took = time.Duration(p.varint())
	a.Status = int(p.varint())
	a.Response = p.string()
	a.Error = p.string()
	a.Node = p.string()
	a.Action, a.Reading, a.Timing = "", "", bellman.Timing{}
	if len(p.b) > 0 {
		a.Action = p.string()
		for _, part := range [...]*time.Duration{&a.Timing.DNS, &a.Timing.Connect, &a.Timing.TLS} {
			*part = time.Duration(p.varint())
		}
	}
	if len(p.b) > 0 {
		a.Reading = p.string()
	}
	return p.end()
}
