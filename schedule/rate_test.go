package schedule_test

import (
	"testing"

	"github.com/bellmanhq/bellman/schedule"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]float64{
		"": 0, "50/s": 50, "0.5/s": 0.5, "30/m": 0.5, "7200/h": 2,
		"50": -1, "50/": -1, "/s": -1, "0/s": -1, "-1/s": -1, "Inf/s": -1, "NaN/s": -1, "1e400/s": -1, "50/d": -1, "50/s/s": -1, " 50/s": -1, "1e3/s": -1, "0x10/s": -1, "+5/s": -1, "1_0/s": -1, "1.2.3/s": -1, "./s": -1,
	} {
		got, ok := schedule.ParseRate(text)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("ParseRate(%q) = %v, want %v (-1: an error)", text, got, want)
		}
	}
}

// A rate is formatted as it was given, or as an equal one in the normal form.
func TestFormatRate(t *testing.T) {
	for _, text := range []string{"", "50/s", "0.5/s", "10/m", "1/h", "100/h", "1234.5678/s", "1000000/s", "0.001/s", "9999.999999/s", "7/m"} {
		rate, ok := schedule.ParseRate(text)
		if got := schedule.FormatRate(rate); !ok || got != text {
			t.Errorf("FormatRate(ParseRate(%q)) = %q; want the same text", text, got)
		}
	}
	for text, want := range map[string]string{"30/m": "0.5/s", "3600/h": "1/s", "050.0/s": "50/s", "1.50/s": "1.5/s"} {
		rate, _ := schedule.ParseRate(text)
		if got := schedule.FormatRate(rate); got != want {
			t.Errorf("FormatRate(ParseRate(%q)) = %q; want %q", text, got, want)
		}
	}
}

// Every accepted rate is parsed as the same rate after formatting.
func FuzzRate(f *testing.F) {
	for _, text := range []string{"50/s", "100/h", "0.0000001/s", "1234.56789012345/m", "99999999999999999999/s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rate, ok := schedule.ParseRate(text)
		if !ok {
			return
		}
		written := schedule.FormatRate(rate)
		if again, ok := schedule.ParseRate(written); !ok || again != rate {
			t.Errorf("ParseRate(%q) = %v is formatted as %q, and parsed again as %v, %t; want the same", text, rate, written, again, ok)
		}
	})
}
