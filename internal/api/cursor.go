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

// A cursor is the place where a page ended, encoded so that nobody builds one: the id of its last
// task, the time of its last audit record, or the name of its last entry of a registry, and a mark
// of the filter.

func taskCursor(id bellman.ID, f any) string {
	if id.IsZero() {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(id[:], filterMark(f)...))
}

func parseTaskCursor(text string, f any) (id bellman.ID, _ *client.Problem) {
	if text == "" {
		return id, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != len(id)+markBytes {
		return id, badCursor()
	}
	if !bytes.Equal(b[len(id):], filterMark(f)) {
		return id, otherFilter()
	}
	return bellman.ID(b[:len(id)]), nil
}

const markBytes = 4

// filterMark returns a hash of a filter, so that a cursor is not used with another filter. Two
// filters have the same mark once in 2^32.
func filterMark(f any) []byte {
	sum := sha256.Sum256(marshal(f))
	return sum[:markBytes]
}

func auditCursor(t time.Time, f *client.AuditFilter) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(t.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(append(b, filterMark(f)...))
}

func parseAuditCursor(text string, f *client.AuditFilter) (time.Time, *client.Problem) {
	if text == "" {
		return time.Time{}, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != 8+markBytes {
		return time.Time{}, badCursor()
	}
	ms := int64(binary.BigEndian.Uint64(b))
	if ms <= 0 || ms > maxMillis {
		return time.Time{}, badCursor()
	}
	if !bytes.Equal(b[8:], filterMark(f)) {
		return time.Time{}, otherFilter()
	}
	return time.UnixMilli(ms).UTC(), nil
}

func entryCursor(place string, f any) string {
	if place == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append([]byte(place), filterMark(f)...))
}

func parseEntryCursor(text string, f any) (place string, _ *client.Problem) {
	if text == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	end := len(b) - markBytes
	if err != nil || end <= 0 {
		return "", badCursor()
	}
	if !bytes.Equal(b[end:], filterMark(f)) {
		return "", otherFilter()
	}
	return string(b[:end]), nil
}

// maxMillis is the end of the year 9999.
const maxMillis = 253402300799999

func otherFilter() *client.Problem {
	return wrongField("query.cursor", "is of a list with another filter: want that filter again, or no cursor")
}

func badCursor() *client.Problem {
	return wrongField("query.cursor", "want the next_cursor of a page")
}
