package api

import (
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
)

// A cursor is the place where a page ended, in a form that nobody is tempted
// to build: the id of its last task, or the time of its last audit record.

func taskCursor(id bellman.ID) string {
	if id.IsZero() {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}

func parseTaskCursor(text string) (id bellman.ID, _ *client.Problem) {
	if text == "" {
		return id, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != len(id) {
		return id, badCursor()
	}
	return bellman.ID(b), nil
}

func auditCursor(t time.Time) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(t.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseAuditCursor(text string) (time.Time, *client.Problem) {
	if text == "" {
		return time.Time{}, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != 8 {
		return time.Time{}, badCursor()
	}
	ms := int64(binary.BigEndian.Uint64(b))
	if ms <= 0 || ms > maxMillis {
		return time.Time{}, badCursor()
	}
	return time.UnixMilli(ms).UTC(), nil
}

// maxMillis is the end of the year 9999.
const maxMillis = 253402300799999

func badCursor() *client.Problem {
	return wrongField("query.cursor", "want the next_cursor of a page")
}
