// Peers measures bellman beside what others use for the same work, in turn on the same server: its store
// in Redis beside Asynq, on a Redis that is started for it, or its store in PostgreSQL beside River, in
// databases of a PostgreSQL that runs already:
//
//	cd internal/bench/peers && go run . [-fsync everysec] [-rounds 3] [-quick]
//	cd internal/bench/peers && go run . -postgres 'postgres://postgres@127.0.0.1:5432/postgres' [-rounds 3] [-quick]
//
// Redis writes to disk before it answers (-fsync always). In PostgreSQL each side has databases of its
// own, with the same parameters of the URL, which are dropped at the end.
//
// A round measures a drain of stored tasks; tasks that are delivered while they are created, one by one
// and in batches; and the lateness of tasks that are due at random. A delivery is a POST of 300 bytes to
// a receiver on loopback. bellman takes tasks over HTTP. Its peers take them in the process that creates
// them, and Asynq one by one alone. Peers look for work every few milliseconds, far more often than by
// their defaults, and each of their rates is the best of several numbers of workers.
//
// It is a module of its own, so that bellman does not depend on its peers.
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

	"github.com/bellmanhq/bellman/internal/bench"
)

// A peer is what bellman is measured beside.
type peer interface {
	bench.Peer
	close() error
}

func main() {
	err := errors.ErrUnsupported
	switch {
	case len(os.Args) > 1 && os.Args[1] == bench.ChildCommand:
		err = bench.Child()
	case len(os.Args) > 1 && os.Args[1] == workCommand:
		err = work(os.Args[2:])
	default:
		err = compare()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func compare() (err error) {
	postgres := flag.String("postgres", "", "URL of a PostgreSQL, for River; empty: Redis, for Asynq")
	fsync := flag.String("fsync", "always", "Redis's appendfsync: always, or everysec, which bellman takes of Redis 7.2 or newer alone")
	rounds := flag.Int("rounds", 3, "how often everything is measured; of each figure the median is shown")
	quick := flag.Bool("quick", false, "a fifth of the work")
	program := flag.String("redis", "redis-server", "the Redis program, or one that speaks as it does")
	dir := flag.String("dir", "", "where Redis writes; default: the directory for temporary files")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *postgres != "" {
		open := func() (peer, error) { return newRiver(ctx, *postgres) }
		return run(ctx, *postgres, "River", open, *rounds, *quick)
	}
	r, err := startRedis(ctx, *program, *dir, *fsync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	open := func() (peer, error) { return newAsynq(ctx, r) }
	return run(ctx, "redis://"+r.address+"/0", "Asynq", open, *rounds, *quick)
}

// A round is what was measured once.
type round struct{ bellman, peer bench.Report }

// run measures bellman in a store and the peer, in turn.
func run(ctx context.Context, store, name string, open func() (peer, error), rounds int, quick bool) error {
	var all []round
	for i := range rounds {
		var one round
		var err error
		if one.bellman, err = bench.Run(ctx, bench.Options{Store: store, Quick: quick,
			Scenarios: []string{"raw", "drain", "batches", "singles", "lateness"}}, io.Discard); err != nil {
			return err
		}
		p, err := open()
		if err != nil {
			return err
		}
		one.peer, err = bench.MeasurePeer(ctx, p, quick, os.Stdout)
		if err = errors.Join(err, p.close()); err != nil {
			return err
		}
		all = append(all, one)
		fmt.Printf("\nround %d of %d, %s\n", i+1, rounds, one.bellman.Machine.Store)
		if err := table(name, all[i:]); err != nil {
			return err
		}
		for _, text := range slices.Concat(one.bellman.Failures, one.peer.Failures) {
			fmt.Println("NOT KEPT:", text)
		}
	}
	if rounds == 1 {
		return nil
	}
	fmt.Printf("\nmedians of %d rounds\n", rounds)
	return table(name, all)
}

// table prints the medians of rounds. A ratio is the median of the rounds' ratios.
func table(peer string, rounds []round) error {
	median := func(of func(round) float64) float64 {
		var values []float64
		for _, r := range rounds {
			values = append(values, of(r))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	raw := func(r round) float64 {
		all := slices.Sorted(slices.Values(r.bellman.Raw))
		return all[len(all)/2]
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tbellman\t%[1]s\tbellman ÷ %[1]s\tbellman ÷ raw\t%[1]s ÷ raw\n", peer)
	for _, f := range []struct{ text, scenario, theirs, name string }{
		{"drain of stored tasks, /s", "drain", "drain", "delivered and recorded"},
		{"created one by one, to delivered and recorded, /s", "singles", "singles", "created, delivered and recorded"},
		{"created in batches of 1,000, to delivered and recorded, /s", "batches", "batches", "created, delivered and recorded"},
		{"lateness p50, ms", "lateness", "lateness", "arrival after due, p50"},
		{"lateness p99, ms", "lateness", "lateness", "arrival after due, p99"},
	} {
		if _, has := rounds[0].peer.Figure(f.theirs, f.name); !has {
			f.theirs, f.text = "singles", f.text+" (the other one by one)"
		}
		a := func(r round) float64 { f, _ := r.bellman.Figure(f.scenario, f.name); return f.Value }
		b := func(r round) float64 { f, _ := r.peer.Figure(f.theirs, f.name); return f.Value }
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t", f.text, median(a), median(b), median(func(r round) float64 { return a(r) / b(r) }))
		if f.scenario != "lateness" {
			fmt.Fprintf(w, "%.3f\t%.3f", median(func(r round) float64 { return a(r) / raw(r) }), median(func(r round) float64 { return b(r) / raw(r) }))
		}
		fmt.Fprintln(w)
	}
	earliest := func(r round) float64 {
		f, _ := r.peer.Figure("lateness", "earliest before its due time")
		return f.Value
	}
	fmt.Fprintf(w, "earliest before its due time, ms\tnone early\t%.0f\n", median(earliest))
	fmt.Fprintf(w, "raw: a loop that posts and keeps nothing, /s\t%.0f\n", median(raw))
	return w.Flush()
}
