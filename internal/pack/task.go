package pack

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
)

// Created returns when a task was created, in Unix ms. It is part of the task's id. Times in rows
// are relative to it.
func Created(id bellman.ID) int64 { return int64(binary.BigEndian.Uint64(id[:8]) >> 16) }

// Rest appends the fields of a task by which no store searches, except its body.
func Rest(b []byte, t *bellman.Task) []byte {
	for _, s := range [...]string{t.Method, t.Schedule, t.Success, t.Repeat, t.Endpoint} {
		b = Text(b, s)
	}
	for _, d := range [...]time.Duration{t.Timeout, t.MaxAge, t.Delay} {
		b = binary.AppendVarint(b, int64(d))
	}
	b = Time(b, t.StartAt, Created(t.ID))
	b = binary.AppendUvarint(b, uint64(len(t.Header)))
	if len(t.Header) > 0 {
		for _, name := range slices.Sorted(maps.Keys(t.Header)) {
			b = Text(Text(b, name), t.Header[name])
		}
	}
	has := Rare(t)
	b = append(b, has)
	if has&HasOrdering != 0 {
		b = append(Text(b, t.OrderingKey), Bit(t.Supersedes))
	}
	return AppendRare(b, t)
}

// Rest reads the result of Rest into a task that has its ID. It shares texts that are equal to
// those of like.
func (r *Reader) Rest(t, like *bellman.Task) {
	t.Method = r.Like(like.Method)
	t.Schedule = r.Like(like.Schedule)
	t.Success = r.Like(like.Success)
	t.Repeat = r.Like(like.Repeat)
	t.Endpoint = r.Like(like.Endpoint)
	for _, d := range [...]*time.Duration{&t.Timeout, &t.MaxAge, &t.Delay} {
		*d = r.Duration()
	}
	t.StartAt = r.Time(Created(t.ID))
	n := r.Uvarint()
	if n > uint64(len(r.b)) {
		r.Fail()
		return
	}
	if n > 0 {
		t.Header = make(map[string]string, n)
		for range n {
			name := r.Text()
			t.Header[name] = r.Text()
		}
	}
	has := r.Byte()
	if has&HasOrdering != 0 {
		t.OrderingKey, t.Supersedes = r.Text(), r.Byte() == 1
	}
	r.Rare(has, t)
}

// The bits of Rare. The lowest three bits are Inherited.
const (
	hasAlias = 1 << (iota + 3)
	hasKind
	hasCreator
	hasTrace
	HasOrdering

	inherited = hasAlias - 1
)

// Rare returns in one byte which of the fields are set that few tasks have, and Inherited.
func Rare(t *bellman.Task) byte {
	has := byte(t.Inherited) & inherited
	if t.Alias() != "" {
		has |= hasAlias
	}
	if t.Kind != bellman.KindUnknown {
		has |= hasKind
	}
	if t.CreatedBy() != "" {
		has |= hasCreator
	}
	if t.Trace() != nil {
		has |= hasTrace
	}
	if t.OrderingKey != "" {
		has |= HasOrdering
	}
	return has
}

// AppendRare appends the fields of Rare, except the ordering key.
func AppendRare(b []byte, t *bellman.Task) []byte {
	if trace := t.Trace(); trace != nil {
		text, _ := trace.AppendBinary(nil) // never fails
		b = Text(b, text)
	}
	if by := t.CreatedBy(); by != "" {
		b = Text(b, by)
	}
	if t.Kind != bellman.KindUnknown {
		b = append(b, byte(t.Kind))
	}
	if alias := t.Alias(); alias != "" {
		b = Text(b, alias)
	}
	return b
}

// Rare reads the result of AppendRare. has is the result of Rare.
func (r *Reader) Rare(has byte, t *bellman.Task) {
	t.Inherited = bellman.Inherited(has & inherited)
	if has&hasTrace != 0 {
		trace := new(bellman.Trace)
		if trace.UnmarshalBinary(r.Bytes()) != nil {
			r.Fail()
			return
		}
		t.SetTrace(trace)
	}
	if has&hasCreator != 0 {
		t.SetCreatedBy(r.Text())
	}
	if has&hasKind != 0 {
		t.Kind = bellman.Kind(r.Byte())
	}
	if has&hasAlias != 0 {
		t.SetAlias(r.Text())
	}
}

// Bit returns 1 for true and 0 for false.
func Bit(is bool) byte {
	if is {
		return 1
	}
	return 0
}
