package schedule_test

import (
	"testing"

	"github.com/bellmanhq/bellman/schedule"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]float64{
		"": 0, "50/s": 50, "0.5/s": 0.5, "30/m": 0.5, "7200/h": 2,
		"50": -1, "50/": -1, "/s": -1, "0/s": -1, "-1/s": -1, "Inf/s": -1, "NaN/s": -1, "1e400/s": -1, "50/d": -1, "50/s/s": -1, " 50/s": -1,
	} {
		got, ok := schedule.ParseRate(text)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("ParseRate(%q) = %v, want %v (-1: refused)", text, got, want)
		}
	}
}
