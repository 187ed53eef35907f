// Peers measures bellman beside what others use for the same work, in turn on the same server: its
// store in Redis beside Asynq, on a Redis that is started for it, or its store in PostgreSQL beside
// River and graphile-worker, in databases of a PostgreSQL that runs already:
//
//	cd internal/bench/peers && go run . [-fsync everysec] [-rounds 3] [-quick]
//	cd internal/bench/peers && go run . -postgres 'postgres://postgres@127.0.0.1:5432/postgres' [-rounds 3] [-quick]
//
// Redis writes to disk before it answers (-fsync always). In PostgreSQL each side has databases of
// its own, with the same parameters of the URL, which are dropped at the end. npm installs
// graphile-worker in a temporary directory, from the lock file in graphile. Without Node it is
// skipped.
//
// A round measures a drain of stored tasks; tasks that are delivered while they are created, one by
// one and in batches; and the lateness of tasks that are due at random. Several rounds end with
// medians and ranges. A delivery is a POST of 300 bytes to a receiver on loopback. bellman takes
// tasks over HTTP. Its peers take them in the process that creates them, graphile-worker by its
// functions in SQL, and Asynq one by one alone. Peers look for work every few milliseconds, far
// more often than by their defaults, and each of their rates is the best of several numbers of
// workers.
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

	"github.com/bellmanhq/bellman/internal/bench"
)

// A peer is what bellman is measured beside.
type peer interface {
	bench.Peer
	close() error
}

// A named is a peer by its name. It is opened for each round.
type named struct {
	name string
	open func() (peer, error)
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
	postgres := flag.String("postgres", "", "URL of a PostgreSQL, for River and graphile-worker; empty: Redis, for Asynq")
	fsync := flag.String("fsync", "always", "Redis's appendfsync: always, or everysec, which bellman takes of Redis 7.2 or newer alone")
	rounds := flag.Int("rounds", 3, "how often everything is measured")
	quick := flag.Bool("quick", false, "a fifth of the work")
	program := flag.String("redis", "redis-server", "the Redis program, or one that speaks as it does")
	dir := flag.String("dir", "", "where Redis writes; default: the directory for temporary files")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *postgres != "" {
		peers := []named{{"River", func() (peer, error) { return newRiver(ctx, *postgres) }}}
		g, err := installGraphile(ctx)
		if err != nil {
			return err
		}
		if g != nil {
			defer func() { err = errors.Join(err, g.remove()) }()
			peers = append(peers, named{"graphile-worker", func() (peer, error) { return newGraphile(ctx, g, *postgres) }})
		}
		return run(ctx, *postgres, peers, *rounds, *quick)
	}
	r, err := startRedis(ctx, *program, *dir, *fsync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	return run(ctx, "redis://"+r.address+"/0", []named{{"Asynq", func() (peer, error) { return newAsynq(ctx, r) }}}, *rounds, *quick)
}
