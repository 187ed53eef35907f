package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
)

// cursor encodes the place where a page ended, so that nobody builds one: the id of its last task,
// the time of its last audit record, or the name of its last entry of a registry, and a mark of the
// filter. Without a place it is empty.
func cursor(place []byte, f any) string {
	if len(place) == 0 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(place, filterMark(f)...))
}

// parseCursor returns the place of a cursor of the same filter; nil: the first page, or a problem.
// size is the length of a place; 0: any.
func parseCursor(text string, size int, f any) (place []byte, _ *client.Problem) {
	if text == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	end := len(b) - markBytes
	if err != nil || end <= 0 || size > 0 && end != size {
		return nil, badCursor()
	}
	if !bytes.Equal(b[end:], filterMark(f)) {
		return nil, otherFilter()
	}
	return b[:end], nil
}

const markBytes = 4

// filterMark returns a hash of a filter, so that a cursor is not used with another filter. Two
// filters have the same mark once in 2^32.
func filterMark(f any) []byte {
	sum := sha256.Sum256(marshal(f))
	return sum[:markBytes]
}

func taskCursor(id bellman.ID, f any) string {
	if id.IsZero() {
		return ""
	}
	return cursor(id[:], f)
}

func parseTaskCursor(text string, f any) (id bellman.ID, refused *client.Problem) {
	place, refused := parseCursor(text, len(id), f)
	copy(id[:], place)
	return id, refused
}

func auditCursor(t time.Time, f *client.AuditFilter) string {
	return cursor(binary.BigEndian.AppendUint64(nil, uint64(t.UnixMilli())), f)
}

func parseAuditCursor(text string, f *client.AuditFilter) (time.Time, *client.Problem) {
	place, refused := parseCursor(text, 8, f)
	if place == nil {
		return time.Time{}, refused
	}
	ms := int64(binary.BigEndian.Uint64(place))
	if ms <= 0 || ms > maxMillis {
		return time.Time{}, badCursor()
	}
	return time.UnixMilli(ms).UTC(), nil
}

// maxMillis is the end of the year 9999.
const maxMillis = 253402300799999

func otherFilter() *client.Problem {
	return wrongField("query.cursor", "is of a list with another filter: want that filter again, or no cursor")
}

func badCursor() *client.Problem {
	return wrongField("query.cursor", "want the next_cursor of a page")
}
