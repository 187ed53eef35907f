package bellman

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// An ID names a task. It is a UUID of version 7 (RFC 9562): its first 48 bits
// are the Unix time in milliseconds at which the task was created, so that ids
// sort by creation. The zero ID names no task.
type ID [16]byte

// ids makes the ids of one process strictly increasing, also within a millisecond and when the wall
// clock is set back.
var ids struct {
	sync.Mutex
	ms      int64
	counter uint16 // 12 bits, rand_a of RFC 9562
	random  [512]byte
	used    int
}

// NewID returns an id greater than every id that this process returned before.
// It is safe for concurrent use.
func NewID() ID { return newID(time.Now().UnixMilli()) }

func newID(ms int64) ID {
	ids.Lock()
	defer ids.Unlock()
	switch {
	case ms > ids.ms:
		ids.ms, ids.counter = ms, 0
	case ids.counter < 0xfff:
		ids.counter++
	default:
		ids.ms++
		ids.counter = 0
	}
	if ids.used == 0 {
		rand.Read(ids.random[:]) // never fails: it ends the program instead
	}
	var id ID
	binary.BigEndian.PutUint64(id[:8], uint64(ids.ms)<<16|0x7000|uint64(ids.counter))
	copy(id[8:], ids.random[ids.used:ids.used+8])
	ids.used = (ids.used + 8) % len(ids.random)
	id[8] = id[8]&0x3f | 0x80
	return id
}

// FirstID returns the smallest id of a task created at t. It turns a range of times into a range of
// ids.
func FirstID(t time.Time) ID {
	var id ID
	binary.BigEndian.PutUint64(id[:8], uint64(max(t.UnixMilli(), 0))<<16)
	return id
}

// ParseID reads the form that String writes.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return ID{}, fmt.Errorf("bellman: %.40q is not a task id: want a UUID such as 0192f3a4-5b6c-7d8e-9f01-23456789abcd", s)
	}
	hexed := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(id[:], []byte(hexed)); err != nil {
		return ID{}, fmt.Errorf("bellman: %q is not a task id: %w", s, err)
	}
	return id, nil
}

// String returns the id in the usual form of a UUID, in lower case.
func (id ID) String() string {
	var b [36]byte
	hex.Encode(b[:8], id[:4])
	b[8] = '-'
	hex.Encode(b[9:13], id[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], id[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], id[8:10])
	b[23] = '-'
	hex.Encode(b[24:], id[10:])
	return string(b[:])
}

// Compare returns -1, 0 or 1 if id is below, equal to or above other.
func (id ID) Compare(other ID) int { return bytes.Compare(id[:], other[:]) }

// Time returns when the id was made, in milliseconds and UTC.
func (id ID) Time() time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:8]) >> 16)).UTC()
}

// IsZero reports whether the id names no task.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText writes the form of String.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the form of String.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}
