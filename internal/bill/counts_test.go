package bill

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// What is counted are the lines of the day's bill, those of other owners apart. The bill of the
// period before adds nothing.
func TestCounts(t *testing.T) {
	own, other := Owner{No: "1"}, Owner{No: "2"}
	line := func(n int, at time.Time, owner Owner, change func(*Line)) Line {
		l, _ := pair(n, at, 100)
		l.Owner = owner
		change(&l)
		return l
	}
	same := func(*Line) {}
	failed := func(l *Line) { l.Failed = true }
	back := func(l *Line) { l.Kind, l.Amount, l.RefundAmount, l.RefundNo = Refund, 0, 100, "r" }
	noon := from.Add(12 * time.Hour)
	lines := []Line{
		line(1, noon, own, same), line(2, to, own, same), line(3, from.Add(-time.Nanosecond), Owner{}, same), line(4, noon, own, back),
		line(5, noon, other, same), line(6, to, own, failed), line(7, noon, own, func(l *Line) { back(l); failed(l) }), line(8, time.Time{}, own, same),
	}
	_, mine := pair(1, noon, 100)
	before := []Line{line(9, from.Add(-time.Hour), own, same), line(10, from.Add(-time.Hour), other, same)}
	o := Options{From: from, To: to, Dir: t.TempDir(), Find: nil}
	differences := map[DifferenceKind]int{}
	got, err := compareOne(t.Context(), Bill{Owner: own, Lines: sequence(lines), Before: sequence(before)}, sequence([]Decided{mine}), o, func(d Difference) error {
		differences[d.Kind]++
		return nil
	})
	want := Counts{Payments: 4, Refunds: 1, Decided: 1, Matched: 1, Outside: 2, Owned: 6, Others: 1, Differences: map[DifferenceKind]int{MissingHere: 4}}
	if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(differences, want.Differences) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	got.Deferred = 3
	twice := got
	twice.Differences = map[DifferenceKind]int{MissingHere: 4, Duplicate: 1}
	twice.Add(&got)
	if want := (Counts{8, 2, 2, 2, 4, 6, 12, 2, map[DifferenceKind]int{MissingHere: 8, Duplicate: 1}}); !reflect.DeepEqual(twice, want) {
		t.Errorf("twice the same: %+v; want %+v", twice, want)
	}
}

// A bill is of another day only if each of its lines is, and none near the border.
func TestNearTheBorder(t *testing.T) {
	quiet := func(Difference) error { return nil }
	for at, wrong := range map[time.Duration]bool{-time.Hour: false, -time.Hour - 1: true, 25*time.Hour - 1: false, 25 * time.Hour: true, time.Hour: false} {
		l, _ := pair(1, from.Add(at), 1)
		_, err := compareOne(t.Context(), Bill{Lines: sequence([]Line{l})}, sequence[Decided](nil), Options{From: from, To: to, Dir: t.TempDir()}, quiet)
		if errors.Is(err, ErrOtherDay) != wrong || err != nil && !wrong {
			t.Errorf("a line %v after the beginning: %v; want another day: %t", at, err, wrong)
		}
	}
	l, _ := pair(1, from, 1)
	_, err := compareOne(t.Context(), Bill{Lines: sequence([]Line{l}), Before: failing([]Line{l}, errors.New("boom"))}, sequence[Decided](nil), Options{From: from, To: to, Dir: t.TempDir()}, quiet)
	if err == nil || !strings.Contains(err.Error(), "the period before: boom") {
		t.Errorf("%v; want it said of the bill of the period before", err)
	}
	for _, o := range []Options{{From: to, To: to}, {From: to, To: from}, {From: from, To: to, Edge: -1}, {From: from, To: to, Memory: -1}} {
		if _, _, err := Compare(t.Context(), nil, sequence[Decided](nil), o, quiet); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
