package bill

import (
	"testing"
	"time"
)

// The rules of the border between two days.
func TestMidnight(t *testing.T) {
	late, early := to.Add(-10*time.Minute), from.Add(10*time.Minute)
	yesterday := from.Add(-10 * time.Minute)
	tests := []struct {
		name   string
		here   time.Time // when the order was paid, as bellman knows; zero: it has none
		there  time.Time // where the bill has it; zero: nowhere
		before time.Time // where the bill before has it
		series bool      // there is a bill before
		want   DifferenceKind
		edge   bool
		defers bool
	}{
		{name: "noon", here: from.Add(12 * time.Hour), want: MissingThere},
		{name: "first moment", here: from, want: MissingThere, edge: true},
		{name: "after the last moment", here: to},
		{name: "late", here: late, want: MissingThere, edge: true},
		{name: "early", here: early, want: MissingThere, edge: true},
		{name: "yesterday", here: yesterday},
		{name: "yesterday here, today there", here: yesterday, there: from},
		{name: "tomorrow here, today there", here: to.Add(time.Second), there: to.Add(-time.Second)},

		{name: "series, noon", here: from.Add(12 * time.Hour), series: true, want: MissingThere},
		{name: "series, late", here: late, series: true, defers: true},
		{name: "series, late and in the bill", here: late, there: late, series: true},
		{name: "series, early", here: early, series: true, want: MissingThere},
		{name: "series, early and in the bill before", here: early, before: yesterday, series: true},
		{name: "series, left by the day before", here: yesterday, series: true, want: MissingThere},
		{name: "series, left by the day before, and in this bill", here: yesterday, there: from, series: true},
		{name: "series, not left by the day before", here: yesterday, before: yesterday, series: true},
		{name: "series, reported by the day before", here: from.Add(-2 * time.Hour), series: true},
		{name: "series, decided a day after the payment", here: from.Add(11 * time.Hour), before: from.Add(-9 * time.Hour), series: true},
	}
	for _, kind := range []Kind{Payment, Refund} {
		for _, tt := range tests {
			filler, other := pair(9, from.Add(5*time.Hour), 1)
			l, d := pair(1, tt.here, 100)
			order := d
			order.PaidAt = from.AddDate(0, 0, -9)
			lines, items := []Line{filler}, []Decided{other}
			want := tt.want
			if kind == Refund {
				l, d = refund(l, d, "r1", 50)
				items = append(items, order)
				if want != "" {
					want = RefundDiffers
				}
			}
			items = append(items, d)
			if !tt.there.IsZero() {
				l.Time = tt.there
				lines = append(lines, l)
			}
			b, o := Bill{Lines: sequence(lines)}, Options{From: from, To: to, Dir: t.TempDir()}
			if tt.series {
				var before []Line
				if !tt.before.IsZero() {
					l.Time = tt.before
					before = append(before, l)
				}
				b.Before = sequence(before)
			}
			var got []Difference
			counts, err := compareOne(t.Context(), b, sequence(items), o, func(d Difference) error {
				got = append(got, d)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case want == "" && len(got) > 0, want != "" && len(got) != 1, len(got) == 1 && (got[0].Kind != want || got[0].Edge != tt.edge):
				t.Errorf("%v, %s: %+v; want %q, edge %t", kind, tt.name, got, want, tt.edge)
			case (counts.Deferred == 1) != tt.defers:
				t.Errorf("%v, %s: deferred %d; want %t", kind, tt.name, counts.Deferred, tt.defers)
			}
		}
	}
}

// An order around midnight that no bill has is reported once by the comparisons of three days, in a
// series and without; one that a bill has is reported by none of a series.
func TestMidnightIsReportedOnce(t *testing.T) {
	day := func(n int) time.Time { return from.AddDate(0, 0, n) }
	for _, series := range []bool{false, true} {
		for minute := -90; minute <= 90; minute += 5 {
			for skew := -50; skew <= 60; skew += 10 { // how much later the channel has it; 60: it has not
				paid := day(0).Add(time.Duration(minute) * time.Minute)
				l, d := pair(1, paid, 100)
				l.Time = paid.Add(time.Duration(skew) * time.Minute)
				bills := map[int][]Line{}
				for n := -2; n <= 1; n++ {
					filler, _ := pair(100+n, day(n).Add(12*time.Hour), 1)
					bills[n] = []Line{filler}
					if skew < 60 && !l.Time.Before(day(n)) && l.Time.Before(day(n+1)) {
						bills[n] = append(bills[n], l)
					}
				}
				reported := 0
				for n := -1; n <= 1; n++ {
					b, o := Bill{Lines: sequence(bills[n])}, Options{From: day(n), To: day(n + 1), Dir: t.TempDir()}
					if series {
						b.Before = sequence(bills[n-1])
					}
					_, err := compareOne(t.Context(), b, sequence([]Decided{d}), o, func(d Difference) error {
						if d.Kind == MissingThere {
							reported++
						}
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				want := 0
				if skew == 60 || !series && l.Time.Before(day(0)) != paid.Before(day(0)) {
					want = 1
				}
				if reported != want {
					t.Errorf("series %t, paid %d min from midnight, %d min later there: reported %d times; want %d", series, minute, skew, reported, want)
				}
			}
		}
	}
}
