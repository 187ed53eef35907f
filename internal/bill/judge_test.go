package bill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// What is compared of one order, with the number of lines that agree.
func TestJudge(t *testing.T) {
	at := from.Add(12 * time.Hour)
	paid, order := pair(1, at, 100)
	line := func(l Line, change func(*Line)) Line { change(&l); return l }
	item := func(d Decided, change func(*Decided)) Decided { change(&d); return d }
	failed := line(paid, func(l *Line) { l.Failed = true })
	closed := item(order, func(d *Decided) { d.State, d.Paid = "CLOSED", false })
	revoked := item(order, func(d *Decided) { d.State, d.Paid = "REVOKED", false })
	reversed := line(paid, func(l *Line) { l.Kind, l.Amount, l.RefundAmount, l.State, l.Number = Refund, 0, 100, "REVOKED", 8 })
	back, asked := refund(paid, order, "r1", 40)
	backFailed, askedFailed := line(back, func(l *Line) { l.Failed = true }), item(asked, func(d *Decided) { d.Paid = false })
	second := func(amount int64) Line {
		return line(back, func(l *Line) { l.RefundNo, l.RefundAmount, l.Number = "r2", amount, 9 })
	}
	requested := item(asked, func(d *Decided) { d.PaidAt = from })
	nameless := func(change func(*Line)) Line {
		l := line(back, func(l *Line) { l.RefundNo = "" })
		change(&l)
		return l
	}
	early := item(order, func(d *Decided) { d.PaidAt = from })
	for _, tt := range []struct {
		name          string
		before, lines []Line
		items         []Decided
		want          string // kinds and lines of the differences
		matched       int
	}{
		{"it agrees", nil, []Line{paid}, []Decided{order}, "", 1},
		{"another payment", nil, []Line{line(paid, func(l *Line) { l.TransactionID = "x" })}, []Decided{order}, "duplicate 3", 0},
		{"another amount", nil, []Line{line(paid, func(l *Line) { l.Amount = 99 })}, []Decided{order}, "amount 3", 0},
		{"another currency", nil, []Line{line(paid, func(l *Line) { l.Currency = "JPY" })}, []Decided{order}, "amount 3", 0},
		{"no currency", nil, []Line{line(paid, func(l *Line) { l.Currency = "" })}, []Decided{order}, "", 1},
		{"paid there alone", nil, []Line{paid}, []Decided{closed}, "state 3", 0},
		{"failed there alone", nil, []Line{failed}, []Decided{order}, "state 3", 0},
		{"failed on both sides", nil, []Line{failed}, []Decided{closed}, "", 0},
		{"closed, and not there", nil, nil, []Decided{closed}, "", 0},
		{"an order twice, once unpaid", nil, []Line{paid}, []Decided{item(closed, func(d *Decided) { d.TaskID = "a" }), order}, "duplicate 0", 1},
		{"no number of the payment here, the first line counts", nil,
			[]Line{line(paid, func(l *Line) { l.Number, l.Amount = 2, 99 }), line(paid, func(l *Line) { l.TransactionID = "" })},
			[]Decided{item(order, func(d *Decided) { d.TransactionID = "" })}, "amount 2, duplicate 3", 0},

		{"paid before, refunded then", []Line{back}, nil, []Decided{early}, "missing_there 0", 0},
		{"failed before", []Line{failed}, nil, []Decided{early}, "missing_there 0", 0},
		{"in the bill before", []Line{paid}, nil, []Decided{early}, "", 0},

		{"paid before, reversed now", []Line{paid}, []Line{reversed}, []Decided{revoked}, "", 1},
		{"failed before, reversed now", []Line{failed}, []Line{reversed}, []Decided{revoked}, "refund 8", 0},
		{"the reverse failed", nil, []Line{paid, line(reversed, func(l *Line) { l.Failed = true })}, []Decided{revoked}, "state 3", 0},
		{"reversed, and not there", nil, nil, []Decided{revoked}, "", 0},
		{"reversed, and paid late", nil, []Line{paid, reversed}, []Decided{item(revoked, func(d *Decided) { d.Paid = true })}, "refund 8", 1},

		{"refunded", nil, []Line{back}, []Decided{order, asked}, "missing_there 0", 1},
		{"refunded under another number", nil, []Line{paid, second(40)}, []Decided{order, asked}, "refund 0, refund 9", 1},
		{"a refund that failed on both sides", nil, []Line{paid, backFailed}, []Decided{order, item(askedFailed, func(d *Decided) { d.Amount = 7 })}, "", 1},
		{"a refund that failed there alone", nil, []Line{paid, backFailed}, []Decided{order, asked}, "refund 3", 1},
		{"a refund that failed here alone", nil, []Line{paid, back}, []Decided{order, askedFailed}, "refund 3", 1},
		{"a refund that failed there, and nobody knows here", nil, []Line{paid, backFailed}, []Decided{order}, "", 1},
		{"refunds that the order knows as a sum", nil, []Line{paid, back, second(60)}, []Decided{item(order, func(d *Decided) { d.Refunded = 100 })}, "", 3},
		{"refunds of more than the sum", nil, []Line{paid, back, second(61)}, []Decided{item(order, func(d *Decided) { d.Refunded = 100 })}, "refund 9", 2},
		{"a sum beside a refund that failed", nil, []Line{paid, second(100)}, []Decided{item(order, func(d *Decided) { d.Refunded = 100 }), askedFailed}, "", 2},
		{"a refund of no order, and another one there", nil, []Line{back, second(40)}, []Decided{asked}, "refund 9", 1},
		{"a refund that failed here, and is not there", nil, []Line{paid}, []Decided{order, askedFailed}, "", 1},
		{"a refund that is not there", nil, []Line{paid}, []Decided{order, asked}, "refund 0", 1},
		{"a refund in the bill before", []Line{back}, []Line{paid}, []Decided{order, requested}, "", 1},
		{"another refund in the bill before", []Line{second(40)}, []Line{paid}, []Decided{order, requested}, "refund 0", 1},
		{"a refund that failed in the bill before", []Line{backFailed}, []Line{paid}, []Decided{order, requested}, "refund 0", 1},
		{"a refund twice", nil, []Line{paid, back, line(back, func(l *Line) { l.Number = 4 })}, []Decided{order, asked}, "duplicate 4", 2},
		{"a refund that goes on, and was made", nil, []Line{paid, line(back, func(l *Line) { l.State = "PROCESSING" }), line(back, func(l *Line) { l.Number = 4 })}, []Decided{order, asked}, "", 2},
		{"a refund that was made, and went on", nil, []Line{paid, back, line(back, func(l *Line) { l.State, l.Number = "PROCESSING", 4 })}, []Decided{order, asked}, "", 2},
		{"a refund that was made, and failed later", nil, []Line{paid, back, line(backFailed, func(l *Line) { l.State, l.Number, l.Time = "FAIL", 4, at.Add(time.Second) })}, []Decided{order, asked}, "refund 4", 1},
		{"a refund that failed, and was made later", nil, []Line{paid, line(backFailed, func(l *Line) { l.State = "FAIL" }), line(back, func(l *Line) { l.Number, l.Time = 4, at.Add(time.Second) })}, []Decided{order, asked}, "", 2},
		{"a refund that failed at the same moment", nil, []Line{paid, back, line(backFailed, func(l *Line) { l.State, l.Number = "FAIL", 4 })}, []Decided{order, asked}, "", 2},
		{"a refund without a number twice", nil, []Line{paid, nameless(func(*Line) {}), nameless(func(l *Line) { l.Number = 4 })}, []Decided{order, asked}, "duplicate 4", 2},
		{"a refund without a number, another amount", nil, []Line{paid, nameless(func(*Line) {}), nameless(func(l *Line) { l.Number, l.RefundAmount = 4, 41 })}, []Decided{order, asked}, "refund 4", 2},
		{"a refund without a number, another payment", nil, []Line{paid, nameless(func(*Line) {}), nameless(func(l *Line) { l.Number, l.TransactionID = 4, "x" })}, []Decided{order, asked}, "refund 4", 2},
		{"a refund without a number, another state", nil, []Line{paid, nameless(func(*Line) {}), nameless(func(l *Line) { l.Number, l.State = 4, "PROCESSING" })}, []Decided{order, asked}, "refund 4", 2},
		{"a refund with a number, and one without", nil, []Line{paid, back, nameless(func(l *Line) { l.Number = 4 })}, []Decided{order, asked}, "refund 4", 2},
		{"a refund that a notice told of otherwise", nil, []Line{paid, back},
			[]Decided{order, item(asked, func(d *Decided) { d.TaskID, d.Amount, d.Paid = "", 7, false }), asked}, "", 2},
		{"a refund that a notice told of as made, and that failed", nil, []Line{paid, back}, []Decided{order, item(asked, func(d *Decided) { d.TaskID = "" }), askedFailed}, "refund 3", 1},
		{"a refund that two notices told of", nil, []Line{paid, back}, []Decided{order, item(asked, func(d *Decided) { d.TaskID = "" }), item(asked, func(d *Decided) { d.TaskID = "" })}, "", 2},
	} {
		for range 2 { // in either order of the items
			var got []string
			b := Bill{Account: "a", Lines: sequence(tt.lines)}
			if tt.before != nil {
				b.Before = sequence(tt.before)
			}
			for i := range tt.items {
				tt.items[i].Account = "a"
			}
			counts, err := compareOne(t.Context(), b, sequence(tt.items), Options{From: from, To: to, Dir: t.TempDir()}, func(d Difference) error {
				n := 0
				if d.There != nil {
					n = d.There.Number
				}
				if d.Here != nil && d.Here.Account != "a" {
					t.Errorf("%s: the item is of the account %q", tt.name, d.Here.Account)
				}
				got = append(got, fmt.Sprintf("%s %d", d.Kind, n))
				return nil
			})
			slices.Sort(got)
			if text := strings.Join(got, ", "); err != nil || text != tt.want || counts.Matched != tt.matched {
				t.Errorf("%s: %s, %d matched, %v; want %s, %d", tt.name, text, counts.Matched, err, tt.want, tt.matched)
			}
			slices.Reverse(tt.items)
		}
	}
}

// An order may have many lines, and not all lines of a bill one order.
func TestLinesOfOneOrder(t *testing.T) {
	for n, wrong := range map[int]bool{maxGroup - 1: false, maxGroup: true} { // beside the order itself
		paid, order := pair(1, from, 100)
		lines := make([]Line, n)
		for i := range lines {
			lines[i] = paid
		}
		_, err := compareOne(t.Context(), Bill{Lines: sequence(lines)}, sequence([]Decided{order}), Options{From: from, To: to, Dir: t.TempDir()}, func(Difference) error { return nil })
		if errors.Is(err, ErrOneOrder) != wrong || err != nil && !wrong {
			t.Errorf("%d lines of one order: %v; want ErrOneOrder: %t", n, err, wrong)
		}
	}
}

// Bellman is asked about each order that it does not explain, once, with the orders of one account
// in one call. What it says of other orders, accounts and, if they are not compared, refunds is
// ignored.
func TestFind(t *testing.T) {
	at := from.Add(12 * time.Hour)
	known := map[string]Decided{}
	bills := make([]Bill, 2)
	for i, account := range []string{"a", "b"} {
		var lines []Line
		for n := range findBatch + 1 {
			l, d := pair(n, at, 100)
			d.Account = account
			known[account+d.ChannelOrderNo] = d
			lines = append(lines, l)
		}
		bills[i] = Bill{Account: account, Lines: sequence(lines)}
	}
	nameless, _ := pair(9999, at, 100)
	nameless.ChannelOrderNo = ""
	first := bills[0].Lines
	bills[0].Lines = func(yield func(Line, error) bool) { first(yield); yield(nameless, nil) }
	for _, noRefunds := range []bool{false, true} {
		asked, calls := map[string]bool{}, 0
		find := func(_ context.Context, account string, numbers []string) (found []Decided, err error) {
			if calls++; len(numbers) > findBatch {
				t.Errorf("asked about %d orders at once; want %d at most", len(numbers), findBatch)
			}
			for _, no := range numbers {
				if asked[account+no] || no == "" {
					t.Errorf("asked about %q of %s twice, or of no number", no, account)
				}
				asked[account+no] = true
				d := known[account+no]
				found = append(found, d)
				_, back := refund(Line{}, d, "r", 5) // is not in the bill
				other, stray := d, d
				other.Account, stray.ChannelOrderNo = "c", "stray"
				found = append(found, other, stray, back)
			}
			return found, nil
		}
		differences := map[DifferenceKind]int{}
		counts, failed, err := Compare(t.Context(), bills, sequence[Decided](nil), Options{From: from, To: to, Dir: t.TempDir(), Find: find, NoRefunds: noRefunds}, func(d Difference) error {
			differences[d.Kind]++
			return nil
		})
		missing := 2 * (findBatch + 1) // refunds
		if noRefunds {
			missing = 0
		}
		if err != nil || len(failed) > 0 || counts.Matched != 2*(findBatch+1) || differences[MissingHere] != 1 || differences[RefundDiffers] != missing || len(asked) != 2*(findBatch+1) || calls != 4 {
			t.Errorf("no refunds %t: %+v, %v, %v in %d calls about %d orders; want all but one matched", noRefunds, counts, differences, err, calls, len(asked))
		}
	}
}

// Bellman is asked about a refund that it does not know of an order that it knows.
func TestFindRefund(t *testing.T) {
	paid, order := pair(1, from.Add(time.Hour), 100)
	back, asked := refund(paid, order, "r1", 40)
	find := func(context.Context, string, []string) ([]Decided, error) { return []Decided{order, asked}, nil }
	if got, counts := compare(t, []Line{paid, back}, []Decided{order}, Options{Find: find}); len(got) > 0 || counts.Matched != 2 {
		t.Errorf("%v, %d matched; want both lines", got, counts.Matched)
	}
}
