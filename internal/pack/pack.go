// Package pack encodes and decodes the rows of the stores: short numbers, texts with their length
// in front, times in milliseconds, attempts, and the fields of a task that all stores encode alike.
// Each store defines the rest of its rows.
package pack

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// ErrCorrupt reports a row that cannot be decoded.
var ErrCorrupt = errors.New("row is cut short or of an unknown format")

// Text appends the length of a text and its bytes.
func Text[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Time appends t, truncated to milliseconds, as its distance from a base in Unix ms. Times near the
// base are short. The zero time takes one byte.
func Time(b []byte, t time.Time, base int64) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.AppendVarint(append(b, 1), t.UnixMilli()-base)
}

// Cause encodes a status's phase and trigger in one byte.
func Cause(st *bellman.Status) byte { return byte(st.Phase)<<4 | byte(st.Trigger) }

// SetCause is the inverse of Cause.
func SetCause(st *bellman.Status, cause byte) {
	st.Phase, st.Trigger = bellman.Phase(cause>>4), bellman.Trigger(cause&0xf)
}

// FromMilli is the inverse of UnixMilli, also for the zero time.
func FromMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// Changes encodes the changes of an audit record as JSON; empty if there are none.
func Changes(list []store.Changed) []byte {
	if len(list) == 0 {
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // texts alone
	}
	return text
}

// ParseChanges decodes the result of Changes.
func ParseChanges(text []byte) (list []store.Changed, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, ErrCorrupt
	}
	return list, nil
}
