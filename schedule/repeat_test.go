package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adhocore/gronx"
	"pgregory.net/rapid"
)

func TestParseRepeat(t *testing.T) {
	tests := []struct{ text, want, next string }{ // next after 2026-11-20 15:04:05.123 UTC, a Friday
		{"10m", "10m", "2026-11-20T15:14:05.123Z"},
		{" 1d ", "24h", "2026-11-21T15:04:05.123Z"},
		{"10ms", "10ms", "2026-11-20T15:04:05.133Z"},
		{"cron */10 * * * * Asia/Shanghai", "cron */10 * * * * Asia/Shanghai", "2026-11-20T15:10:00Z"},
		{"cron  0 2 * *\t*", "cron 0 2 * * *", "2026-11-21T02:00:00Z"},
		{"cron 0 2 * * * UTC", "cron 0 2 * * *", "2026-11-21T02:00:00Z"},
		{"cron 0 2 * * * Asia/Shanghai", "cron 0 2 * * * Asia/Shanghai", "2026-11-20T18:00:00Z"},
		{"cron 0 2 * * * Asia/Kathmandu", "cron 0 2 * * * Asia/Kathmandu", "2026-11-20T20:15:00Z"},
		{"cron 5 15 * * *", "cron 5 15 * * *", "2026-11-20T15:05:00Z"},
		{"cron 4 15 * * *", "cron 4 15 * * *", "2026-11-21T15:04:00Z"},
		{"cron 0 9 * * mon-fri", "cron 0 9 * * MON-FRI", "2026-11-23T09:00:00Z"},
		{"cron 0 9 * * FRI-SUN", "cron 0 9 * * FRI-SUN", "2026-11-21T09:00:00Z"},
		{"cron 0 9 * * 7", "cron 0 9 * * 7", "2026-11-22T09:00:00Z"},
		{"cron 0 9 * * 6-7", "cron 0 9 * * 6-7", "2026-11-21T09:00:00Z"},
		{"cron 0 9 * * 0", "cron 0 9 * * 0", "2026-11-22T09:00:00Z"},
		{"cron 0 0 13 * 5", "cron 0 0 13 * 5", "2026-11-27T00:00:00Z"}, // day 13, or a Friday
		{"cron 0 0 */2 * 5", "cron 0 0 */2 * 5", "2026-11-27T00:00:00Z"},
		{"cron 0 0 1 jan,JUL *", "cron 0 0 1 JAN,JUL *", "2027-01-01T00:00:00Z"},
		{"cron 0 0 31 * *", "cron 0 0 31 * *", "2026-12-31T00:00:00Z"},
		{"cron 0 0 29 2 *", "cron 0 0 29 2 *", "2028-02-29T00:00:00Z"},
		{"cron 0 0 29 2 */6", "cron 0 0 29 2 */6", "2032-02-29T00:00:00Z"}, // and also a Sunday or Saturday
		{"cron 10-20/5,50 15 * * *", "cron 10-20/5,50 15 * * *", "2026-11-20T15:10:00Z"},
		{"cron 59 23 31 12 *", "cron 59 23 31 12 *", "2026-12-31T23:59:00Z"},
	}
	for _, tt := range tests {
		r, err := ParseRepeat(tt.text)
		if err != nil {
			t.Errorf("ParseRepeat(%q): %v", tt.text, err)
			continue
		}
		if r.String() != tt.want {
			t.Errorf("ParseRepeat(%q) = %q; want %q", tt.text, r, tt.want)
		}
		if got := r.Next(start).Format(time.RFC3339Nano); got != tt.next {
			t.Errorf("%q.Next = %s; want %s", tt.text, got, tt.next)
		}
	}
}

func TestParseRepeatRefuses(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "empty repeat: want a gap such as 10m, or cron and five fields"},
		{"daily", `repeat "daily": want a gap such as 10m, or cron and five fields such as "cron */10 * * * * Asia/Shanghai"`},
		{"0s", `repeat "0s": want a gap of 10ms or more`},
		{"-1m", `repeat "-1m": want a duration that is not negative`},
		{"4000d", `repeat "4000d": want at most 10 years`},
		{"10m*", `repeat "10m*": want a gap such as 10m`},
		{"10m UTC", `repeat "10m UTC": want a gap such as 10m`},
		{"cron", `repeat "cron": want five fields after cron and perhaps a time zone, not 0 words`},
		{"cron * * * *", `repeat "cron * * * *": want five fields after cron`},
		{"cron @daily", `repeat "cron @daily": want five fields`},
		{"cron * * * * * Asia/Shanghai UTC", `repeat "cron * * * * * Asia/Shanghai UTC": want five fields`},
		{"cron 60 * * * *", `repeat: field 1 (minute) "60": want *, a number from 0 to 59, a range such as 0-59, or a step such as */2 or 0-59/2`},
		{"cron * 24 * * *", `repeat: field 2 (hour) "24": want`},
		{"cron * * 0 * *", `repeat: field 3 (day of month) "0": want *, a number from 1 to 31`},
		{"cron * * * 13 *", `repeat: field 4 (month) "13": want`},
		{"cron * * * * 8", `repeat: field 5 (day of week) "8": want`},
		{"cron * * * * MONDAY", `repeat: field 5 (day of week) "MONDAY": want`},
		{"cron JAN * * * *", `repeat: field 1 (minute) "JAN": want`},
		{"cron 1,,2 * * * *", `repeat: field 1 (minute) "": want`},
		{"cron */10,x * * * *", `repeat: field 1 (minute) "X": want`},
		{"cron 5-1 * * * *", `repeat: field 1 (minute) "5-1": want`},
		{"cron 1-2-3 * * * *", `repeat: field 1 (minute) "1-2-3": want`},
		{"cron */0 * * * *", `repeat: field 1 (minute) "*/0": want`},
		{"cron */60 * * * *", `repeat: field 1 (minute) "*/60": want`},
		{"cron */5/5 * * * *", `repeat: field 1 (minute) "*/5/5": want`},
		{"cron 5/10 * * * *", `repeat: field 1 (minute) "5/10": want`},
		{"cron +5 * * * *", `repeat: field 1 (minute) "+5": want`},
		{"cron ** * * * *", `repeat: field 1 (minute) "**": want`},
		{"cron 0 0 30 2 *", `repeat: "0 0 30 2 *" never comes: want a day that its month has`},
		{"cron 0 0 31 4,6,9,11 *", `repeat: "0 0 31 4,6,9,11 *" never comes`},
		{"cron 0 */10 * * * *", `repeat: time zone "*": want the IANA name of one, such as Asia/Shanghai, or none for UTC`},
		{"cron * * * * * Asia/Atlantis", `repeat: time zone "Asia/Atlantis": want`},
		{"cron * * * * * Local", `repeat: time zone "Local": want`},
		{"cron * * * * * ../passwd", `repeat: time zone "../passwd": want`},
		{"cron " + strings.Repeat("1,", 3000) + "1 * * * *", "repeat of 6014 bytes: want at most 4096"},
	}
	for _, tt := range tests {
		r, err := ParseRepeat(tt.text)
		if err == nil || r != nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("ParseRepeat(%.60q) = %v, %v; want error %q", tt.text, r, err, tt.want)
		}
	}
}

// Clocks in New York went forward on 8 March 2026 at 2:00 to 3:00, and back on 1 November at 2:00
// to 1:00. On Lord Howe Island they change by half an hour. Samoa skipped 30 December 2011.
func TestRepeatWhenClocksChange(t *testing.T) {
	tests := []struct {
		text, after string
		want        []string
	}{
		{"cron 30 2 * * * America/New_York", "2026-03-07T00:00:00-05:00",
			[]string{"2026-03-07T02:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"}},
		{"cron 0,30 2,3 * * * America/New_York", "2026-03-08T00:00:00-05:00", // 2:00, 2:30 and 3:00 are the same moment
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-08T03:30:00-04:00", "2026-03-09T02:00:00-04:00"}},
		{"cron 30 1 * * * America/New_York", "2026-10-31T12:00:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"}},
		{"cron 30 1 * * * America/New_York", "2026-11-01T01:10:00-05:00", // this is in the second 1:00 to 2:00 already
			[]string{"2026-11-02T01:30:00-05:00"}},
		{"cron 0 2 * * * America/New_York", "2026-11-01T01:30:00-04:00",
			[]string{"2026-11-01T02:00:00-05:00", "2026-11-02T02:00:00-05:00"}},
		{"cron */30 * * * * America/New_York", "2026-03-08T01:15:00-05:00",
			[]string{"2026-03-08T01:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T03:30:00-04:00"}},
		{"cron */30 * * * * America/New_York", "2026-11-01T01:15:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:00:00-05:00"}},
		{"cron 30 * * * * America/New_York", "2026-03-08T01:00:00-05:00",
			[]string{"2026-03-08T01:30:00-05:00", "2026-03-08T03:30:00-04:00"}},
		{"cron 30 * * * * America/New_York", "2026-11-01T01:00:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:30:00-05:00"}},
		{"cron * 2 * * * America/New_York", "2026-03-08T01:00:00-05:00",
			[]string{"2026-03-09T02:00:00-04:00", "2026-03-09T02:01:00-04:00"}},
		{"cron 15 2 * * * Australia/Lord_Howe", "2026-10-03T12:00:00+10:30",
			[]string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
		{"cron 45 1 * * * Australia/Lord_Howe", "2026-04-04T12:00:00+11:00",
			[]string{"2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"}},
		{"cron 0 12 * * * Pacific/Apia", "2011-12-29T00:00:00-10:00",
			[]string{"2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"}},
		{"cron 0 */12 * * * Pacific/Apia", "2011-12-29T01:00:00-10:00",
			[]string{"2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"}},
	}
	for _, tt := range tests {
		r, err := ParseRepeat(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, tt.after)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range tt.want {
			want, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			next := r.Next(at)
			if !next.Equal(want) {
				t.Errorf("%q.Next(%s) = %s; want %s", tt.text, at.In(r.zone), next.In(r.zone), want.In(r.zone))
			}
			at = want
		}
	}
}

// cronText draws five fields that have the same meaning in gronx and here.
func cronText(t *rapid.T) string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		part := rapid.Custom(func(t *rapid.T) string {
			lo := rapid.IntRange(f.lo, f.hi).Draw(t, "lo")
			hi := rapid.IntRange(lo, f.hi).Draw(t, "hi")
			step := rapid.IntRange(1, max(f.hi/2, 1)).Draw(t, "step")
			return rapid.SampledFrom([]string{
				fmt.Sprint(lo), fmt.Sprintf("%d-%d", lo, hi), fmt.Sprintf("%d-%d/%d", lo, hi, step),
			}).Draw(t, "part")
		})
		switch rapid.IntRange(0, 3).Draw(t, "form") {
		case 0:
			texts[i] = "*"
		case 1:
			texts[i] = fmt.Sprintf("*/%d", rapid.IntRange(1, max(f.hi/2, 1)).Draw(t, "every"))
		default:
			texts[i] = strings.Join(rapid.SliceOfN(part, 1, 3).Draw(t, "parts"), ",")
		}
	}
	return strings.Join(texts, " ")
}

// In a zone whose clock never changes, Next agrees with gronx.
func TestCronAgreesWithGronx(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := cronText(t)
		at := time.Unix(rapid.Int64Range(946684800, 4102444800).Draw(t, "at"), 0).UTC()
		want, gronxErr := gronx.NextTickAfter(text, at, false)
		if gronxErr != nil {
			return // gronx looks a few hundred steps ahead and gives up
		}
		r, err := ParseRepeat("cron " + text)
		if err != nil {
			t.Fatalf("%q: %v; gronx returns %v after %v", text, err, want, at)
		}
		if next := r.Next(at); !next.Equal(want) {
			t.Fatalf("%q.Next(%v) = %v; gronx returns %v", text, at, next, want)
		}
	})
}

// Next is later than its argument, and no matching time is between them. Its result matches, or is
// the moment of a clock change.
func TestRepeatNextIsNext(t *testing.T) {
	zones := []string{"America/New_York", "Europe/London", "Australia/Lord_Howe", "Asia/Shanghai", "America/Sao_Paulo", "Africa/Casablanca"}
	rapid.Check(t, func(t *rapid.T) {
		text := cronText(t)
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		r, err := ParseRepeat("cron " + text + " " + zone)
		if err != nil {
			return // a date that never comes
		}
		at := time.Unix(rapid.Int64Range(1700000000, 1900000000).Draw(t, "at"), 0)
		if rapid.Bool().Draw(t, "near a change") {
			if _, change := at.In(r.zone).ZoneBounds(); !change.IsZero() {
				at = change.Add(time.Duration(rapid.IntRange(-200, 200).Draw(t, "minutes")) * time.Minute)
			}
		}
		next := r.Next(at)
		if !next.After(at) {
			t.Fatalf("%q.Next(%v) = %v; want a later time", r, at, next)
		}
		matches := func(t time.Time) bool {
			wall := reading(t.In(r.zone))
			return r.cron.after(wall.Add(-time.Nanosecond)).Equal(wall)
		}
		start, _ := next.In(r.zone).ZoneBounds()
		if !matches(next) && (r.cron.elapsed || !start.Equal(next)) {
			t.Fatalf("%q.Next(%v) = %v, where the local time does not match", r, at, next.In(r.zone))
		}
		minute := at.Truncate(time.Minute).Add(time.Minute)
		for range 2000 {
			if !minute.Before(next) {
				break
			}
			second := instant(reading(minute.In(r.zone)), r.zone).Before(minute)
			if matches(minute) && (r.cron.elapsed || !second) {
				t.Fatalf("%q.Next(%v) = %v, but %v matches earlier", r, at, next.In(r.zone), minute.In(r.zone))
			}
			minute = minute.Add(time.Minute)
		}
	})
}

func FuzzParseRepeat(f *testing.F) {
	for _, text := range []string{
		"10m", "1d", "0s", "cron */10 * * * * Asia/Shanghai", "cron 0 2 * * MON-FRI", "cron 0 0 29 2 */6", "cron 30 1,2 * 3,11 * America/New_York",
		"cron 0 0 30 2 *", "cron 1-5/2,7 * * jan-mar fri-sun UTC", "cron * * * * * Local",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRepeat(text)
		if err != nil {
			if r != nil || err.Error() == "" {
				t.Errorf("ParseRepeat(%q) = %v, %v; want a result or an error", text, r, err)
			}
			return
		}
		again, err := ParseRepeat(r.String())
		if err != nil || again.String() != r.String() {
			t.Fatalf("ParseRepeat(%q), the canonical form of %q, = %v, %v", r, text, again, err)
		}
		at := start
		for range 5 {
			next := r.Next(at)
			if !next.After(at) || !again.Next(at).Equal(next) {
				t.Fatalf("%q.Next(%v) = %v; after formatting and parsing %v", text, at, next, again.Next(at))
			}
			at = next
		}
	})
}

func BenchmarkRepeatNext(b *testing.B) {
	for _, text := range []string{"cron */10 * * * * Asia/Shanghai", "cron 30 2 * * 1 America/New_York", "cron 0 0 29 2 *"} {
		r, err := ParseRepeat(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Next(start)
			}
		})
	}
}
