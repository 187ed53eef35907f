package figures

import (
	"slices"
	"testing"
	"time"
)

// A merchant that fails at several nodes counts once. It is failing since the earliest time that a
// node reports.
func TestSumFailing(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 20, 8, minute, 0, 0, time.UTC) }
	f := Sum([]Report{
		{Failing: []FailingMerchant{{"M2", at(3)}, {"M1", at(5)}}},
		{},
		{Failing: []FailingMerchant{{"M1", at(1)}, {"M3", at(3)}}},
	}, &Ask{})
	if want := []FailingMerchant{{"M1", at(1)}, {"M2", at(3)}, {"M3", at(3)}}; !slices.Equal(f.Failing, want) {
		t.Errorf("failing: %v; want %v", f.Failing, want)
	}
}
