package order

import (
	"errors"
	"testing"
	"time"
)

func TestBillReady(t *testing.T) {
	at := func(text string) time.Time {
		now, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	ready := at("2026-11-22T02:00:00Z")
	tests := []struct {
		date, now string
		want      string // the error; empty: none
	}{
		{"2026-11-21", "2026-11-21T15:59:59Z", "the bill is not ready yet: ask for the bill of 2026-11-21 after 2026-11-22 10:00 UTC+8"},
		{"2026-11-21", "2026-11-21T16:00:00Z", ""},
		{"2026-11-21", "2027-11-21T16:00:00Z", ""},
		{"2026-11-31", "2026-11-21T16:00:00Z", `"2026-11-31" is no date: want one such as 2026-11-21`},
		{"20261121", "2026-11-21T16:00:00Z", `"20261121" is no date: want one such as 2026-11-21`},
	}
	for _, tt := range tests {
		got, err := BillReady(tt.date, at(tt.now))
		if tt.want == "" && (err != nil || !got.Equal(ready)) || tt.want != "" && (err == nil || err.Error() != tt.want) {
			t.Errorf("BillReady(%s, %s) = %v, %v; want %v, %q", tt.date, tt.now, got, err, ready, tt.want)
		}
	}
	err := BillNotReady("2026-11-21", ready, ready)
	if !errors.Is(err, ErrBillNotReady) || err.Error() != "the bill is not ready yet: ask for the bill of 2026-11-21 in half an hour" {
		t.Errorf("BillNotReady = %v", err)
	}
}
