package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a machine or container without zone files must know Asia/Shanghai
)

// A Repeat says when a task restarts after it ended. It is immutable and safe for concurrent use.
// Only [ParseRepeat] makes one.
type Repeat struct {
	every time.Duration // 0 for cron
	cron  cron
	zone  *time.Location
	text  string
}

const wantRepeat = `want a gap such as 10m, or cron and five fields such as "cron */10 * * * * Asia/Shanghai"`

// ParseRepeat reads a gap such as "10m" (10 ms or more), or a cron such as "cron */10 * * * *
// Asia/Shanghai": the word cron, five fields and an IANA time zone. Without a time zone the fields
// are in UTC.
//
// The fields are minute (0 to 59), hour (0 to 23), day of month (1 to 31), month (1 to 12 or JAN to
// DEC) and day of week (0 to 7 or SUN to SAT; 0 and 7 are Sunday). A field is a list, separated by
// commas, of *, a number, a range 1-5, or a step */10 or 8-18/2. If neither day field begins with
// *, a day matches if one of them does, as in every cron. A date that never comes, such as 30
// February, is an error.
func ParseRepeat(text string) (*Repeat, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("repeat of %d bytes: want at most %d", len(text), maxText)
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, errors.New("empty repeat: " + wantRepeat)
	}
	if words[0] != "cron" {
		return parseEvery(strings.TrimSpace(text))
	}
	if n := len(words); n != 6 && n != 7 {
		return nil, fmt.Errorf("repeat %.60q: want five fields after cron and perhaps a time zone, not %d words", text, n-1)
	}
	for i, word := range words[1:6] {
		words[1+i] = strings.ToUpper(word)
	}
	r := &Repeat{zone: time.UTC}
	var err error
	if r.cron, err = parseCron(words[1:6]); err != nil {
		return nil, fmt.Errorf("repeat: %w", err)
	}
	if len(words) == 7 {
		if r.zone, err = loadZone(words[6]); err != nil {
			return nil, err
		}
		if r.zone == time.UTC {
			words = words[:6]
		}
	}
	r.text = strings.Join(words, " ")
	return r, nil
}

func parseEvery(text string) (*Repeat, error) {
	d, want := parseDuration(text)
	switch {
	case want == wantDuration:
		return nil, fmt.Errorf("repeat %.60q: %s", text, wantRepeat)
	case want == nil && d < minRepeat:
		want = fmt.Errorf("a gap of %s or more", FormatDuration(minRepeat))
	}
	if want != nil {
		return nil, fmt.Errorf("repeat %.60q: want %w", text, want)
	}
	return &Repeat{every: d, text: FormatDuration(d)}, nil
}

// loadZone returns an IANA time zone. Their names begin with a capital letter. Some machines have
// other files in the same directory, with names in lower case.
func loadZone(name string) (*time.Location, error) {
	if name != "Local" && 'A' <= name[0] && name[0] <= 'Z' {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	return nil, fmt.Errorf("repeat: time zone %.40q: want the IANA name of one, such as Asia/Shanghai, or none for UTC", name)
}

// Next returns the first start after the given time, in UTC for a cron. A gap is added to the time.
// A cron matches the clock of its time zone.
//
// When clocks change, there are two cases, as in cron(8):
//
//   - Minute and hour name times of the day ("30 2 * * *"): one start a day. If the hour is skipped, the
//     start is at the change. If the hour comes twice, the start is in its first pass.
//   - Minute or hour begins with *: the cron follows elapsed time. A skipped hour has no start, and an
//     hour that comes twice has the starts of both passes.
func (r *Repeat) Next(after time.Time) time.Time {
	if r.every > 0 {
		return after.Add(r.every)
	}
	return r.cron.next(after, r.zone).UTC()
}

// String returns the canonical text, which [ParseRepeat] reads back to an equal Repeat.
func (r *Repeat) String() string { return r.text }
