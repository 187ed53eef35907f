package pebble

import (
	"encoding/binary"
	"slices"

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
	hasWasDue
)

// appendStatus encodes st. Times are milliseconds since the task's creation time, which is part of
// its id. Small numbers make short rows.
func appendStatus(b []byte, id bellman.ID, st *status) []byte {
	base := pack.Created(id)
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
	set(hasWasDue, st.WasDue != 0)

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
	if flags&hasWasDue != 0 {
		b = binary.AppendUvarint(b, uint64(st.WasDue))
	}
	return b
}

// parseStatus decodes row into st. st does not alias row.
func parseStatus(row []byte, id bellman.ID, st *status) error {
	p := pack.Read(row)
	if p.Byte() != format {
		return pack.ErrCorrupt
	}
	base := pack.Created(id)
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
	if flags&hasWasDue != 0 {
		st.WasDue = uint32(p.Uvarint())
	}
	return p.End()
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
// can be read as one string.
func appendCold(b []byte, t *bellman.Task, queue uint32) []byte {
	b = binary.AppendUvarint(append(b, format), uint64(queue))
	b = binary.AppendUvarint(b, uint64(len(t.Body)))
	for _, s := range [...]string{t.Key, t.MerchantNo, t.OrderNo, t.Event, t.URL} {
		b = pack.Text(b, s)
	}
	return append(pack.Rest(b, t), t.Body...)
}

// parseCold decodes row into t, except the name of its queue, and returns the queue's number. t
// does not alias row.
func parseCold(row []byte, id bellman.ID, t *bellman.Task) (queue uint32, err error) {
	p := pack.Read(row)
	if p.Byte() != format {
		return 0, pack.ErrCorrupt
	}
	t.ID = id
	queue = uint32(p.Uvarint())
	if body := p.Cut(p.Uvarint()); len(body) > 0 {
		t.Body = slices.Clone(body)
	}
	p.ShareTexts()
	for _, s := range [...]*string{&t.Key, &t.MerchantNo, &t.OrderNo, &t.Event, &t.URL} {
		*s = p.Text()
	}
	p.Rest(t, &bellman.Task{})
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

// parseAttempt decodes row into a.
func parseAttempt(row []byte, id bellman.ID, number int, a *bellman.Attempt) error {
	p := pack.Read(row)
	a.Number = number
	return p.Attempt(id, a)
}
