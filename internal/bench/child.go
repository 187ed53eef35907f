package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"runtime/pprof"
	"sync"

	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

// The variables that make a program a server under test, or the bare loop.
const (
	envStore    = "BELLMAN_BENCH_STORE"    // the server's store
	envSettings = "BELLMAN_BENCH_SETTINGS" // its configuration, as YAML; empty: the default
	envProfile  = "BELLMAN_BENCH_PROFILE"  // where its CPU profile goes; empty: nowhere

	envRaw = "BELLMAN_BENCH_RAW" // the address that the loop posts to
	envFor = "BELLMAN_BENCH_FOR" // for how long
)

// Child turns this process into a server under test, or into the bare loop that
// it is compared with, if [Run] started it to be that, and then never returns.
// Otherwise it does nothing. Call it first in main.
func Child() {
	var err error
	switch {
	case os.Getenv(envStore) != "":
		err = serve(os.Getenv(envStore), os.Getenv(envSettings), os.Getenv(envProfile))
	case os.Getenv(envRaw) != "":
		err = postFor(os.Getenv(envRaw), os.Getenv(envFor))
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs a server with these settings, but for its addresses, until standard
// input ends: it stops in good order, also when its parent died.
func serve(store, settings, profile string) (err error) {
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	c := config.Default()
	if settings != "" {
		if c, err = config.Parse([]byte(settings)); err != nil {
			return err
		}
	}
	c.Listen = "127.0.0.1:0"
	c.Store = store
	c.Egress.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))
	slog.SetDefault(log)
	server.TuneMemory(c.Store)
	s, err := server.Open(server.Options{Config: c, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx, stop := context.WithCancel(context.Background())
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	beside.Go(func() { server.GiveBackMemory(ctx) })
	var input error
	go func() {
		_, input = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if _, err := fmt.Println(s.Addr()); err != nil {
		return fmt.Errorf("say where the server listens: %w", err)
	}
	err = s.Run(ctx)
	return cmp.Or(err, input)
}
