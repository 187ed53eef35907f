package schedule

import (
	"strconv"
	"strings"

	"github.com/bellmanhq/bellman/internal/coded"
)

// Parse reads a preset's name, a schedule's text or roncoo's notify_rule; see the package comment.
// An error names the wrong item, its place in the list, and what would be right.
func Parse(text string) (*Schedule, error) {
	if len(text) > maxText {
		return nil, coded.Errorf("schedule.long", "schedule of %d bytes: want at most %d", len(text), maxText)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, coded.Errorf("schedule.empty", "empty schedule: want a preset's name or delays such as 0s, 15s*2, 30s")
	}
	if c := text[0] | 0x20; 'a' <= c && c <= 'z' {
		p, err := presetNamed(text)
		if err != nil {
			return nil, err
		}
		text = p.Text
	}
	s := new(Schedule)
	var err error
	if text[0] == '{' {
		err = s.parseRule(text)
	} else {
		err = s.parseText(text)
	}
	if err != nil {
		return nil, err
	}
	if err := s.finish(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Schedule) parseText(text string) error {
	list, clauses, more := strings.Cut(text, ";")
	list, jitter, found := strings.Cut(list, "~")
	if found {
		if err := s.parseJitter(jitter); err != nil {
			return err
		}
	}
	if err := s.parseList(list); err != nil {
		return err
	}
	for more {
		var clause string
		clause, clauses, more = strings.Cut(clauses, ";")
		if err := s.parseClause(strings.TrimSpace(clause)); err != nil {
			return err
		}
	}
	return nil
}

var wantAge = coded.Errorf("schedule.want_age", "an age above 0s")

func (s *Schedule) parseClause(clause string) error {
	clause, jitter, found := strings.Cut(clause, "~")
	if found {
		if err := s.parseJitter(jitter); err != nil {
			return err
		}
		if clause == "" {
			return nil
		}
	}
	age, ok := strings.CutPrefix(clause, "max")
	if !ok {
		return coded.Errorf("schedule.clause", "%.40q after the semicolon: want max and an age, such as max 30m, or jitter such as ~10%%", clause)
	}
	if s.max > 0 {
		return coded.Errorf("schedule.max_twice", "%.40q: want max once", clause)
	}
	d, want := parseDuration(strings.TrimSpace(age))
	if want == nil && d == 0 {
		want = wantAge
	}
	if want != nil {
		return coded.Errorf("schedule.max", "%.40q: want %w", clause, want)
	}
	s.max = d
	return nil
}

// parseJitter reads what follows a tilde.
func (s *Schedule) parseJitter(text string) error {
	text = strings.TrimSpace(text)
	if s.jitter > 0 {
		return coded.Errorf("schedule.jitter_twice", "jitter %.40q: want jitter once", "~"+text)
	}
	digits, ok := strings.CutSuffix(text, "%")
	percent, isNumber := parseCount(digits)
	if !ok || !isNumber || percent < 1 || percent > 100 {
		return coded.Errorf("schedule.jitter", "jitter %.40q: want a whole percentage from ~1%% to ~100%%, after the last item", "~"+text)
	}
	s.jitter = percent
	return nil
}

func (s *Schedule) parseList(list string) error {
	list, offsets := strings.CutPrefix(strings.TrimSpace(list), "@")
	number := 0
	for text := range strings.SplitSeq(list, ",") {
		number++
		text = strings.TrimSpace(text)
		it, want := parseItem(text, offsets)
		if want == nil {
			want = s.add(it)
		}
		if want != nil {
			return coded.Errorf("schedule.item", "item %d %.40q: want %w", number, text, want)
		}
	}
	if r := s.runs[len(s.runs)-1]; r.until > 0 && r.until != always {
		return coded.Errorf("schedule.until_last", "item %d: want a repeating item after it, or %s*; max %s to end the task at that age",
			number, FormatDuration(r.gap), FormatDuration(r.until))
	}
	return nil
}

func parseItem(text string, offsets bool) (it item, want error) {
	text, fixed := strings.CutPrefix(text, "@")
	gap, repeat, star := strings.Cut(text, "*")
	it.d, want = parseDuration(strings.TrimSpace(gap))
	if want != nil {
		return it, want
	}
	it.count, it.fixed = 1, fixed || offsets
	if !star {
		return it, nil
	}

	repeat = strings.TrimSpace(repeat)
	age, band := strings.CutPrefix(repeat, "until")
	switch {
	case fixed:
		return it, coded.Errorf("schedule.want_once", "an offset without *, as it comes but once")
	case repeat == "":
		it.count, it.until = 0, always
	case band:
		it.count = 0
		if it.until, want = parseDuration(strings.TrimSpace(age)); want == nil && it.until == 0 {
			want = wantAge
		}
	case offsets:
		want = coded.Errorf("schedule.want_no_count", "an offset without a count, as it comes but once")
	default:
		var ok bool
		if it.count, ok = parseCount(repeat); !ok || it.count == 0 {
			want = coded.Errorf("schedule.want_count", "a count from 1 to %d after *, until and an age, or nothing", maxAttempts)
		}
	}
	it.fixed = it.until == 0 && it.fixed
	return it, want
}

// parseCount reads digits as a number that is not above maxAttempts.
func parseCount(digits string) (n int64, ok bool) {
	u, err := strconv.ParseUint(digits, 10, 64)
	return int64(u), err == nil && u <= maxAttempts
}
