package bill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// Orders of several accounts are compared with the bill of each, although their numbers are the
// same. An account whose bill breaks off is left out, and the others are not.
func TestAccounts(t *testing.T) {
	at := from.Add(9 * time.Hour)
	boom := errors.New("boom")
	var bills []Bill
	var items []Decided
	for _, account := range []string{"a", "b", "c", "d"} {
		var lines []Line
		for n := range 40 {
			l, d := pair(n, at, 100)
			d.Account, d.TaskID = account, account+d.TaskID
			switch {
			case account == "b" && n == 7:
				l.Amount++
			case account == "d" && n == 9:
				continue // it is missing on both sides, and in no other account
			}
			lines, items = append(lines, l), append(items, d)
		}
		b := Bill{Account: account, Lines: sequence(lines)}
		if account == "c" {
			b.Lines = failing(lines[:20], boom)
		}
		bills = append(bills, b)
	}
	extra, _ := pair(99, at, 100)
	lines := bills[0].Lines
	bills[0].Lines = func(yield func(Line, error) bool) {
		lines(yield)
		yield(extra, nil)
	}
	_, stray := pair(1, at, 100)
	stray.Account = "e" // which has no bill
	items = append(items, stray)
	for _, memory := range []int{1, 4 << 10, 0} {
		var got, asked []string
		o := Options{From: from, To: to, Dir: t.TempDir(), Memory: memory}
		o.Find = func(_ context.Context, account string, numbers []string) ([]Decided, error) {
			asked = append(asked, fmt.Sprint(account, numbers))
			return nil, nil
		}
		counts, failed, err := Compare(t.Context(), bills, sequence(items), o, func(d Difference) error {
			got = append(got, fmt.Sprint(d.Account, " ", d.Kind, " ", d.ChannelOrderNo))
			return nil
		})
		if err != nil || len(failed) != 1 || failed[0].Account != "c" || !errors.Is(failed[0].Err, boom) {
			t.Fatalf("%+v, %v; want the bill of c failed", failed, err)
		}
		slices.Sort(got)
		if want := []string{"a missing_here order-00000099", "b amount order-00000007"}; !slices.Equal(got, want) {
			t.Errorf("memory %d: %q; want %q", memory, got, want)
		}
		if want := []string{"a[order-00000099]"}; !slices.Equal(asked, want) {
			t.Errorf("asked about %q; want %q", asked, want)
		}
		if counts.Payments != 120 || counts.Matched != 118 || counts.Decided != 119 {
			t.Errorf("%+v; want those of a, b and d alone", counts)
		}
	}
	none := func(yield func(Decided, error) bool) { t.Error("orders were read although there is no bill") }
	if _, failed, err := Compare(t.Context(), bills[2:3], none, Options{From: from, To: to, Dir: t.TempDir()}, nil); err != nil || len(failed) != 1 {
		t.Errorf("%+v, %v; want the one bill failed", failed, err)
	}
}
