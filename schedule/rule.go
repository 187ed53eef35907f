package schedule

import (
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/coded"
)

// parseRule reads roncoo's notify_rule: for each attempt the minutes since the attempt before it,
// {"1":0,"2":1,"3":2,"4":5,"5":15}. A missing number below the highest means 0, as in roncoo's
// code. Numbers may be without quotes, as fastjson writes a map with integer keys, and minutes may
// be in quotes.
func (s *Schedule) parseRule(text string) error {
	body, ok := strings.CutSuffix(text[1:], "}")
	if !ok {
		return coded.Errorf("schedule.rule_end", "notify_rule %.40q: want a } at its end", text)
	}
	minutes := make(map[int64]time.Duration)
	var highest int64
	place := 0
	for pair := range strings.SplitSeq(body, ",") {
		place++
		number, gap, want := parsePair(strings.TrimSpace(pair))
		if _, twice := minutes[number]; want == nil && twice {
			want = coded.Errorf("schedule.want_number_once", "each attempt's number once")
		}
		if want != nil {
			return coded.Errorf("schedule.rule_entry", "notify_rule: entry %d %.40q: want %w", place, strings.TrimSpace(pair), want)
		}
		minutes[number] = gap
		highest = max(highest, number)
	}
	for number := range highest {
		gap := minutes[number+1]
		if want := s.add(item{d: gap, count: 1}); want != nil {
			return coded.Errorf("schedule.rule_attempt", "notify_rule: attempt %d after %s: want %w", number+1, FormatDuration(gap), want)
		}
	}
	return nil
}

func parsePair(pair string) (number int64, gap time.Duration, want error) {
	key, value, ok := strings.Cut(pair, ":")
	key = strings.TrimSpace(key)
	if quoted, q := strings.CutPrefix(key, `"`); q {
		key, q = strings.CutSuffix(quoted, `"`)
		ok = ok && q
	}
	number, isNumber := parseCount(key)
	if !ok || !isNumber || number == 0 {
		return 0, 0, coded.Errorf("schedule.want_number", `an attempt's number from 1 to %d and its minutes, such as "2":1`, maxAttempts)
	}
	minutes := strings.TrimSpace(value)
	if quoted, q := strings.CutPrefix(minutes, `"`); q { // as a map of texts is written
		if minutes, q = strings.CutSuffix(quoted, `"`); !q {
			minutes = ""
		}
	}
	if minutes == "" || strings.Trim(minutes, "0123456789") != "" {
		return 0, 0, coded.Errorf("schedule.want_minutes", "whole minutes, 0 or more, after the colon")
	}
	gap, want = parseDuration(minutes + "m")
	return number, gap, want
}
