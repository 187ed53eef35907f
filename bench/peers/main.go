// Peers measures bellman's store in Redis and Asynq, one after the other, on the same
// Redis and the same work:
//
//	cd bench/peers && go run . [-fsync everysec] [-rounds 3] [-quick]
//
// It starts a Redis of its own, which writes to disk before it answers (-fsync
// always), and in each round, with either: a drain of stored tasks; tasks that are
// delivered while they are created; and the lateness of tasks that are due at random
// within some seconds. A delivery is a POST of 300 bytes to a receiver on loopback
// that answers success. Asynq looks for work every 2 ms instead of its defaults of
// seconds; each of its figures is the better one of several numbers of workers. It
// takes tasks one by one; bellman takes them over HTTP, one by one and in batches.
//
// It is a module of its own, so that bellman does not depend on Asynq.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/bellmanhq/bellman/bench"
)

// A round is what was measured once. Rates are tasks a second.
type round struct {
	raw     float64
	bellman figures
	asynq   figures
}

type figures struct {
	drain           float64
	endToEnd        float64 // created one by one
	batches         float64 // created a thousand at a time; 0: there is no such thing
	late, late99    float64 // ms
	earliest        float64 // ms before it was due; 0: none was
	workers         int     // of the drain
	failures        []string
	endToEndWorkers int
}

func main() {
	bench.Child()
	child()
	fsync := flag.String("fsync", "always", "Redis's appendfsync: always, or everysec, which bellman takes of Redis 7.2 or newer alone")
	rounds := flag.Int("rounds", 3, "how often everything is measured; of each figure the median is shown")
	quick := flag.Bool("quick", false, "a fifth of the work")
	program := flag.String("redis", "redis-server", "the Redis program, or one that speaks as it does")
	dir := flag.String("dir", "", "where Redis writes; default: the directory for temporary files")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *program, *dir, *fsync, *rounds, *quick); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program, dir, fsync string, rounds int, quick bool) (err error) {
	r, err := startRedis(ctx, program, dir, fsync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	fmt.Printf("Redis %s, appendfsync %s, at %s\n", r.version, fsync, r.address)
	var all []round
	for i := range rounds {
		var one round
		if err := measureBellman(ctx, r, quick, &one); err != nil {
			return err
		}
		if err := r.flush(ctx); err != nil {
			return err
		}
		if one.asynq, err = measureAsynq(ctx, r, sizesOf(quick)); err != nil {
			return err
		}
		if err := r.flush(ctx); err != nil {
			return err
		}
		all = append(all, one)
		fmt.Printf("\nround %d of %d\n", i+1, rounds)
		if err := table(os.Stdout, all[i:]); err != nil {
			return err
		}
		for _, text := range slices.Concat(one.bellman.failures, one.asynq.failures) {
			fmt.Println("NOT KEPT:", text)
		}
	}
	if rounds > 1 {
		fmt.Printf("\nmedians of %d rounds\n", rounds)
		return table(os.Stdout, all)
	}
	return nil
}

// measureBellman runs bellman's own scenarios in a Redis.
func measureBellman(ctx context.Context, r *redis, quick bool, to *round) error {
	report, err := bench.Run(ctx, bench.Options{Store: "redis://" + r.address + "/0", Quick: quick,
		Scenarios: []string{"raw", "drain", "batches", "singles", "lateness"}}, io.Discard)
	if err != nil {
		return err
	}
	for _, want := range []struct {
		scenario, name string
		to             *float64
	}{
		{"raw", "", &to.raw},
		{"drain", "delivered and recorded", &to.bellman.drain},
		{"singles", "created, delivered and recorded", &to.bellman.endToEnd},
		{"batches", "created, delivered and recorded", &to.bellman.batches},
		{"lateness", "arrival after due, p50", &to.bellman.late},
		{"lateness", "arrival after due, p99", &to.bellman.late99},
	} {
		found := false
		for _, f := range report.Figures {
			if !found && f.Scenario == want.scenario && (f.Name == want.name || want.name == "") {
				*want.to, found = f.Value, true
			}
		}
		if !found {
			return fmt.Errorf("bellman's report has no %q of %s", want.name, want.scenario)
		}
	}
	to.bellman.failures = report.Failures
	return nil
}

// table shows the medians of rounds.
func table(out io.Writer, rounds []round) error {
	median := func(of func(round) float64) float64 {
		var values []float64
		for _, r := range rounds {
			values = append(values, of(r))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tbellman\tAsynq\tbellman ÷ Asynq")
	line := func(name, format string, of func(figures) float64) {
		a, b := median(func(r round) float64 { return of(r.bellman) }), median(func(r round) float64 { return of(r.asynq) })
		ratio := median(func(r round) float64 { return of(r.bellman) / of(r.asynq) })
		fmt.Fprintf(w, "%s\t"+format+"\t"+format+"\t%.2f\n", name, a, b, ratio)
	}
	line("drain of stored tasks, /s", "%.0f", func(f figures) float64 { return f.drain })
	line("created one by one, to delivered and recorded, /s", "%.0f", func(f figures) float64 { return f.endToEnd })
	single := func(r round) float64 { return r.asynq.endToEnd }
	fmt.Fprintf(w, "created in batches of 1,000, to delivered and recorded, /s\t%.0f\tno batches\t%.2f\n",
		median(func(r round) float64 { return r.bellman.batches }), median(func(r round) float64 { return r.bellman.batches / single(r) }))
	line("lateness p50, ms", "%.2f", func(f figures) float64 { return f.late })
	line("lateness p99, ms", "%.2f", func(f figures) float64 { return f.late99 })
	fmt.Fprintf(w, "earliest before its due time, ms\t%.0f\t%.0f\t\n", median(func(r round) float64 { return r.bellman.earliest }), median(func(r round) float64 { return r.asynq.earliest }))
	fmt.Fprintf(w, "raw: a loop that posts and keeps nothing, /s\t%.0f\t\t\n", median(func(r round) float64 { return r.raw }))
	return w.Flush()
}

// sizes are how much work there is: as much as bellman's scenarios have.
type sizes struct {
	drain, endToEnd, late int
	over                  time.Duration
}

func sizesOf(quick bool) sizes {
	if quick {
		return sizes{20_000, 10_000, 4_000, 4 * time.Second}
	}
	return sizes{100_000, 50_000, 20_000, 20 * time.Second}
}
