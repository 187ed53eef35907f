package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/bellmanhq/bellman/internal/coded"
)

// Limits of a schedule; see the package comment.
const (
	maxText     = 4 << 10
	maxAttempts = 10_000
	maxRuns     = 200
	minRepeat   = 10 * time.Millisecond
)

// An item is one member of a list, as written.
type item struct {
	d     time.Duration // gap, or offset if fixed
	count int64         // attempts; 0 for a repeat
	until time.Duration // of a repeat; always if it has no end
	fixed bool
}

// add appends an item, and joins it with the item before it if both have the same gap. An error
// completes the sentence "want …".
func (s *Schedule) add(it item) (want error) {
	var r run
	if len(s.runs) > 0 {
		r = s.runs[len(s.runs)-1].after()
	}
	switch {
	case r.until == always:
		return coded.Errorf("schedule.want_nothing", "nothing after an item that repeats without end; give that a count (5m*3) or an age (5m* until 1h)")
	case r.until > 0 && it.until == 0:
		return coded.Errorf("schedule.want_repeating", "a repeating item such as 5m*, as always after an item with until")
	case it.fixed && len(s.runs) > 0 && it.d <= r.from:
		return coded.Errorf("schedule.want_offset", "an offset after %s, where the item before it ends", FormatDuration(r.from))
	case it.until > 0 && it.d < minRepeat:
		return coded.Errorf("schedule.want_gap", "a gap of %s or more, as it repeats", FormatDuration(minRepeat))
	case it.until > 0 && it.until <= r.from:
		return coded.Errorf("schedule.want_later_age", "an age above %s, where the item before it ends", FormatDuration(r.from))
	case r.first+it.count > maxAttempts && it.until == 0:
		return coded.Errorf("schedule.want_attempts", "at most %d attempts in all; let the last item repeat (5m*)", maxAttempts)
	}

	switch {
	case it.fixed:
		r.gap, r.count = it.d-r.from, 1
		if len(s.runs) > 0 { // the first attempt's gap is its offset
			r.at, r.fixed = it.d, true
		}
	case it.until == always:
		r.gap, r.until, r.count = it.d, always, endless
	case it.until > 0:
		r.gap, r.until, r.count = it.d, it.until, int64((it.until-r.from+it.d-1)/it.d)
	default:
		r.gap, r.count = it.d, it.count
		if r.gap > 0 && r.count > int64((MaxDuration-r.from)/r.gap) {
			return coded.Errorf("schedule.want_end", "a list that ends within 10 years (3650d)")
		}
	}
	if s.join(r); len(s.runs) > maxRuns {
		return coded.Errorf("schedule.want_runs", "at most %d different gaps one after the other; let the last item repeat (5m*)", maxRuns)
	}
	return nil
}

// after returns an empty run that follows r; its until is still r's.
func (r run) after() run {
	if r.until == always {
		return run{until: always}
	}
	return run{first: r.first + r.count, from: r.from + time.Duration(r.count)*r.gap, until: r.until}
}

// join appends r, or extends the run before it.
func (s *Schedule) join(r run) {
	for len(s.runs) > 0 {
		p := s.runs[len(s.runs)-1]
		bands := p.until > 0 && r.until > 0
		gaps := p.until == 0 && (r.until == 0 || r.until == always) && !p.fixed && !r.fixed
		if p.gap != r.gap || !bands && !gaps {
			break
		}
		r.first, r.from = p.first, p.from
		r.count = min(p.count+r.count, endless)
		s.runs = s.runs[:len(s.runs)-1]
	}
	s.runs = append(s.runs, r)
}

// finish sets attempts, last and text, which follow from runs, max and jitter.
func (s *Schedule) finish() error {
	if first := s.runs[0].gap; s.max > 0 && first > s.max {
		return coded.Errorf("schedule.max_first", "max %s: want at least %s, when the first attempt is due", FormatDuration(s.max), FormatDuration(first))
	}
	s.attempts, s.last = 0, 0
	for _, r := range s.runs {
		count := r.count
		if s.max > 0 && r.gap > 0 {
			count = min(count, int64(max(s.max-r.from, 0)/r.gap))
		}
		s.attempts += count
		if s.attempts >= endless {
			s.attempts, s.last = endless, 0
			break
		}
		s.last = r.from + time.Duration(count)*r.gap
		if count < r.count {
			break
		}
	}
	s.runs = slices.Clone(s.runs)[:len(s.runs):len(s.runs)] // without spare capacity
	s.text = string(s.append(nil))
	if len(s.text) > maxText {
		return coded.Errorf("schedule.written_long", "schedule of %d bytes when written out as %.40q…: want at most %d", len(s.text), s.text, maxText)
	}
	return nil
}

// Within returns the schedule with the smaller of its own max and this one, in whole milliseconds.
// 0 leaves the schedule as it is. A max below the first attempt is an error.
func (s *Schedule) Within(max time.Duration) (*Schedule, error) {
	max = max.Truncate(time.Millisecond)
	if max == 0 || s.max > 0 && s.max <= max || len(s.runs) == 0 {
		return s, nil
	}
	if max < 0 || max > MaxDuration {
		return nil, fmt.Errorf("max %s: want an age up to 10 years (3650d)", FormatDuration(max))
	}
	t := *s
	t.max = max
	if err := t.finish(); err != nil {
		return nil, err
	}
	return &t, nil
}

// append appends the canonical text.
func (s *Schedule) append(b []byte) []byte {
	offsets := s.offsets()
	if offsets {
		b = append(b, "@ "...)
	}
	for i, r := range s.runs {
		if i > 0 {
			b = append(b, ", "...)
		}
		switch {
		case r.fixed && offsets:
			b = appendDuration(b, r.at)
		case r.fixed:
			b = appendDuration(append(b, '@'), r.at)
		default:
			b = appendDuration(b, r.gap)
		}
		switch {
		case r.until == always:
			b = append(b, '*')
		case r.until > 0:
			b = appendDuration(append(b, "* until "...), r.until)
		case r.count > 1:
			b = strconv.AppendInt(append(b, '*'), r.count, 10)
		}
	}
	if s.jitter > 0 {
		b = append(strconv.AppendInt(append(b, " ~"...), s.jitter, 10), '%')
	}
	if s.max > 0 {
		b = appendDuration(append(b, "; max "...), s.max)
	}
	return b
}

// offsets reports whether the list is written with one @ in front: before the repeats it has at
// least two attempts, and all but the first are at offsets.
func (s *Schedule) offsets() bool {
	single := 0
	for i, r := range s.runs {
		if r.until > 0 {
			break
		}
		if i > 0 && !r.fixed || r.count > 1 {
			return false
		}
		single++
	}
	return single > 1
}
