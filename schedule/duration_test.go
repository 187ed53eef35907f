package schedule

import (
	"strings"
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	tests := []struct {
		text string
		want time.Duration
		out  string
	}{
		{"0s", 0, "0s"},
		{"0d", 0, "0s"},
		{"15s", 15 * time.Second, "15s"},
		{"60s", time.Minute, "1m"},
		{"24h", 24 * time.Hour, "24h"},
		{"30d", 720 * time.Hour, "720h"},
		{"1d4m", 24*time.Hour + 4*time.Minute, "24h4m"},
		{"1h30m", 90 * time.Minute, "1h30m"},
		{"1500ms", 1500 * time.Millisecond, "1s500ms"},
		{"1d2h3m4s5ms", 26*time.Hour + 3*time.Minute + 4*time.Second + 5*time.Millisecond, "26h3m4s5ms"},
		{"3650d", MaxDuration, "87600h"},
		{"007s", 7 * time.Second, "7s"},
	}
	for _, tt := range tests {
		d, err := ParseDuration(tt.text)
		if d != tt.want || err != nil {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", tt.text, d, err, tt.want)
		}
		if got := FormatDuration(d); got != tt.out {
			t.Errorf("FormatDuration(%v) = %q; want %q", d, got, tt.out)
		}
	}
}

func TestParseDurationRefuses(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", `duration "": want a duration such as 15s or 1h30m, with units ms, s, m, h, d`},
		{"15", `duration "15": want a duration such as`},
		{"s", `duration "s": want a duration such as`},
		{"15 s", `duration "15 s": want a duration such as`},
		{"15us", `duration "15us": want a duration such as`},
		{"1.5h", `duration "1.5h": want a duration such as`},
		{"+5s", `duration "+5s": want a duration such as`},
		{"1s1m", `duration "1s1m": want a duration such as`},
		{"5s5", `duration "5s5": want a duration such as`},
		{"-5s", `duration "-5s": want a duration that is not negative`},
		{"3650d1ms", `duration "3650d1ms": want at most 10 years (3650d)`},
		{"9223372036854775808ms", `duration "9223372036854775808ms": want at most 10 years`},
	}
	for _, tt := range tests {
		if d, err := ParseDuration(tt.text); d != 0 || err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("ParseDuration(%q) = %v, %v; want error %q", tt.text, d, err, tt.want)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{999 * time.Microsecond, "0s"},
		{1999 * time.Microsecond, "1ms"},
		{-90 * time.Second, "-1m30s"},
		{86640 * time.Second, "24h4m"},
	}
	for _, tt := range tests {
		if got := FormatDuration(tt.d); got != tt.want {
			t.Errorf("FormatDuration(%v) = %q; want %q", tt.d, got, tt.want)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, text := range []string{"0s", "15s", "1d2h3m4s5ms", "3650d", "-5s", "99999999999999999999s", "1h1h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDuration(text)
		if err != nil {
			return
		}
		if d < 0 || d > MaxDuration || d%time.Millisecond != 0 {
			t.Fatalf("ParseDuration(%q) = %v", text, d)
		}
		if again, err := ParseDuration(FormatDuration(d)); again != d || err != nil {
			t.Errorf("%q is parsed as %v, formatted as %q, and parsed again as %v, %v; want the same", text, d, FormatDuration(d), again, err)
		}
	})
}
