package bill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

// The day of the bills in these tests.
var from, to, _ = Day("2026-11-21")

// sequence yields items without an error.
func sequence[T any](items []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// failing yields items, and then an error.
func failing[T any](items []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item := range sequence(items) {
			if !yield(item, nil) {
				return
			}
		}
		var zero T
		yield(zero, err)
	}
}

// A finding is what tests compare of a difference.
type finding struct {
	kind  DifferenceKind
	order string
}

func (d Difference) finding() finding { return finding{d.Kind, d.ChannelOrderNo} }

func compareFindings(a, b finding) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.order, b.order))
}

// compareOne compares one bill. It returns the error of the comparison, or of the bill.
func compareOne(ctx context.Context, b Bill, decided iter.Seq2[Decided, error], o Options, report func(Difference) error) (Counts, error) {
	counts, failed, err := Compare(ctx, []Bill{b}, decided, o, report)
	if err == nil && len(failed) > 0 {
		err = failed[0].Err
	}
	return counts, err
}

// compare returns the sorted findings of a comparison.
func compare(t testing.TB, lines []Line, decided []Decided, o Options) ([]finding, Counts) {
	t.Helper()
	o.From, o.To, o.Dir = from, to, t.TempDir()
	var got []finding
	counts, err := compareOne(t.Context(), Bill{Lines: sequence(lines)}, sequence(decided), o, func(d Difference) error {
		got = append(got, d.finding())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, n := range counts.Differences {
		sum += n
	}
	if sum != len(got) {
		t.Errorf("counts say %d differences, and %d were reported", sum, len(got))
	}
	slices.SortFunc(got, compareFindings)
	return got, counts
}

// pair returns a line and an order that agree.
func pair(n int, at time.Time, amount int64) (Line, Decided) {
	no := fmt.Sprintf("order-%08d", n)
	l := Line{ChannelOrderNo: no, TransactionID: "4200" + no, Amount: amount, Currency: "CNY", State: "SUCCESS", Time: at, Number: n + 2}
	d := Decided{ChannelOrderNo: no, MerchantNo: "m1", OrderNo: no, TaskID: "task-" + no, State: "PAID", Paid: true,
		Amount: amount, Currency: "CNY", TransactionID: l.TransactionID, PaidAt: at}
	return l, d
}

// refund returns a line and an item of a refund that agree.
func refund(l Line, d Decided, number string, amount int64) (Line, Decided) {
	l.Kind, l.Amount, l.RefundAmount, l.RefundNo = Refund, 0, amount, number
	d.Amount, d.RefundNo, d.TaskID, d.State = amount, number, "task-"+number, "done"
	return l, d
}

func report(t testing.TB, got, want []finding) {
	count := map[finding]int{}
	for _, f := range got {
		count[f]++
	}
	for _, f := range want {
		count[f]--
	}
	shown := 0
	for f, n := range count {
		if n != 0 && shown < 10 {
			t.Logf("%+v: %d too many", f, n)
			shown++
		}
	}
}

// Of lines and orders that contradict each other in every way, the same differences are found,
// whatever the order of the input and the size of the buffer.
func TestOrderOfInputDoesNotMatter(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var lines []Line
		var items []Decided
		for n := range 60 {
			l, d := pair(r.IntN(8), from.Add(time.Duration(r.IntN(24*60))*time.Minute), int64(1+r.IntN(2)))
			l.TransactionID, l.Failed, l.Number = fmt.Sprint(r.IntN(3)), r.IntN(4) == 0, n
			d.TransactionID, d.TaskID, d.Paid = fmt.Sprint(r.IntN(3)), fmt.Sprint(n), r.IntN(2) == 0
			if r.IntN(2) == 0 {
				number := fmt.Sprint("r", r.IntN(4))
				l, d = refund(l, d, number, int64(1+r.IntN(2)))
				l.State, d.TaskID = []string{"SUCCESS", "PROCESSING"}[r.IntN(2)], l.ChannelOrderNo+number // one item a refund
				d.Paid, d.Amount, d.PaidAt = true, 1, from.Add(12*time.Hour)
			}
			if r.IntN(3) > 0 {
				lines = append(lines, l)
			}
			if r.IntN(3) > 0 {
				items = append(items, d)
			}
		}
		want, _ := compare(t, lines, items, Options{})
		for _, memory := range []int{1, 2000} {
			r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			if got, _ := compare(t, lines, items, Options{Memory: memory}); !slices.Equal(got, want) {
				report(t, got, want)
				t.Fatalf("seed %d: %d differences; want %d", seed, len(got), len(want))
			}
		}
	}
}

// What a difference shows.
func TestDifference(t *testing.T) {
	at := from.Add(9 * time.Hour)
	paid, order := pair(1, at, 100)
	unknown := order
	unknown.State, unknown.Paid = "UNKNOWN", false
	wrong := paid
	wrong.Amount = 1
	again := paid
	again.Number, again.TransactionID = 2, "4200another" // before the line of the payment that bellman knows
	unnumbered := paid
	unnumbered.TransactionID = ""
	named, failed := refund(paid, order, "r1", 40)
	failed.Paid = false
	cancelled := failed
	cancelled.State = "UNKNOWN"
	refunded := order
	refunded.State, refunded.Refunded = "PAID_REFUNDED", 100
	item := failed
	item.Paid = true
	rest := named
	rest.RefundNo, rest.RefundAmount, rest.Number = "r2", 60, 7
	more := rest
	more.RefundAmount = 61
	nameless, second := named, named // lines of refunds without their numbers
	nameless.RefundNo, second.RefundNo, second.Time = "", "", named.Time.Add(time.Hour)
	timeless, twin := nameless, nameless
	timeless.Time, twin.Time, twin.Number = time.Time{}, time.Time{}, 9
	other := item
	other.RefundNo, other.TaskID = "r2", "task-r2"
	revoked := order
	revoked.State, revoked.Paid, revoked.PaidAt, revoked.TransactionID = "REVOKED", false, time.Time{}, ""
	closed := revoked
	closed.State = "CLOSED"
	reversed := paid
	reversed.Kind, reversed.Amount, reversed.RefundAmount, reversed.State, reversed.Number = Refund, 0, 100, "REVOKED", 8
	before := func(d Decided) Decided {
		d.PaidAt = d.PaidAt.AddDate(0, 0, -1)
		return d
	}
	inState := func(l Line, state string, number int) Line {
		l.State, l.Failed, l.Number = state, state == "FAIL", number
		return l
	}
	tests := []struct {
		name  string
		lines []Line
		items []Decided
		o     Options
		want  []finding
		there []int // line numbers; 0: none
	}{
		{"amount and state", []Line{wrong}, []Decided{unknown}, Options{}, []finding{{AmountDiffers, "order-00000001"}, {StateDiffers, "order-00000001"}}, []int{3, 3}},
		{"the payment that bellman knows is not the second", []Line{again, paid}, []Decided{order}, Options{}, []finding{{Duplicate, "order-00000001"}}, []int{2}},
		{"two payments of an order that is missing here", []Line{paid, again}, nil, Options{}, []finding{{Duplicate, "order-00000001"}, {MissingHere, "order-00000001"}}, []int{3, 2}},
		{"another payment of an order than bellman knows", []Line{again}, []Decided{order}, Options{}, []finding{{Duplicate, "order-00000001"}}, []int{2}},
		{"a payment without its number at the channel", []Line{unnumbered}, []Decided{order}, Options{}, nil, nil},
		{"a refund of an order that is missing here", []Line{named}, nil, Options{}, []finding{{MissingHere, "order-00000001"}}, []int{3}},
		{"a refund that failed in the end", []Line{paid, inState(named, "FAIL", 9), inState(named, "PROCESSING", 8)}, []Decided{order, failed}, Options{}, nil, nil},
		{"a refund that failed in the end, in another order", []Line{paid, inState(named, "FAIL", 8), inState(named, "PROCESSING", 9)}, []Decided{order, failed}, Options{}, nil, nil},
		{"a refund that failed after the bill was made", []Line{paid, inState(named, "PROCESSING", 8)}, []Decided{order, failed}, Options{}, nil, nil},
		{"a refund that is cancelled here and goes on there", []Line{paid, inState(named, "PROCESSING", 8)}, []Decided{order, cancelled}, Options{}, []finding{{RefundDiffers, "order-00000001"}}, []int{8}},
		{"refunds of all that was paid", []Line{paid, rest, named}, []Decided{refunded, item}, Options{}, nil, nil},
		{"refunds of more than was paid", []Line{paid, more, named}, []Decided{refunded, item}, Options{}, []finding{{RefundDiffers, "order-00000001"}}, []int{7}},
		{"refunds of more than was paid, one on another day", []Line{more}, []Decided{before(refunded), before(item)}, Options{}, []finding{{RefundDiffers, "order-00000001"}}, []int{7}},
		{"a refund without its number there", []Line{paid, nameless}, []Decided{order, item}, Options{}, nil, nil},
		{"two refunds without their numbers there", []Line{paid, nameless, second}, []Decided{order, item, other}, Options{}, nil, nil},
		{"two refunds without numbers and times there", []Line{paid, timeless, twin}, []Decided{order, item, other}, Options{}, nil, nil},
		{"a refund more without number and time", []Line{paid, timeless, twin}, []Decided{order, item}, Options{}, []finding{{RefundDiffers, "order-00000001"}}, []int{9}},
		{"a refund more without its number", []Line{paid, nameless, second}, []Decided{order, item}, Options{}, []finding{{RefundDiffers, "order-00000001"}}, []int{3}},
		{"a refund of another amount without its number", []Line{paid, more, nameless}, []Decided{order, item}, Options{}, []finding{{RefundDiffers, "order-00000001"}}, []int{7}},
		{"reversed, and it had been paid", []Line{paid, reversed}, []Decided{revoked}, Options{}, nil, nil},
		{"reversed here, and only paid there", []Line{paid}, []Decided{revoked}, Options{}, []finding{{StateDiffers, "order-00000001"}}, []int{3}},
		{"reversed, and not all of it went back", []Line{paid, named}, []Decided{revoked}, Options{}, []finding{{RefundDiffers, "order-00000001"}, {StateDiffers, "order-00000001"}}, []int{3, 3}},
		{"closed, paid and reversed there", []Line{paid, reversed}, []Decided{closed}, Options{}, []finding{{RefundDiffers, "order-00000001"}, {StateDiffers, "order-00000001"}}, []int{8, 3}},
		{"refunds are not compared", []Line{paid, named}, []Decided{order}, Options{NoRefunds: true}, nil, nil},
		{"an order twice here", []Line{paid}, []Decided{order, func() Decided { o := order; o.TaskID = "other"; return o }()}, Options{}, []finding{{Duplicate, "order-00000001"}}, []int{0}},
		{"an amount that bellman does not know", []Line{wrong}, []Decided{func() Decided { o := order; o.Amount, o.Currency = 0, ""; return o }()}, Options{}, nil, nil},
	}
	for _, tt := range tests {
		tt.o.From, tt.o.To, tt.o.Dir = from, to, t.TempDir()
		var got []Difference
		if _, err := compareOne(t.Context(), Bill{Lines: sequence(tt.lines)}, sequence(tt.items), tt.o, func(d Difference) error {
			got = append(got, d)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(got, func(a, b Difference) int { return compareFindings(a.finding(), b.finding()) })
		if len(got) != len(tt.want) {
			t.Errorf("%s: %+v; want %v", tt.name, got, tt.want)
			continue
		}
		for i, d := range got {
			number := 0
			if d.There != nil {
				number = d.There.Number
			}
			if d.finding() != tt.want[i] || number != tt.there[i] {
				t.Errorf("%s: %+v, line %d; want %v, line %d", tt.name, d.finding(), number, tt.want[i], tt.there[i])
			}
		}
	}
}

// A fund flow bill names no order of a refund: refunds are compared by their own numbers.
func TestRefundsByNumber(t *testing.T) {
	paid, order := pair(1, from.Add(time.Hour), 100)
	line, item := refund(paid, order, "r1", 40)
	line.ChannelOrderNo, paid.Amount, line.RefundAmount = "", 95, 39 // a coupon was taken off
	if got, counts := compare(t, []Line{paid, line}, []Decided{order, item}, Options{Received: true}); len(got) > 0 || counts.Matched != 2 {
		t.Errorf("differences %v, counts %+v; want none, 2 matched", got, counts)
	}
	// The order is of another queue of the account: Find returns it with its refund, which is among
	// the items already.
	find := func(context.Context, string, []string) ([]Decided, error) { return []Decided{order, item}, nil }
	if got, counts := compare(t, []Line{paid, line}, []Decided{item}, Options{Received: true, Find: find}); len(got) > 0 || counts.Matched != 2 {
		t.Errorf("an order that is found: differences %v, counts %+v; want none, 2 matched", got, counts)
	}
	paid.Amount, line.RefundAmount = 101, 41
	want := []finding{{AmountDiffers, order.ChannelOrderNo}, {RefundDiffers, ""}}
	if got, _ := compare(t, []Line{paid, line}, []Decided{order, item}, Options{Received: true}); !slices.Equal(got, want) {
		t.Errorf("more than bellman knows: %v; want %v", got, want)
	}
	paid.Amount = 99
	if got, _ := compare(t, []Line{paid}, []Decided{order}, Options{}); len(got) != 1 {
		t.Errorf("less, in a trade bill: %v; want a difference", got)
	}
}

func TestErrors(t *testing.T) {
	var lines []Line
	var items []Decided
	for n := range 5000 {
		l, d := pair(n, from.Add(12*time.Hour), 1)
		d.Paid = n%2 == 0 // half of them differ
		lines, items = append(lines, l), append(items, d)
	}
	boom := errors.New("boom")
	quiet := func(Difference) error { return nil }
	noFind := func(context.Context, string, []string) ([]Decided, error) { return nil, boom }
	tests := []struct {
		name   string
		lines  iter.Seq2[Line, error]
		before iter.Seq2[Line, error]
		items  iter.Seq2[Decided, error]
		o      Options
		report func(Difference) error
		want   error
	}{
		{"bill", failing(lines, boom), nil, sequence(items), Options{}, quiet, boom},
		{"orders", sequence(lines), nil, failing(items, boom), Options{}, quiet, boom},
		{"bill before", sequence(lines), failing(lines, boom), sequence(items), Options{}, quiet, boom},
		{"find", sequence(lines), nil, sequence(items[:10]), Options{Find: noFind}, quiet, boom},
		{"report", sequence(lines), nil, sequence(items), Options{}, func(Difference) error { return boom }, boom},
		{"cancelled", sequence(lines), nil, sequence(items), Options{}, nil, context.Canceled},
		{"directory", sequence(lines), nil, sequence(items), Options{Dir: "/nowhere/at/all"}, quiet, os.ErrNotExist},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if tt.report == nil {
			tt.report = func(Difference) error { cancel(); return nil }
		}
		tt.o.From, tt.o.To, tt.o.Memory = from, to, 64<<10
		if tt.o.Dir == "" {
			tt.o.Dir = dir
		}
		reported := false
		_, err := compareOne(ctx, Bill{Lines: tt.lines, Before: tt.before}, tt.items, tt.o, func(d Difference) error {
			reported = true
			return tt.report(d)
		})
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v; want %v", tt.name, err, tt.want)
		}
		if before := tt.name == "bill" || tt.name == "orders" || tt.name == "bill before"; before && reported {
			t.Errorf("%s: a difference was reported before the error", tt.name)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: %d files are left, %v", tt.name, len(left), err)
		}
	}
}

func TestWrongDay(t *testing.T) {
	l, d := pair(1, from.AddDate(0, 0, 1).Add(2*time.Hour), 1)
	_, err := compareOne(t.Context(), Bill{Lines: sequence([]Line{l})}, sequence([]Decided{d}), Options{From: from, To: to}, func(Difference) error { return nil })
	if err == nil || err.Error() != "bill: none of its 1 lines is of the period from 2026-11-21T00:00:00+08:00 to 2026-11-22T00:00:00+08:00: is it the bill of another day?" {
		t.Errorf("Compare = %v", err)
	}
}
