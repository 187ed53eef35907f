package bill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A world is a bill and bellman's orders, and how they differ.
type world struct {
	lines   []Line
	decided []Decided
	hidden  []Decided // only Find knows them
	want    []finding
}

// plant adds an order that differs in one way, or in none: kind is empty.
func (w *world) plant(r *rand.Rand, n int, kind DifferenceKind) {
	at := from.Add(time.Hour + time.Duration(r.Int64N(int64(22*time.Hour)))).Truncate(time.Millisecond)
	l, d := pair(n, at, 1+r.Int64N(1e6))
	rl, rd := refund(l, d, fmt.Sprintf("refund-%08d", n), 1+r.Int64N(l.Amount))
	if kind != "" {
		w.want = append(w.want, finding{kind, l.ChannelOrderNo})
	}
	lines, items := []Line{l}, []Decided{d}
	switch kind {
	case MissingHere:
		items = nil
	case MissingThere:
		lines = nil
	case AmountDiffers:
		if r.IntN(2) == 0 {
			lines[0].Amount++
		} else {
			lines[0].Currency = "HKD"
		}
	case StateDiffers:
		if r.IntN(2) == 0 {
			items[0].Paid, items[0].State, items[0].PaidAt = false, "CLOSED", time.Time{}
		} else {
			lines[0].Failed = true
		}
	case Duplicate:
		again := l
		again.Number += 1 << 20
		if r.IntN(2) == 0 {
			again.TransactionID = "4200another"
		}
		lines = append(lines, again)
	case RefundDiffers:
		switch r.IntN(5) {
		case 0: // there only
			lines = append(lines, rl)
		case 1: // here only
			items = append(items, rd)
		case 2:
			rl.RefundAmount++
			lines, items = append(lines, rl), append(items, rd)
		case 3:
			rl.Failed = true
			lines, items = append(lines, rl), append(items, rd)
		case 4:
			rd.Paid = false
			lines, items = append(lines, rl), append(items, rd)
		}
	default:
		lines, items = w.agree(r, l, d, rl, rd)
	}
	w.lines = append(w.lines, lines...)
	if r.IntN(10) == 0 && len(lines) > 0 && !lines[0].Failed && kind != RefundDiffers { // Find is asked about lines that moved money
		w.hidden = append(w.hidden, items...)
		return
	}
	w.decided = append(w.decided, items...)
	if r.IntN(20) == 0 {
		w.decided = append(w.decided, items...) // pages of a store may overlap
	}
}

// agree returns one of the ways in which both sides agree.
func (w *world) agree(r *rand.Rand, l Line, d Decided, rl Line, rd Decided) ([]Line, []Decided) {
	switch r.IntN(8) {
	case 0: // refunded
		return []Line{l, rl}, []Decided{d, rd}
	case 1: // refunded, and the refund took its time
		before := rl
		before.State, before.Number = "PROCESSING", rl.Number+1<<21
		return []Line{l, rl, before}, []Decided{d, rd}
	case 2: // paid on another day, and refunded on this one
		d.PaidAt = d.PaidAt.AddDate(0, 0, -3)
		return []Line{rl}, []Decided{d, rd}
	case 3: // nobody paid
		d.Paid, d.State, d.PaidAt = false, "FAILED", time.Time{}
		return nil, []Decided{d}
	case 4: // paid on the next day
		d.PaidAt = d.PaidAt.AddDate(0, 0, 1)
		return nil, []Decided{d}
	case 5: // the order knows what was refunded, and there is no item of the refund
		d.Refunded, rl.RefundNo = rl.RefundAmount, ""
		return []Line{l, rl}, []Decided{d}
	case 6: // a refund that failed on both sides
		rl.Failed, rd.Paid = true, false
		return []Line{l, rl}, []Decided{d, rd}
	}
	return []Line{l}, []Decided{d}
}

func (w *world) find(t testing.TB, seen map[string]bool) func(context.Context, string, []string) ([]Decided, error) {
	items := map[string][]Decided{}
	for _, d := range append(slices.Clone(w.hidden), w.decided...) {
		items[d.ChannelOrderNo] = append(items[d.ChannelOrderNo], d)
	}
	return func(_ context.Context, _ string, names []string) (found []Decided, err error) {
		if len(names) == 0 || len(names) > 500 {
			t.Errorf("Find was asked about %d orders", len(names))
		}
		for _, name := range names {
			if seen[name] {
				t.Errorf("Find was asked about %s twice", name)
			}
			seen[name] = true
			found = append(found, items[name]...)
		}
		return found, nil
	}
}

// Whatever the order of the input and the size of the buffer, all planted differences are found,
// and no others.
func TestPlanted(t *testing.T) {
	kinds := []DifferenceKind{MissingHere, MissingThere, AmountDiffers, StateDiffers, RefundDiffers, Duplicate}
	each := 1000
	if testing.Short() {
		each = 100
	}
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 0))
		w := &world{}
		for n, i := range r.Perm(20 * each) {
			kind := DifferenceKind("")
			if i < each*len(kinds) {
				kind = kinds[i%len(kinds)]
			}
			w.plant(r, n, kind)
		}
		slices.SortFunc(w.want, compareFindings)
		for _, memory := range []int{4 << 10, 300 << 10, 0} {
			r.Shuffle(len(w.lines), func(i, j int) { w.lines[i], w.lines[j] = w.lines[j], w.lines[i] })
			r.Shuffle(len(w.decided), func(i, j int) { w.decided[i], w.decided[j] = w.decided[j], w.decided[i] })
			got, counts := compare(t, w.lines, w.decided, Options{Memory: memory, Find: w.find(t, map[string]bool{})})
			if !slices.Equal(got, w.want) {
				report(t, got, w.want)
				t.Fatalf("seed %d, memory %d: %d differences, counts %+v; want %d", seed, memory, len(got), counts, len(w.want))
			}
			for _, kind := range kinds {
				if counts.Differences[kind] != each {
					t.Errorf("seed %d: %d of %s; want %d", seed, counts.Differences[kind], kind, each)
				}
			}
		}
	}
}
