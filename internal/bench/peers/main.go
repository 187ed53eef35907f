// Peers measures bellman beside what others use for the same work, one after the
// other on the same server: its store in Redis beside Asynq, on a Redis that is
// started for it, or its store in PostgreSQL beside River, in databases of a
// PostgreSQL that runs already:
//
//	cd bench/peers && go run . [-fsync everysec] [-rounds 3] [-quick]
//	cd bench/peers && go run . -postgres 'postgres://postgres@127.0.0.1:5432/postgres' [-rounds 3] [-quick]
//
// Redis writes to disk before it answers (-fsync always). In PostgreSQL each side
// has databases of its own, with the same parameters of the URL, and they are
// dropped at the end.
//
// In each round, with either: a drain of stored tasks; tasks that are delivered
// while they are created, one by one and in batches; and the lateness of tasks that
// are due at random within some seconds. A delivery is a POST of 300 bytes to a
// receiver on loopback that answers success. bellman takes tasks over HTTP; its
// peers take them in the process that creates them, and Asynq one by one alone.
// Peers look for work every few milliseconds, far more often than by their
// defaults, and each of their rates is the best of several numbers of workers.
//
// It is a module of its own, so that bellman does not depend on its peers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"

	"github.com/bellmanhq/bellman/internal/bench"
)

func main() {
	bench.Child()
	child()
	postgres := flag.String("postgres", "", "URL of a PostgreSQL, for River; empty: Redis, for Asynq")
	fsync := flag.String("fsync", "always", "Redis's appendfsync: always, or everysec, which bellman takes of Redis 7.2 or newer alone")
	rounds := flag.Int("rounds", 3, "how often everything is measured; of each figure the median is shown")
	quick := flag.Bool("quick", false, "a fifth of the work")
	program := flag.String("redis", "redis-server", "the Redis program, or one that speaks as it does")
	dir := flag.String("dir", "", "where Redis writes; default: the directory for temporary files")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	do := func() error { return besideAsynq(ctx, *program, *dir, *fsync, *rounds, *quick) }
	if *postgres != "" {
		do = func() error { return besideRiver(ctx, *postgres, *rounds, *quick) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func besideAsynq(ctx context.Context, program, dir, fsync string, rounds int, quick bool) (err error) {
	r, err := startRedis(ctx, program, dir, fsync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	fmt.Printf("Redis %s, appendfsync %s, at %s\n", r.version, fsync, r.address)
	open := func(ctx context.Context) (peer, error) { return newAsynq(ctx, r) }
	return run(ctx, "redis://"+r.address+"/0", open, rounds, quick)
}

func besideRiver(ctx context.Context, url string, rounds int, quick bool) (err error) {
	p, err := connectPostgres(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	fmt.Println(p.about)
	open := func(ctx context.Context) (peer, error) { return newRiver(ctx, p) }
	return run(ctx, url, open, rounds, quick)
}

// run measures bellman in a store and the peer, in turn.
func run(ctx context.Context, store string, open func(context.Context) (peer, error), rounds int, quick bool) error {
	var all []round
	for i := range rounds {
		var one round
		var err error
		if one.bellman, one.raw, err = measureBellman(ctx, store, quick); err != nil {
			return err
		}
		p, err := open(ctx)
		if err != nil {
			return err
		}
		one.peer, err = measure(ctx, p, sizesOf(quick))
		if err = errors.Join(err, p.close()); err != nil {
			return err
		}
		all = append(all, one)
		fmt.Printf("\nround %d of %d\n", i+1, rounds)
		if err := table(os.Stdout, p.name(), all[i:]); err != nil {
			return err
		}
		fmt.Printf("workers of %s at their best: %s\n", p.name(), one.peer.best)
		for _, text := range slices.Concat(one.bellman.failures, one.peer.failures) {
			fmt.Println("NOT KEPT:", text)
		}
		if rounds > 1 && i == rounds-1 {
			fmt.Printf("\nmedians of %d rounds\n", rounds)
			return table(os.Stdout, p.name(), all)
		}
	}
	return nil
}
