package schedule

import (
	"strconv"
	"time"

	"github.com/bellmanhq/bellman/internal/coded"
)

// MaxDuration is the longest duration that ParseDuration accepts: 10 years of 365 days.
const MaxDuration = 3650 * 24 * time.Hour

// units from large to small, the order in which they may appear.
var units = [...]struct {
	name string
	size time.Duration
}{
	{"d", 24 * time.Hour},
	{"h", time.Hour},
	{"m", time.Minute},
	{"s", time.Second},
	{"ms", time.Millisecond},
}

var wantDuration = coded.Errorf("schedule.want_duration", "a duration such as 15s or 1h30m, with units ms, s, m, h, d")

// ParseDuration reads a duration of the API or the configuration: whole numbers with units ms, s,
// m, h, d (24 hours), larger units first, each unit at most once: "15s", "1h30m", "30d", "0s". A
// negative duration, one above MaxDuration and a number without a unit are errors.
func ParseDuration(text string) (time.Duration, error) {
	d, want := parseDuration(text)
	if want != nil {
		return 0, coded.Errorf("schedule.duration", "duration %.40q: want %w", text, want)
	}
	return d, nil
}

// parseDuration is ParseDuration for callers that name the place of the mistake: the error
// completes the sentence "want …".
func parseDuration(text string) (d time.Duration, want error) {
	if text == "" {
		return 0, wantDuration
	}
	if text[0] == '-' {
		return 0, coded.Errorf("schedule.want_positive", "a duration that is not negative")
	}
	unit := 0 // the largest that may still come
	for i := 0; i < len(text); {
		number := i
		for i < len(text) && '0' <= text[i] && text[i] <= '9' {
			i++
		}
		if i == number {
			return 0, wantDuration
		}
		n, err := strconv.ParseInt(text[number:i], 10, 64)
		tooLong := err != nil // the text has digits only, so the number is out of range

		name := i
		for i < len(text) && 'a' <= text[i] && text[i] <= 'z' {
			i++
		}
		for unit < len(units) && units[unit].name != text[name:i] {
			unit++
		}
		if unit == len(units) {
			return 0, wantDuration
		}
		if tooLong || n > int64((MaxDuration-d)/units[unit].size) {
			return 0, coded.Errorf("schedule.want_years", "at most 10 years (3650d)")
		}
		d += time.Duration(n) * units[unit].size
		unit++
	}
	return d, nil
}

// FormatDuration writes d in units h, m, s and ms: "24h4m", "15s", "1s500ms", "0s". It truncates to
// milliseconds. [ParseDuration] reads back every whole number of milliseconds from 0 to
// MaxDuration.
func FormatDuration(d time.Duration) string {
	return string(appendDuration(make([]byte, 0, 16), d))
}

func appendDuration(b []byte, d time.Duration) []byte {
	d = d.Truncate(time.Millisecond)
	if d == 0 {
		return append(b, "0s"...)
	}
	if d < 0 {
		b = append(b, '-')
	}
	for _, u := range units[1:] { // no days: people read 24h4m as it is published
		if n := d / u.size; n != 0 {
			b = strconv.AppendInt(b, max(int64(n), -int64(n)), 10)
			b = append(b, u.name...)
			d %= u.size
		}
	}
	return b
}
