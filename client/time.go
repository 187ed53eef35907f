package client

import (
	"bytes"
	"fmt"
	"time"
)

// A Time is a time as the API writes it: RFC 3339 in UTC with milliseconds,
// always three digits. The zero Time is written as null.
type Time struct{ time.Time }

// At returns t in UTC, truncated to whole milliseconds.
func At(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{t.UTC().Truncate(time.Millisecond)}
}

const timeLayout = "2006-01-02T15:04:05.000Z"

// Append appends the time in quotes, or null, to b.
func (t Time) Append(b []byte) []byte {
	if t.IsZero() {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, timeLayout)
	return append(b, '"')
}

// MarshalJSON writes the time in quotes, or null.
func (t Time) MarshalJSON() ([]byte, error) {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return nil, fmt.Errorf("bellman: year %d of a time is outside 0 to 9999", y)
	}
	return t.Append(make([]byte, 0, len(timeLayout)+2)), nil
}

// MarshalText writes the time without quotes; nothing for the zero Time.
func (t Time) MarshalText() ([]byte, error) {
	if t.IsZero() {
		return nil, nil
	}
	return t.UTC().AppendFormat(nil, timeLayout), nil
}

// UnmarshalJSON reads a time of any zone and precision, or null, and cuts it to
// whole milliseconds.
func (t *Time) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		*t = Time{}
		return nil
	}
	var parsed time.Time
	if err := parsed.UnmarshalJSON(text); err != nil {
		return err
	}
	*t = At(parsed)
	return nil
}

// UnmarshalText reads a time of any zone and precision, and cuts it to whole
// milliseconds.
func (t *Time) UnmarshalText(text []byte) error {
	var parsed time.Time
	if err := parsed.UnmarshalText(text); err != nil {
		return err
	}
	*t = At(parsed)
	return nil
}

// String returns the time as the API writes it.
func (t Time) String() string {
	text, _ := t.MarshalText()
	return string(text)
}
