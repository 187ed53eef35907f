package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/bellmanhq/bellman/internal/bench"
)

// leastDrain is the goal of a drain: that many times the rate of the best peer.
const leastDrain = 1.5

// A round is what was measured once.
type round struct {
	bellman bench.Report
	peers   []bench.Report
}

// run measures bellman in a store and its peers, in turn.
func run(ctx context.Context, store string, peers []named, rounds int, quick bool) error {
	var all []round
	for i := range rounds {
		var one round
		var err error
		if one.bellman, err = bench.Run(ctx, bench.Options{Store: store, Quick: quick,
			Scenarios: []string{"raw", "drain", "batches", "singles", "lateness"}}, io.Discard); err != nil {
			return err
		}
		failures := one.bellman.Failures
		for _, p := range peers {
			report, err := measure(ctx, p, quick)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			one.peers = append(one.peers, report)
			failures = append(failures, report.Failures...)
		}
		all = append(all, one)
		fmt.Printf("\nround %d of %d, %s\n", i+1, rounds, one.bellman.Machine.Store)
		if err := table(peers, all[i:]); err != nil {
			return err
		}
		for _, text := range failures {
			fmt.Println("NOT KEPT:", text)
		}
	}
	if rounds == 1 {
		return nil
	}
	fmt.Printf("\nmedians of %d rounds, and ranges\n", rounds)
	return table(peers, all)
}

// measure measures a peer.
func measure(ctx context.Context, p named, quick bool) (bench.Report, error) {
	opened, err := p.open()
	if err != nil {
		return bench.Report{}, err
	}
	fmt.Println(p.name)
	report, err := bench.MeasurePeer(ctx, opened, quick, os.Stdout)
	return report, errors.Join(err, opened.close())
}

// table prints the medians of rounds, and of several rounds the ranges. A ratio is the median of
// the rounds' ratios.
func table(peers []named, rounds []round) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\tbellman")
	for _, p := range peers {
		fmt.Fprintf(w, "\t%s\tbellman ÷ %[1]s", p.name)
	}
	fmt.Fprintln(w)
	for _, f := range []struct {
		text, scenario, name string
		rate                 bool
	}{
		{"drain of stored tasks, /s", "drain", "delivered and recorded", true},
		{"created one by one, to delivered and recorded, /s", "singles", created, true},
		{"created in batches of 1,000, to delivered and recorded, /s", "batches", created, true},
		{"lateness p50, ms", "lateness", "arrival after due, p50", false},
		{"lateness p99, ms", "lateness", "arrival after due, p99", false},
	} {
		if _, has := rounds[0].peers[0].Figure(f.scenario, f.name); !has {
			f.text += " (the other one by one)"
		}
		bellman := func(r round) float64 { return figure(r.bellman, f.scenario, f.name) }
		fmt.Fprintf(w, "%s\t%s", f.text, spread(rounds, bellman))
		theirs := func(i int) func(round) float64 {
			return func(r round) float64 { return figure(r.peers[i], f.scenario, f.name) }
		}
		for i := range peers {
			fmt.Fprintf(w, "\t%s\t%s", spread(rounds, theirs(i)), spread(rounds, over(bellman, theirs(i))))
		}
		fmt.Fprintln(w)
		if !f.rate {
			continue
		}
		fmt.Fprintf(w, "  ÷ raw\t%s", spread(rounds, over(bellman, raw)))
		for i := range peers {
			fmt.Fprintf(w, "\t%s\t", spread(rounds, over(theirs(i), raw)))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "earliest before its due time, ms\tnone early")
	for i := range peers {
		fmt.Fprintf(w, "\t%s\t", spread(rounds, func(r round) float64 { return figure(r.peers[i], "lateness", "earliest before its due time") }))
	}
	fmt.Fprintf(w, "\nraw: a loop that posts and keeps nothing, /s\t%s\n", spread(rounds, raw))
	if err := w.Flush(); err != nil {
		return err
	}
	best := func(r round) (most float64) {
		for _, p := range r.peers {
			most = max(most, figure(p, "drain", "delivered and recorded"))
		}
		return most
	}
	ratio := over(func(r round) float64 { return figure(r.bellman, "drain", "delivered and recorded") }, best)
	if m, _, _ := median(rounds, ratio); m < leastDrain {
		fmt.Printf("NOT KEPT: a drain is %.2f × the best peer's, want %.1f\n", m, leastDrain)
	}
	return nil
}

const created = "created, delivered and recorded"

// figure returns a figure of a report. Without batches it is that of tasks that were created one by
// one.
func figure(r bench.Report, scenario, name string) float64 {
	f, has := r.Figure(scenario, name)
	if !has && scenario == "batches" {
		f, _ = r.Figure("singles", name)
	}
	return f.Value
}

func raw(r round) float64 {
	all := slices.Sorted(slices.Values(r.bellman.Raw))
	return all[len(all)/2]
}

func over(a, b func(round) float64) func(round) float64 {
	return func(r round) float64 { return a(r) / b(r) }
}

func median(rounds []round, of func(round) float64) (middle, least, most float64) {
	var values []float64
	for _, r := range rounds {
		values = append(values, of(r))
	}
	slices.Sort(values)
	return values[len(values)/2], values[0], values[len(values)-1]
}

// spread prints a median, and of several rounds the range.
func spread(rounds []round, of func(round) float64) string {
	m, least, most := median(rounds, of)
	if len(rounds) == 1 {
		return decimals(m)
	}
	return fmt.Sprintf("%s (%s to %s)", decimals(m), decimals(least), decimals(most))
}

// decimals prints a number with three digits or more.
func decimals(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
