package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse reads a preset's name, a schedule's text or roncoo's notify_rule, as the
// package comment has them. An error names the item that is wrong, its place in
// the list, and what would be right there.
func Parse(text string) (*Schedule, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("schedule of %d bytes: want at most %d", len(text), maxText)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, fmt.Errorf("empty schedule: want a preset's name or delays such as 0s, 15s*2, 30s")
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
		return fmt.Errorf("%.40q after the semicolon: want max and an age, such as max 30m, or jitter such as ~10%%", clause)
	}
	if s.max > 0 {
		return fmt.Errorf("%.40q: want max once", clause)
	}
	d, want := parseDuration(strings.TrimSpace(age))
	if want == "" && d == 0 {
		want = "an age above 0s"
	}
	if want != "" {
		return fmt.Errorf("%.40q: want %s", clause, want)
	}
	s.max = d
	return nil
}

// parseJitter reads what follows a tilde.
func (s *Schedule) parseJitter(text string) error {
	text = strings.TrimSpace(text)
	if s.jitter > 0 {
		return fmt.Errorf("jitter %.40q: want jitter once", "~"+text)
	}
	digits, ok := strings.CutSuffix(text, "%")
	percent, isNumber := parseCount(digits)
	if !ok || !isNumber || percent < 1 || percent > 100 {
		return fmt.Errorf("jitter %.40q: want a whole percentage from ~1%% to ~100%%, after the last item", "~"+text)
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
		if want == "" {
			want = s.add(it)
		}
		if want != "" {
			return fmt.Errorf("item %d %.40q: want %s", number, text, want)
		}
	}
	if r := s.runs[len(s.runs)-1]; r.until > 0 && r.until != always {
		return fmt.Errorf("item %d: want a repeating item after it, or %s*; max %s to end the task at that age",
			number, FormatDuration(r.gap), FormatDuration(r.until))
	}
	return nil
}

func parseItem(text string, offsets bool) (it item, want string) {
	text, fixed := strings.CutPrefix(text, "@")
	gap, repeat, star := strings.Cut(text, "*")
	it.d, want = parseDuration(strings.TrimSpace(gap))
	if want != "" {
		return it, want
	}
	it.count, it.fixed = 1, fixed || offsets
	if !star {
		return it, ""
	}

	repeat = strings.TrimSpace(repeat)
	age, band := strings.CutPrefix(repeat, "until")
	switch {
	case fixed:
		return it, "an offset without *, as it comes but once"
	case repeat == "":
		it.count, it.until = 0, always
	case band:
		it.count = 0
		if it.until, want = parseDuration(strings.TrimSpace(age)); want == "" && it.until == 0 {
			want = "an age above 0s"
		}
	case offsets:
		want = "an offset without a count, as it comes but once"
	default:
		var ok bool
		if it.count, ok = parseCount(repeat); !ok || it.count == 0 {
			want = fmt.Sprintf("a count from 1 to %d after *, until and an age, or nothing", maxAttempts)
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
