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

	"github.com/bellmanhq/bellman/config"
	"github.com/bellmanhq/bellman/server"
)

// The variables that make a program a server under test.
const (
	envStore   = "BELLMAN_BENCH_STORE"   // the data directory
	envProfile = "BELLMAN_BENCH_PROFILE" // where a CPU profile goes; empty: nowhere
)

// Child turns this process into a server under test, if [Run] started it to be
// one, and then never returns. Otherwise it does nothing. Call it first in main.
func Child() {
	dir := os.Getenv(envStore)
	if dir == "" {
		return
	}
	if err := serve(dir, os.Getenv(envProfile)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs a server with default settings, but for its addresses, until
// standard input ends: it stops in good order, also when its parent died.
func serve(dir, profile string) (err error) {
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
	c.Listen = "127.0.0.1:0"
	c.Store = "pebble:" + dir
	c.Egress.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))
	slog.SetDefault(log)
	s, err := server.Open(server.Options{Config: c, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
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
