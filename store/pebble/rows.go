package pebble

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// format is the first byte of each row whose encoding may change.
const format = 1

// A status is the content of a hot or an ended row.
type status struct {
	bellman.Status
	queue uint32
	line  store.Line
}

// Flags for the optional fields of a status row. The lowest two bits are the state.
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
	hasPlace
)

// appendStatus encodes st. Times are milliseconds since the task's creation time, which is part of
// its id. Small numbers make short rows.
func appendStatus(b []byte, id bellman.ID, st *status) []byte {
	base := created(id)
	flags := uint16(st.State)
	set := func(has uint16, when bool) {
		if when {
			flags |= has
		}
	}
	set(hasReason, st.Reason != "")
	set(hasTrigger, pack.Cause(&st.Status) != 0)
	set(hasDue, !st.Due.IsZero())
	set(hasBegan, !st.Began.IsZero())
	set(hasLook, !st.VisibleAt.IsZero())
	same := flags & hasDue
	set(beganIsDue, same != 0 && flags&hasBegan != 0 && milli(st.Began) == milli(st.Due))
	set(lookIsDue, same != 0 && flags&hasLook != 0 && milli(st.VisibleAt) == milli(st.Due))
	set(hasUpdated, !st.Updated.IsZero())
	set(hasFinished, !st.Finished.IsZero())
	set(hasBefore, st.Before != nil)
	set(hasData, len(st.Data) > 0)
	set(hasPlace, st.Place != 0)

	b = append(b, format, byte(flags), byte(flags>>8))
	b = binary.LittleEndian.AppendUint64(b, uint64(st.line))
	b = binary.AppendUvarint(b, uint64(st.queue))
	b = binary.AppendUvarint(b, uint64(st.Version))
	b = binary.AppendUvarint(b, uint64(st.Shard))
	b = binary.AppendUvarint(b, uint64(st.Attempts))
	b = binary.AppendUvarint(b, uint64(st.Step))
	if flags&hasReason != 0 {
		b = pack.Text(b, st.Reason)
	}
	if flags&hasTrigger != 0 {
		b = append(b, pack.Cause(&st.Status))
	}
	if flags&hasDue != 0 {
		b = binary.AppendVarint(b, milli(st.Due)-base)
	}
	if flags&hasBegan != 0 && flags&beganIsDue == 0 {
		b = binary.AppendVarint(b, milli(st.Began)-base)
	}
	if flags&hasLook != 0 && flags&lookIsDue == 0 {
		b = binary.AppendVarint(b, milli(st.VisibleAt)-base)
	}
	if flags&hasUpdated != 0 {
		b = binary.AppendVarint(b, milli(st.Updated)-base)
	}
	if flags&hasFinished != 0 {
		b = binary.AppendVarint(b, milli(st.Finished)-base)
	}
	if st.Before != nil {
		b = append(b, byte(st.Before.State))
		b = pack.Text(b, st.Before.Reason)
		b = pack.Time(b, st.Before.Due, base)
		b = pack.Time(b, st.Before.Finished, base)
	}
	if flags&hasData != 0 {
		b = pack.Text(b, st.Data)
	}
	if flags&hasPlace != 0 {
		b = binary.AppendVarint(b, st.Place-1000*base)
	}
	return b
}

// parseStatus decodes row into st. st does not alias row.
func parseStatus(row []byte, id bellman.ID, st *status) error {
	p := pack.Read(row)
	if p.Byte() != format {
		return pack.ErrCorrupt
	}
	base := created(id)
	flags := p.Uint16()
	*st = status{line: store.Line(p.Uint64()), queue: uint32(p.Uvarint())}
	st.State = bellman.State(flags & 3)
	st.Version = uint32(p.Uvarint())
	st.Shard = uint16(p.Uvarint())
	st.Attempts = int32(p.Uvarint())
	st.Step = int32(p.Uvarint())
	if flags&hasReason != 0 {
		st.Reason = reason(p.Bytes())
	}
	if flags&hasTrigger != 0 {
		pack.SetCause(&st.Status, p.Byte())
	}
	if flags&hasDue != 0 {
		st.Due = pack.FromMilli(base + p.Varint())
	}
	switch {
	case flags&beganIsDue != 0:
		st.Began = st.Due
	case flags&hasBegan != 0:
		st.Began = pack.FromMilli(base + p.Varint())
	}
	switch {
	case flags&lookIsDue != 0:
		st.VisibleAt = st.Due
	case flags&hasLook != 0:
		st.VisibleAt = pack.FromMilli(base + p.Varint())
	}
	if flags&hasUpdated != 0 {
		st.Updated = pack.FromMilli(base + p.Varint())
	}
	if flags&hasFinished != 0 {
		st.Finished = pack.FromMilli(base + p.Varint())
	}
	if flags&hasBefore != 0 {
		st.Before = &bellman.Before{State: bellman.State(p.Byte()), Reason: p.Text()}
		st.Before.Due = p.Time(base)
		st.Before.Finished = p.Time(base)
	}
	if flags&hasData != 0 {
		st.Data = slices.Clone(p.Bytes())
	}
	if flags&hasPlace != 0 {
		st.Place = 1000*base + p.Varint()
	}
	return p.End()
}

// created returns the creation time in id, in Unix ms.
func created(id bellman.ID) int64 {
	return int64(binary.BigEndian.Uint64(id[:8]) >> 16)
}

// reason converts text to a string. Common reasons are not allocated.
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

// appendCold encodes the part of t that never changes. The body comes last, so that all other text
// can be read as one string. Inherited uses three bits of the first byte. The highest of these bits
// marks an ordering key. A row with a trace has the format traced, a row with an alias the format
// extended.
func appendCold(b []byte, t *bellman.Task, queue uint32) []byte {
	first := format | byte(t.Inherited)<<4
	switch {
	case t.Alias() != "":
		first ^= format ^ extended
	case t.Trace() != nil:
		first ^= format ^ traced
	}
	if t.CreatedBy() != "" {
		first |= isNamed
	}
	if t.Kind != bellman.KindUnknown {
		first |= isOfKind
	}
	if t.OrderingKey != "" {
		first |= isOrdered
	}
	b = binary.AppendUvarint(append(b, first), uint64(queue))
	b = binary.AppendUvarint(b, uint64(len(t.Body)))
	b = binary.AppendVarint(b, int64(t.Timeout))
	b = binary.AppendVarint(b, int64(t.MaxAge))
	b = binary.AppendVarint(b, int64(t.Delay))
	b = pack.Time(b, t.StartAt, created(t.ID))
	b = binary.AppendUvarint(b, uint64(len(t.Header)))
	for _, s := range [...]string{t.Key, t.MerchantNo, t.OrderNo, t.Event, t.URL, t.Method,
		t.Schedule, t.Success, t.Repeat, t.Endpoint} {
		b = pack.Text(b, s)
	}
	if len(t.Header) > 0 {
		for _, name := range slices.Sorted(maps.Keys(t.Header)) {
			b = pack.Text(pack.Text(b, name), t.Header[name])
		}
	}
	if t.OrderingKey != "" {
		b = pack.Text(b, t.OrderingKey)
		b = pack.Text(b, map[bool]string{true: superseding}[t.Supersedes])
	}
	if t.Alias() != "" {
		more := byte(hasAlias)
		if t.Trace() != nil {
			more |= hasTrace
		}
		b = pack.Text(append(b, more), t.Alias())
	}
	if t.Trace() != nil {
		trace, _ := t.Trace().AppendBinary(nil) // never fails
		b = pack.Text(b, trace)
	}
	if t.CreatedBy() != "" {
		b = pack.Text(b, t.CreatedBy())
	}
	if t.Kind != bellman.KindUnknown {
		b = append(b, byte(t.Kind))
	}
	return append(b, t.Body...)
}

// traced is the format of a cold row with a trace behind the headers and the ordering key. Rows
// without a trace keep the older format.
const traced = 2

// extended is the format of a cold row with a byte behind the headers and the ordering key. The byte
// says which of the following fields the row has: an alias, a trace.
const extended = 3

// Bits of that byte.
const (
	hasAlias = 1 << iota
	hasTrace
)

// isNamed is the bit of a cold row's format for the name of the API key that created the task. The
// name is behind the trace.
const isNamed = 4

// isOfKind is the bit of a cold row's format for the task's kind. The kind is behind the API key's
// name.
const isOfKind = 8

// isOrdered is the bit of a cold row's first byte for an ordering key. The ordering key and its
// supersede flag are behind the headers.
const (
	isOrdered   = 0x80
	superseding = "s"
)

// parseCold decodes row into t, except the name of its queue, and returns the queue's number. t
// does not alias row.
func parseCold(row []byte, id bellman.ID, t *bellman.Task) (queue uint32, err error) {
	p := pack.Read(row)
	first := p.Byte()
	version := first & 0xf &^ (isNamed | isOfKind)
	if version < format || version > extended {
		return 0, pack.ErrCorrupt
	}
	t.ID, t.Inherited = id, bellman.Inherited(first&^isOrdered>>4)
	queue = uint32(p.Uvarint())
	body := p.Uvarint()
	t.Timeout = p.Duration()
	t.MaxAge = p.Duration()
	t.Delay = p.Duration()
	t.StartAt = p.Time(created(id))
	headers := p.Uvarint()
	rest := p.Cut(body)
	if p.Err() != nil {
		return 0, pack.ErrCorrupt
	}
	if body > 0 {
		t.Body = slices.Clone(rest)
	}

	// All texts share one string, so that they need one allocation.
	all := string(p.Left())
	next := func() string {
		n := len(p.Bytes())
		end := len(all) - len(p.Left())
		if p.Err() != nil {
			return ""
		}
		return all[end-n : end]
	}
	for _, s := range [...]*string{&t.Key, &t.MerchantNo, &t.OrderNo, &t.Event, &t.URL, &t.Method,
		&t.Schedule, &t.Success, &t.Repeat, &t.Endpoint} {
		*s = next()
	}
	if headers > uint64(len(p.Left())) {
		return 0, pack.ErrCorrupt
	}
	if headers > 0 {
		t.Header = make(map[string]string, headers)
		for range headers {
			name := next()
			t.Header[name] = next()
		}
	}
	if first&isOrdered != 0 {
		t.OrderingKey = next()
		t.Supersedes = next() == superseding
	}
	isTraced := version == traced
	if version == extended {
		more := p.Byte()
		if more&^hasTrace != hasAlias {
			return 0, pack.ErrCorrupt
		}
		isTraced = more&hasTrace != 0
		t.SetAlias(next())
	}
	if isTraced {
		trace := new(bellman.Trace)
		if trace.UnmarshalBinary([]byte(next())) != nil {
			return 0, pack.ErrCorrupt
		}
		t.SetTrace(trace)
	}
	if first&isNamed != 0 {
		t.SetCreatedBy(next())
	}
	if first&isOfKind != 0 {
		t.Kind = bellman.Kind(p.Byte())
	}
	return queue, p.End()
}

// appendEntry encodes the value of a due row.
func appendEntry(b []byte, st *status) []byte {
	b = binary.AppendUvarint(append(b, format), uint64(st.Version))
	b = binary.AppendUvarint(b, uint64(st.Shard))
	b = binary.AppendUvarint(b, uint64(st.Attempts))
	b = binary.AppendVarint(b, milli(st.Due)-milli(st.VisibleAt))
	return binary.LittleEndian.AppendUint64(b, uint64(st.line))
}

// parseEntry decodes a due row.
func parseEntry(key, row []byte, e *store.Entry) error {
	p := pack.Read(row)
	if p.Byte() != format {
		return pack.ErrCorrupt
	}
	e.VisibleAt, e.ID = parseDueKey(key)
	e.Version = uint32(p.Uvarint())
	e.Shard = uint16(p.Uvarint())
	e.Attempts = uint32(p.Uvarint())
	e.Due = e.VisibleAt + p.Varint()
	e.Line = store.Line(p.Uint64())
	return p.End()
}

// answered is the format of an attempt's row with FirstByte and Header behind the node. Rows without
// these fields keep the older format.
const answered = 2

// appendAttempt encodes a, except its number. Action, Timing and Reading follow if any of them is
// set. Reading is written only if it is set.
func appendAttempt(b []byte, id bellman.ID, a *bellman.Attempt) []byte {
	base := created(id)
	version := byte(format)
	if a.Timing.FirstByte != 0 || a.Header != "" {
		version = answered
	}
	b = append(b, version, byte(a.Trigger), byte(a.Result))
	b = pack.Time(b, a.Due, base)
	b = pack.Time(b, a.Started, milli(a.Due))
	b = binary.AppendVarint(b, int64(a.Took))
	b = binary.AppendVarint(b, int64(a.Status))
	b = pack.Text(b, a.Response)
	b = pack.Text(b, a.Error)
	b = pack.Text(b, a.Node)
	b = pack.Answered(b, a)
	if a.Action == "" && a.Reading == "" && a.Timing == (bellman.Timing{FirstByte: a.Timing.FirstByte}) {
		return b
	}
	b = pack.Text(b, a.Action)
	for _, part := range [...]time.Duration{a.Timing.DNS, a.Timing.Connect, a.Timing.TLS} {
		b = binary.AppendVarint(b, int64(part))
	}
	if a.Reading == "" {
		return b
	}
	return pack.Text(b, a.Reading)
}

// parseAttempt decodes row into a.
func parseAttempt(row []byte, id bellman.ID, number int, a *bellman.Attempt) error {
	p := pack.Read(row)
	version := p.Byte()
	if version != format && version != answered {
		return pack.ErrCorrupt
	}
	a.Number = number
	a.Trigger = bellman.Trigger(p.Byte())
	a.Result = bellman.Result(p.Byte())
	a.Due = p.Time(created(id))
	a.Started = p.Time(milli(a.Due))
	a.Took = p.Duration()
	a.Status = int(p.Varint())
	a.Response = p.Text()
	a.Error = p.Text()
	a.Node = p.Text()
	a.Action, a.Reading, a.Header, a.Timing = "", "", "", bellman.Timing{}
	if version == answered {
		a.Timing.FirstByte, a.Header = p.Duration(), p.Text()
	}
	if len(p.Left()) > 0 {
		a.Action = p.Text()
		for _, part := range [...]*time.Duration{&a.Timing.DNS, &a.Timing.Connect, &a.Timing.TLS} {
			*part = p.Duration()
		}
	}
	if len(p.Left()) > 0 {
		a.Reading = p.Text()
	}
	return p.End()
}
