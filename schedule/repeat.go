package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a machine or container without zone files must know Asia/Shanghai
)

// A Repeat says when a task begins again after it ended. It never changes, and
// any number of goroutines may share one. Only [ParseRepeat] makes one.
type Repeat struct {
	every time.Duration // 0 for cron
	cron  cron
	zone  *time.Location
	text  string
}

const wantRepeat = `want a gap such as 10m, or cron and five fields such as "cron */10 * * * * Asia/Shanghai"`

// ParseRepeat reads "10m" (a gap of 10 ms or more) or "cron */10 * * * *
// Asia/Shanghai": the word cron, five fields, and an IANA time zone, without which
// the fields mean UTC. The fields are minute (0 to 59), hour (0 to 23), day of
// month (1 to 31), month (1 to 12 or JAN to DEC) and day of week (0 to 7 or SUN to
// SAT, 0 and 7 both Sunday); in each, separated by commas: *, a number, a range
// 1-5, a step */10 or 8-18/2. If neither of the days begins with *, either may match,
// as in every cron. A date that never comes, 30 February, is refused.
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

// loadZone finds an IANA zone. All of their names begin with a capital, unlike
// the other files that lie beside them on some machines.
func loadZone(name string) (*time.Location, error) {
	if name != "Local" && 'A' <= name[0] && name[0] <= 'Z' {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	return nil, fmt.Errorf("repeat: time zone %.40q: want the IANA name of one, such as Asia/Shanghai, or none for UTC", name)
}

// Next returns the first time after the given one: a gap is added to it, a cron
// looks for the next match of the clock in its zone. It is always later.
//
// Where clocks are changed, crons do what cron does. One whose minute and hour
// name times of the day ("30 2 * * *") comes once a day: in an hour that is left out,
// at the moment of the change; in an hour that comes twice, in its first pass. One
// whose minute or hour begins with * goes by elapsed time: nothing in an hour that is
// left out, and in an hour that comes twice it matches twice.
func (r *Repeat) Next(after time.Time) time.Time {
	if r.every > 0 {
		return after.Add(r.every)
	}
	return r.cron.next(after, r.zone).UTC()
}

// String returns the canonical text. [ParseRepeat] reads it back to an equal Repeat.
func (r *Repeat) String() string { return r.text }
