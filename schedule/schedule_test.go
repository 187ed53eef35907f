package schedule

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func equal(a, b *Schedule) bool { return reflect.DeepEqual(a, b) }

func TestParse(t *testing.T) {
	tests := []struct {
		text, want string
		n          int // number of attempts; -1: unlimited
	}{
		{"0s, 15s*2, 30s, 3m, 10m, 20m, 30m*3, 1h, 3h*3, 6h*2", "0s, 15s*2, 30s, 3m, 10m, 20m, 30m*3, 1h, 3h*3, 6h*2", 16},
		{" 0s ,15s * 2,\n30s ", "0s, 15s*2, 30s", 4},
		{"0s,15s,15s", "0s, 15s*2", 3},
		{"0s", "0s", 1},
		{"0s*3", "0s*3", 3},
		{"15s*1", "15s", 1},
		{"1d, 60s, 1500ms, 90m", "24h, 1m, 1s500ms, 1h30m", 4},
		{"5m*", "5m*", -1},
		{"3s*20, 5m *", "3s*20, 5m*", -1},
		{"3m, 5m, 5m*2, 5m*", "3m, 5m*", -1},
		{"3s*20, 1m*2, 2m, 3m, 5m*; max 30m", "3s*20, 1m*2, 2m, 3m, 5m*; max 30m", 28},
		{"5m*;max 10m", "5m*; max 10m", 2},
		{"5m*; max 1d", "5m*; max 24h", 288},
		{"0s, 1h*10; max 5h", "0s, 1h*10; max 5h", 6},
		{"2s*30; max 60s", "2s*30; max 1m", 30},
		{"@ 3s, 6s, 90s", "@ 3s, 6s, 1m30s", 3},
		{"@3s,@6s", "@ 3s, 6s", 2},
		{"3s, @6s", "@ 3s, 6s", 2},
		{"@ 0s, 6s", "@ 0s, 6s", 2},
		{"@ 3s", "3s", 1},
		{"@ 3s, 6s, 1m*", "@ 3s, 6s, 1m*", -1},
		{"@ 3s, 1m*", "3s, 1m*", -1},
		{"@ 3s, 3s*", "3s*", -1},
		{"@ 3s, 6s, 3s*", "@ 3s, 6s, 3s*", -1},
		{"5s*6, @10m, 1m*", "5s*6, @10m, 1m*", -1},
		{"5s, @10m, 30s", "5s, @10m, 30s", 3},
		{"1m* until 10m, 10m* until 1h, 1h* until 24h, 24h*", "1m* until 10m, 10m* until 1h, 1h* until 24h, 24h*", -1},
		{"1m*until 10m,1m* until 20m, 5m*; max 25m", "1m* until 20m, 5m*; max 25m", 21},
		{"1m* until 10m, 1m*", "1m*", -1},
		{"1m, 1m* until 10m, 1m*", "1m*", -1},
		{"1m, 1m* until 10m, 2m*", "1m, 1m* until 10m, 2m*", -1},
		{"7m* until 10m, 1h*; max 2h", "7m* until 10m, 1h*; max 2h", 3}, // 7m, 14m, 1h14m
		{"0s, 1h, 2h, 0s*2; max 30m", "0s, 1h, 2h, 0s*2; max 30m", 1},
		{"0s, 5m, 1h ~10%", "0s, 5m, 1h ~10%", 3},
		{"0s, 5m, 1h; ~ 10%; max 2h", "0s, 5m, 1h ~10%; max 2h", 3},
		{"0s, 5m, 1h; max 2h ~100%", "0s, 5m, 1h ~100%; max 2h", 3},
		{"10000d, 1s"[2:], "0s, 1s", 2},
		{"1ms*10000", "1ms*10000", 10000},
		{"3650d", "87600h", 1},
		{"10ms*", "10ms*", -1},
		{`{"1":0,"2":1,"3":2,"4":5,"5":15}`, "0s, 1m, 2m, 5m, 15m", 5},
		{` { "3" : 2, 1:1 } `, "1m, 0s, 2m", 3},
		{`{1:0,2:0,3:0}`, "0s*3", 3},
		{`{"1":"0","2" : "1" ,3:2}`, "0s, 1m, 2m", 3},
		{"roncoo_notify", "0s, 1m, 2m, 5m, 15m", 5},
		{" wechat_notify ", "0s, 15s*2, 30s, 3m, 10m, 20m, 30m*3, 1h, 3h*3, 6h*2", 16},
	}
	for _, tt := range tests {
		s, err := Parse(tt.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.text, err)
			continue
		}
		n, finite := s.Attempts()
		if s.String() != tt.want || finite != (tt.n >= 0) || n != max(tt.n, 0) {
			t.Errorf("Parse(%q) = %q with %d attempts, finite %t; want %q with %d", tt.text, s, n, finite, tt.want, tt.n)
		}
		wellFormed(t, s)
	}
}

// bands returns a text that is longer in its canonical form: n items with until, without blanks.
func bands(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%dh59m59s999ms*until%dh59m59s999ms,", 1+i%2, 100+10*i)
	}
	return b.String() + "1h*"
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "empty schedule: want a preset's name or delays such as 0s, 15s*2, 30s"},
		{" \n", "empty schedule: want a preset's name or delays such as 0s, 15s*2, 30s"},
		{"0s, 10s, 15x", `item 3 "15x": want a duration such as 15s or 1h30m, with units ms, s, m, h, d`},
		{"0s,,5s", `item 2 "": want a duration`},
		{"0s, 5s,", `item 3 "": want a duration`},
		{"0s, 15", `item 2 "15": want a duration`},
		{"0s, 15S", `item 2 "15S": want a duration`},
		{"-5s", `item 1 "-5s": want a duration that is not negative`},
		{"1.5s", `item 1 "1.5s": want a duration`},
		{"1m1h", `item 1 "1m1h": want a duration`},
		{"1h1h", `item 1 "1h1h": want a duration`},
		{"3651d", `item 1 "3651d": want at most 10 years (3650d)`},
		{"99999999999999999999s", `item 1 "99999999999999999999s": want at most 10 years (3650d)`},
		{"5s*0", `item 1 "5s*0": want a count from 1 to 10000 after *, until and an age, or nothing`},
		{"5s*10001", `item 1 "5s*10001": want a count`},
		{"5s*x", `item 1 "5s*x": want a count`},
		{"5s*-1", `item 1 "5s*-1": want a count`},
		{"5s*6000, 6s*6000", `item 2 "6s*6000": want at most 10000 attempts in all; let the last item repeat (5m*)`},
		{"100d*37", `item 1 "100d*37": want a list that ends within 10 years`},
		{"0s*", `item 1 "0s*": want a gap of 10ms or more, as it repeats`},
		{"9ms*", `item 1 "9ms*": want a gap of 10ms or more`},
		{"9ms* until 1s, 1s*", `item 1 "9ms* until 1s": want a gap of 10ms or more`},
		{"5m*, 1h", `item 2 "1h": want nothing after an item that repeats without end`},
		{"5m*, 5m*", `item 2 "5m*": want nothing after`},
		{"5m* until 1h", "item 1: want a repeating item after it, or 5m*; max 1h to end the task at that age"},
		{"5m* until 1h, 5s", `item 2 "5s": want a repeating item such as 5m*, as always after an item with until`},
		{"5m* until 1h, @2h", `item 2 "@2h": want a repeating item`},
		{"5m* until 1h, 10m* until 1h, 1h*", `item 2 "10m* until 1h": want an age above 1h, where the item before it ends`},
		{"1h, 1m* until 10m, 5m*", `item 2 "1m* until 10m": want an age above 1h, where the item before it ends`},
		{"5m* until 0s, 1h*", `item 1 "5m* until 0s": want an age above 0s`},
		{"5m* until, 1h*", `item 1 "5m* until": want a duration`},
		{"@ 6s, 3s", `item 2 "3s": want an offset after 6s, where the item before it ends`},
		{"@ 6s, 6s", `item 2 "6s": want an offset after 6s`},
		{"@ 6s, 7s*2", `item 2 "7s*2": want an offset without a count, as it comes but once`},
		{"5s*6, @30s", `item 2 "@30s": want an offset after 30s`},
		{"5s, @30s*2", `item 2 "@30s*2": want an offset without *, as it comes but once`},
		{"0s; max", `"max": want a duration`},
		{"0s; max 0s", `"max 0s": want an age above 0s`},
		{"0s; max 1h; max 1h", `"max 1h": want max once`},
		{"0s; min 1h", `"min 1h" after the semicolon: want max and an age, such as max 30m, or jitter such as ~10%`},
		{"0s;", `"" after the semicolon: want max and an age`},
		{"10m; max 5m", "max 5m: want at least 10m, when the first attempt is due"},
		{"0s ~0%", `jitter "~0%": want a whole percentage from ~1% to ~100%, after the last item`},
		{"0s ~101%", `jitter "~101%": want`},
		{"0s ~10", `jitter "~10": want`},
		{"0s ~10%, 5s", `jitter "~10%, 5s": want`},
		{"0s ~10%; ~10%", `jitter "~10%": want jitter once`},
		{"wechat_notfy", `no preset is called "wechat_notfy": want wechat_notify, or delays such as 0s, 15s*2, 30s`},
		{"max 30m", `no preset is called "max 30m": want a preset's name such as wechat_notify, or delays`},
		{"every day", `no preset is called "every day": want a preset's name such as wechat_notify, or delays`},
		{`{}`, `notify_rule: entry 1 "": want an attempt's number from 1 to 10000 and its minutes, such as "2":1`},
		{`{"1":0`, `notify_rule "{\"1\":0": want a } at its end`},
		{`{"1":0,"0":1}`, `notify_rule: entry 2 "\"0\":1": want an attempt's number`},
		{`{"1":0,"x":1}`, `notify_rule: entry 2 "\"x\":1": want an attempt's number`},
		{`{"1":0,"2:1}`, `notify_rule: entry 2 "\"2:1": want an attempt's number`},
		{`{"1":0,"10001":1}`, `notify_rule: entry 2 "\"10001\":1": want an attempt's number`},
		{`{"1":0,"1":1}`, `notify_rule: entry 2 "\"1\":1": want each attempt's number once`},
		{`{"1":-1}`, `notify_rule: entry 1 "\"1\":-1": want whole minutes, 0 or more, after the colon`},
		{`{"1":1.5}`, `notify_rule: entry 1 "\"1\":1.5": want whole minutes`},
		{`{"1":"0,"2":1}`, `notify_rule: entry 1 "\"1\":\"0": want whole minutes`},
		{`{"1":"1.5"}`, `notify_rule: entry 1 "\"1\":\"1.5\"": want whole minutes`},
		{`{"1":""}`, `notify_rule: entry 1 "\"1\":\"\"": want whole minutes`},
		{`{"1":99999999999}`, `notify_rule: entry 1 "\"1\":99999999999": want at most 10 years`},
		{`{"1":5256000,"2":1}`, "notify_rule: attempt 2 after 1m: want a list that ends within 10 years"},
		{strings.Repeat("1s,", 1366), "schedule of 4098 bytes: want at most 4096"},
		{bands(112), "schedule of 4"},
	}
	for _, tt := range tests {
		s, err := Parse(tt.text)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("Parse(%.60q) = %v, %v; want error %q", tt.text, s, err, tt.want)
		}
	}
}

func TestNext(t *testing.T) {
	tests := []struct {
		text string
		n    int
		last time.Duration // start of the previous attempt, after the start of the schedule
		want time.Duration // after the start; -1: used up, -2: maximum age
	}{
		{"5s, 10s", 0, time.Hour, 5 * time.Second},                    // last has no effect for the first attempt
		{"5s, 10s", -1, time.Hour, 5 * time.Second},                   // nor for a number below
		{"5s, 10s", 1, 7 * time.Second, 17 * time.Second},             // a late attempt delays the rest
		{"5s, 10s", 2, 17 * time.Second, -1},                          //
		{"@ 5s, 10s", 1, 7 * time.Second, 10 * time.Second},           // offsets do not move
		{"@ 5s, 10s", 1, time.Minute, 10 * time.Second},               // even if they are past
		{"5s, 1m*", 1000, time.Hour, time.Hour + time.Minute},         //
		{"5s, 10s; max 10s", 1, 5 * time.Second, -2},                  //
		{"5s, 5s; max 10s", 1, 5 * time.Second, 10 * time.Second},     // an attempt at exactly max is made
		{"5s, 5s; max 10s", 1, 5001 * time.Millisecond, -2},           //
		{"5s, 5s; max 10s", 2, 10 * time.Second, -1},                  // "used up" takes precedence
		{"1m* until 10m, 10m*", 3, 9 * time.Minute, 10 * time.Minute}, // bands depend on the age, not on the number
		{"1m* until 10m, 10m*", 3, 599 * time.Second, 659 * time.Second},
		{"1m* until 10m, 10m*", 3, 10 * time.Minute, 20 * time.Minute},
		{"1m* until 10m, 10m*", 50, 2 * time.Minute, 3 * time.Minute},
		{"1s*3, 1m* until 10m, 10m*", 2, time.Hour, time.Hour + time.Second},
		{"1s*3, 1m* until 10m, 10m*", 3, time.Hour, time.Hour + 10*time.Minute},
		{"0s, 5s, 15s", 1, -time.Hour, 5*time.Second - time.Hour},  // an attempt before the start counts like any other
		{"0s, 5s, 15s", 2, -time.Hour, 15*time.Second - time.Hour}, //
		{"0s, 5s, 15s", 3, -time.Hour, -1},                         //
		{"1m* until 10m, 10m*", 1, -time.Hour, time.Minute - time.Hour},
		{"5s*6, @10m, 1m*", 6, 31 * time.Second, 10 * time.Minute},
		{"5s*6, @10m, 1m*", 7, 10*time.Minute + 1, 11*time.Minute + 1},
	}
	for _, tt := range tests {
		s, err := Parse(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		due, end := s.Next(tt.n, start, start.Add(tt.last), 0.5)
		got := due.Sub(start)
		switch end {
		case AttemptsUsedUp:
			got = -1
		case MaxAge:
			got = -2
		}
		if got != tt.want {
			t.Errorf("%q.Next(%d) after %v = %v; want %v", tt.text, tt.n, tt.last, got, tt.want)
		}
	}
}

func TestJitter(t *testing.T) {
	tests := []struct {
		text   string
		n      int
		jitter float64
		want   time.Duration
	}{
		{"1s, 10s ~10%", 1, 0, 10 * time.Second},
		{"1s, 10s ~10%", 1, 0.5, 10500 * time.Millisecond},
		{"1s, 10s ~10%", 1, 0.9999999, 10999 * time.Millisecond},
		{"1s, 10s ~10%", 1, 7, 11 * time.Second},
		{"1s, 10s ~10%", 1, -7, 10 * time.Second},
		{"1s, 10s", 1, 0.5, 10 * time.Second},
		{"10s ~100%", 0, 0.5, 15 * time.Second},
		{"10s ~100%; max 12s", 0, 0.5, 12 * time.Second},
		{"@ 10s, 20s ~50%", 1, 0.5, 22500 * time.Millisecond},
	}
	for _, tt := range tests {
		s, err := Parse(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if due, end := s.Next(tt.n, start, start, tt.jitter); due.Sub(start) != tt.want || end != "" {
			t.Errorf("%q.Next(%d) with jitter %v = %v, %q; want %v", tt.text, tt.n, tt.jitter, due.Sub(start), end, tt.want)
		}
	}
}

func TestWithin(t *testing.T) {
	tests := []struct {
		text string
		max  time.Duration
		want string // empty: an error
	}{
		{"0s, 1m*", 0, "0s, 1m*"},
		{"0s, 1m*", time.Hour, "0s, 1m*; max 1h"},
		{"0s, 1m*; max 30m", time.Hour, "0s, 1m*; max 30m"},
		{"0s, 1m*; max 2h", time.Hour, "0s, 1m*; max 1h"},
		{"5m", 5 * time.Minute, "5m; max 5m"},
		{"5m", 4 * time.Minute, ""},
		{"5m", -time.Minute, ""},
		{"5m", 2 * MaxDuration, ""},
	}
	for _, tt := range tests {
		s, err := Parse(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		in, err := s.Within(tt.max)
		if tt.want == "" {
			if err == nil || in != nil {
				t.Errorf("%q.Within(%v) = %v, %v; want an error", tt.text, tt.max, in, err)
			}
			continue
		}
		if err != nil || in.String() != tt.want || s.String() != tt.text {
			t.Errorf("%q.Within(%v) = %v, %v; want %q", tt.text, tt.max, in, err, tt.want)
			continue
		}
		wellFormed(t, in)
	}
}

func TestZeroSchedule(t *testing.T) {
	var s Schedule
	if due, end := s.Next(0, start, start, 0); end != AttemptsUsedUp || !due.IsZero() {
		t.Errorf("Next(0) of the zero schedule = %v, %q; want an end", due, end)
	}
	if n, finite := s.Attempts(); n != 0 || !finite {
		t.Errorf("Attempts() of the zero schedule = %d, %t; want 0, true", n, finite)
	}
	if total, finite := s.Total(); total != 0 || !finite {
		t.Errorf("Total() of the zero schedule = %v, %t; want 0, true", total, finite)
	}
	if in, err := s.Within(time.Hour); err != nil || in.String() != "" {
		t.Errorf("Within(1h) of the zero schedule = %v, %v; want no attempts and no error", in, err)
	}
	if err := s.WriteTable(new(strings.Builder), 0); err != nil {
		t.Error(err)
	}
}

// Gaps and offsets are two ways to write the same times, if every attempt starts when it is due.
func TestGapsAgreeWithOffsets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gaps := rapid.SliceOfN(rapid.Int64Range(1, 1e8), 1, 40).Draw(t, "gaps")
		var asGaps, asOffsets []string
		var offset time.Duration
		for _, ms := range gaps {
			gap := time.Duration(ms) * time.Millisecond
			offset += gap
			asGaps = append(asGaps, FormatDuration(gap))
			asOffsets = append(asOffsets, FormatDuration(offset))
		}
		a, err := Parse(strings.Join(asGaps, ", "))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Parse("@ " + strings.Join(asOffsets, ", "))
		if err != nil {
			t.Fatal(err)
		}
		if rows := slices.Collect(a.Rows()); len(rows) != len(gaps) || !slices.Equal(rows, slices.Collect(b.Rows())) {
			t.Fatalf("%q and %q have different rows; want the same", a, b)
		}
		wellFormed(t, a)
		wellFormed(t, b)
	})
}

// Whatever the caller's delays are, a gap never leads back in time, an offset never moves, and an
// endless schedule never ends.
func TestNextNeverEarly(t *testing.T) {
	texts := make([]string, 0, len(presets)+3)
	for _, p := range presets {
		texts = append(texts, p.Text)
	}
	texts = append(texts, "0s*5, 3s ~50%", "1s, @1m, 2s*, ~20%", "10ms* until 1s, 1s* until 3s, 1h*; max 50h")
	rapid.Check(t, func(t *rapid.T) {
		s, err := Parse(strings.Replace(rapid.SampledFrom(texts).Draw(t, "text"), ", ~", " ~", 1))
		if err != nil {
			t.Fatal(err)
		}
		last := start
		for n := range rapid.IntRange(1, 400).Draw(t, "n") {
			due, end := s.Next(n, start, last, rapid.Float64Range(0, 0.999).Draw(t, "jitter"))
			if end != "" {
				_, finite := s.Attempts()
				if end == MaxAge && s.max == 0 || !finite {
					t.Fatalf("%q.Next(%d) ends with %q; want another attempt", s, n, end)
				}
				return
			}
			r := s.run(int64(n), last.Sub(start))
			switch {
			case r.fixed && due.Before(start.Add(r.at)):
				t.Fatalf("%q.Next(%d) = %v, want no earlier than its offset %v", s, n, due.Sub(start), r.at)
			case !r.fixed && due.Before(last.Add(r.gap)):
				t.Fatalf("%q.Next(%d) = %v, want at least %v after %v", s, n, due.Sub(start), r.gap, last.Sub(start))
			}
			late := time.Duration(rapid.Int64Range(0, 90_000).Draw(t, "late")) * time.Millisecond
			last = slices.MaxFunc([]time.Time{due, last}, time.Time.Compare).Add(late)
		}
	})
}

func TestNextAllocatesNothing(t *testing.T) {
	s, err := Parse("5s*6, @10m, 1m* until 1h, 1h* ~10%; max 24h")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if got := testing.AllocsPerRun(1000, func() {
		s.Next(n, start, start.Add(time.Minute), 0.5)
		n++
	}); got != 0 {
		t.Errorf("Next allocates %v times; want 0", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, p := range presets {
		f.Add(p.Text)
	}
	for _, text := range []string{
		`{"1":0,"2":1,"3":2,"4":5,"5":15}`, "{3:1}", "wechat_notify", "0s, 15s*2 ~10%; max 30m", "5s*6, @10m, 1m*",
		"5m, 5m*", "1m* until 10m, 1m* until 1h, 1m*", "@ 3s, 6s, 1m*; ~5%", "3650d, 1ms*2", "1h30m500ms",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			if s != nil || err.Error() == "" {
				t.Errorf("Parse(%q) = %v, %v", text, s, err)
			}
			return
		}
		wellFormed(t, s)
	})
}

func BenchmarkNext(b *testing.B) {
	s, err := Parse("wechat_notify")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		s.Next(n&15, start, start, 0)
		n++
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("wechat_notify"); err != nil {
			b.Fatal(err)
		}
	}
}
