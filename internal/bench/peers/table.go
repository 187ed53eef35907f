package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// table shows the medians of rounds. A ratio is the median of the rounds' ratios.
func table(out io.Writer, peer string, rounds []round) error {
	median := func(of func(round) float64) float64 {
		var values []float64
		for _, r := range rounds {
			values = append(values, of(r))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tbellman\t%[1]s\tbellman ÷ %[1]s\tbellman ÷ raw\t%[1]s ÷ raw\n", peer)
	ours := func(of func(figures) float64) func(round) float64 {
		return func(r round) float64 { return of(r.bellman) }
	}
	theirs := func(of func(figures) float64) func(round) float64 {
		return func(r round) float64 { return of(r.peer) }
	}
	toRaw := func(of func(round) float64) float64 {
		return median(func(r round) float64 { return of(r) / r.raw })
	}
	rate := func(name string, of func(figures) float64) {
		a, b := ours(of), theirs(of)
		fmt.Fprintf(w, "%s, /s\t%.0f\t%.0f\t%.2f\t%.3f\t%.3f\n", name, median(a), median(b),
			median(func(r round) float64 { return a(r) / b(r) }), toRaw(a), toRaw(b))
	}
	late := func(name string, of func(figures) float64) {
		a, b := ours(of), theirs(of)
		fmt.Fprintf(w, "%s, ms\t%.2f\t%.2f\t%.2f\t\t\n", name, median(a), median(b), median(func(r round) float64 { return a(r) / b(r) }))
	}
	rate("drain of stored tasks", func(f figures) float64 { return f.drain })
	singles := func(f figures) float64 { return f.singles }
	rate("created one by one, to delivered and recorded", singles)
	batches := func(f figures) float64 { return f.batches }
	const inBatches = "created in batches of 1,000, to delivered and recorded"
	if rounds[0].peer.batches > 0 {
		rate(inBatches, batches)
	} else {
		fmt.Fprintf(w, "%s, /s\t%.0f\tno batches\t%.2f\t%.3f\t\n", inBatches, median(ours(batches)),
			median(func(r round) float64 { return r.bellman.batches / r.peer.singles }), toRaw(ours(batches)))
	}
	late("lateness p50", func(f figures) float64 { return f.late })
	late("lateness p99", func(f figures) float64 { return f.late99 })
	earliest := func(f figures) float64 { return f.earliest }
	fmt.Fprintf(w, "earliest before its due time, ms\t%.0f\t%.0f\t\t\t\n", median(ours(earliest)), median(theirs(earliest)))
	fmt.Fprintf(w, "raw: a loop that posts and keeps nothing, /s\t%.0f\t\t\t\t\n", median(func(r round) float64 { return r.raw }))
	return w.Flush()
}
