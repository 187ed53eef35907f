package schedule

// Why no library: robfig/cron has had no release since 2020. gronx gives up after some hundred
// steps, so it finds no rare date; it knows neither of the two rules of [Repeat.Next] for changes
// of the clock; and it accepts steps such as 5/10, on whose meaning crons differ. The tests compare
// this file with gronx in zones without changes of the clock.

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A cron is five fields as sets of numbers, bit n for the number n.
type cron struct {
	minute, hour, day, month, weekday uint64
	bothDays                          bool // day and weekday must both match: one of them begins with *
	elapsed                           bool // minute or hour begins with *: goes by elapsed time, see Repeat
}

var fields = [...]struct {
	name   string
	lo, hi int
	words  []string // names of lo, lo+1, …
}{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of month", 1, 31, nil},
	{"month", 1, 12, []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}},
	{"day of week", 0, 7, []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}},
}

// parseCron reads five fields, names in capitals.
func parseCron(texts []string) (c cron, err error) {
	var sets [len(fields)]uint64
	for i, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			set, ok := parsePart(i, part)
			if !ok {
				f := fields[i]
				return c, fmt.Errorf("field %d (%s) %.40q: want *, a number from %d to %d, a range such as %d-%d, or a step such as */2 or %d-%d/2",
					i+1, f.name, part, f.lo, f.hi, f.lo, f.hi, f.lo, f.hi)
			}
			sets[i] |= set
		}
	}
	star := func(i int) bool { return texts[i][0] == '*' }
	c = cron{
		minute: sets[0], hour: sets[1], day: sets[2], month: sets[3],
		weekday:  sets[4] | sets[4]>>7, // 7 is Sunday, too
		bothDays: star(2) || star(4),
		elapsed:  star(0) || star(1),
	}
	if c.after(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return c, fmt.Errorf("%q never comes: want a day that its month has", strings.Join(texts, " "))
	}
	return c, nil
}

// parsePart reads *, n, n-n, */step or n-n/step of field i.
func parsePart(i int, part string) (set uint64, ok bool) {
	f := fields[i]
	span, every, stepped := strings.Cut(part, "/")
	step := 1
	if stepped {
		if step, ok = digits(every); !ok || step < 1 || step > f.hi {
			return 0, false
		}
	}
	lo, hi := f.lo, f.hi
	if span != "*" {
		from, to, isRange := strings.Cut(span, "-")
		if lo, ok = number(i, from); !ok {
			return 0, false
		}
		hi = lo
		if isRange {
			if hi, ok = number(i, to); !ok {
				return 0, false
			}
			if to == "SUN" && lo > 0 {
				hi = 7 // FRI-SUN
			}
		}
		if lo > hi || stepped && !isRange { // crons disagree about 5/10
			return 0, false
		}
	}
	for n := lo; n <= hi; n += step {
		set |= 1 << n
	}
	return set, true
}

func number(i int, text string) (n int, ok bool) {
	f := fields[i]
	for j, word := range f.words {
		if text == word {
			return f.lo + j, true
		}
	}
	n, ok = digits(text)
	return n, ok && f.lo <= n && n <= f.hi
}

// digits reads one or two digits.
func digits(text string) (n int, ok bool) {
	u, err := strconv.ParseUint(text, 10, 32)
	return int(u), err == nil && len(text) <= 2
}

// after returns the first minute after wall that matches. Both are wall-clock times, written as
// times in UTC. Zero: no minute matches within 400 years, after which the calendar repeats.
func (c *cron) after(wall time.Time) time.Time {
	t := wall.Truncate(time.Minute).Add(time.Minute)
	for end := t.Year() + 400; t.Year() <= end; {
		year, month, day := t.Date()
		switch {
		case c.month>>month&1 == 0:
			t = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
		case !c.onDay(day, t.Weekday()):
			t = time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
		case c.hour>>t.Hour()&1 == 0:
			t = t.Truncate(time.Hour).Add(time.Hour)
		case c.minute>>t.Minute()&1 == 0:
			t = t.Add(time.Minute)
		default:
			return t
		}
	}
	return time.Time{}
}

// onDay reports whether a day matches. As in every cron, a match of one of the two day fields is
// enough, unless one of the fields begins with *.
func (c *cron) onDay(day int, weekday time.Weekday) bool {
	inMonth, inWeek := c.day>>day&1 == 1, c.weekday>>weekday&1 == 1
	if c.bothDays {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

// next returns the first instant after t at which a clock in zone matches.
func (c *cron) next(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	wall := reading(t)
	if !c.elapsed {
		// If t is in the second pass of an hour that comes twice, the first matches of
		// the wall clock may lie before t.
		for {
			wall = c.after(wall)
			if at := instant(wall, zone); at.After(t) {
				return at
			}
		}
	}
	for {
		_, offset := t.Zone()
		_, change := t.ZoneBounds()
		at := c.after(wall).Add(-time.Duration(offset) * time.Second).In(zone)
		if change.IsZero() || at.Before(change) {
			return at
		}
		t = change
		wall = reading(t).Add(-time.Nanosecond) // so that the change itself can match
	}
}

// reading returns the wall-clock time at t, written as a time in UTC.
func reading(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.Add(time.Duration(offset) * time.Second).UTC()
}

// instant returns when a clock in zone first shows wall. A time that the clock skips counts as the
// moment of that change.
func instant(wall time.Time, zone *time.Location) time.Time {
	year, month, day := wall.Date()
	t := time.Date(year, month, day, wall.Hour(), wall.Minute(), 0, 0, zone)
	start, end := t.ZoneBounds()
	switch shown := reading(t); {
	case shown.After(wall):
		return start
	case shown.Before(wall):
		return end
	}
	if start.IsZero() {
		return t
	}
	_, before := start.Add(-time.Nanosecond).Zone()
	if first := wall.Add(-time.Duration(before) * time.Second).In(zone); first.Before(start) {
		return first
	}
	return t
}
