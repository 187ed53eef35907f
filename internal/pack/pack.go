// Package pack reads and writes the rows of the stores: numbers of few bytes, texts with
// their length before them, times in milliseconds. What stands in a row, and in which
// order, is each store's own.
package pack

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// ErrCorrupt is what a row says that cannot be read back.
var ErrCorrupt = errors.New("row is cut short or of an unknown format")

// Text appends a length and as many bytes.
func Text[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Time appends t, cut to milliseconds, as its distance from a base in Unix ms, so that
// times near that are short. The zero time is one byte, whatever the base.
func Time(b []byte, t time.Time, base int64) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.AppendVarint(append(b, 1), t.UnixMilli()-base)
}

// Cause is a status's phase and trigger in one byte.
func Cause(st *bellman.Status) byte { return byte(st.Phase)<<4 | byte(st.Trigger) }

// SetCause is the reverse of Cause.
func SetCause(st *bellman.Status, cause byte) {
	st.Phase, st.Trigger = bellman.Phase(cause>>4), bellman.Trigger(cause&0xf)
}

// FromMilli is the reverse of UnixMilli, for the zero time too.
func FromMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// Changes is what an audit record changed, as JSON; empty for nothing.
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

// ParseChanges reads what Changes wrote.
func ParseChanges(text []byte) (list []store.Changed, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, ErrCorrupt
	}
	return list, nil
}
