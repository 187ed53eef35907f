package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

func serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: `Run the server until SIGINT or SIGTERM.

Precedence of a setting: flag, then environment (BELLMAN_LISTEN, BELLMAN_STORE,
BELLMAN_LOG_LEVEL, BELLMAN_EGRESS_ALLOW_PRIVATE, ...), then file, then default. An
unknown variable BELLMAN_... is an error.

The first SIGINT or SIGTERM finishes the attempts in flight and stops. A second one,
300 ms later or more, stops at once, with exit status 1. SIGHUP reloads queues, pool,
alarms and keys of the configuration; the log names other changes, which need a
restart. A file with mistakes changes nothing.

If the database cannot be reached at the start, the program ends within 30 s, with
exit status 1: let the service manager start it again. If the database fails later,
the server waits for it. Several servers with one database share its tasks.

The log is JSON on standard error. BELLMAN_PPROF=127.0.0.1:6060 serves
/debug/pprof there, on loopback only.`,
		Args: flagsAlone,
	}
	file := c.Flags().String("config", "", "configuration file, YAML (BELLMAN_CONFIG)")
	c.Flags().String("listen", "", "address of the API (BELLMAN_LISTEN; default 127.0.0.1:2355)")
	c.Flags().String("store", "", storeHelp)
	noMigrate := c.Flags().Bool("no-migrate", false, "create no store and no tables: fail unless they exist in this version")
	c.RunE = func(c *cobra.Command, _ []string) error {
		given := map[string]string{}
		c.Flags().Visit(func(f *pflag.Flag) {
			if f.Name == "listen" || f.Name == "store" {
				given[f.Name] = f.Value.String()
			}
		})
		read := func() (*config.Config, error) { return config.Read(*file, os.LookupEnv, given, server.CheckStore) }
		settings, err := read()
		if err == nil {
			err = settings.CheckNames(os.Environ())
		}
		if err != nil {
			return wrong{err}
		}
		return serve(c.Context(), c.OutOrStdout(), settings, *noMigrate, read)
	}
	return c
}

// sameSignal is the time within which two signals to stop count as one: timeout(1) sends SIGTERM to
// the process and to its group, a terminal to all processes of a pipeline.
const sameSignal = 300 * time.Millisecond

// serve runs a server until a signal ends it. read reads the settings again.
func serve(ctx context.Context, out io.Writer, settings *config.Config, noMigrate bool, read func() (*config.Config, error)) error {
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: settings.LogLevel}))
	slog.SetDefault(log)

	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP)
	if err := profile(os.Getenv("BELLMAN_PPROF"), log); err != nil {
		return err
	}
	server.TuneMemory(settings.Store)
	s, err := server.Open(server.Options{Config: settings, Version: version, Logger: log, NoMigrate: noMigrate})
	if _, is := errors.AsType[*server.ConfigError](err); is {
		return wrong{err}
	}
	if err != nil {
		return noStore(err)
	}
	// Signals are handled from here on. Before, a signal ends the process at once, which is no
	// worse than a crash, however long the store takes to open.
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var beside sync.WaitGroup
	defer beside.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	beside.Go(func() { greet(ctx, out, s, shownStore(settings.Store)) })
	beside.Go(func() { server.GiveBackMemory(ctx) })

	var stopping time.Time // when the first signal came
	for {
		select {
		case err := <-ended:
			stop()
			beside.Wait()
			if err := errors.Join(err, s.Close()); err != nil {
				return err
			}
			fmt.Fprintln(out, "stopped")
			return nil
		case sig := <-signals:
			switch {
			case sig == syscall.SIGHUP:
				reload(s, settings, read, log)
			case !stopping.IsZero() && time.Since(stopping) < sameSignal:
			case !stopping.IsZero():
				log.Error("stopped at once: attempts in flight will be made again after the next start", "signal", sig.String())
				os.Exit(1)
			default:
				stopping = time.Now()
				log.Info("stopping: what is in flight is finished first; a second signal stops at once", "signal", sig.String())
				stop()
			}
		}
	}
}

// reload applies the present configuration of the queues, and logs which other settings differ from
// those that the server was started with.
func reload(s *server.Server, started *config.Config, read func() (*config.Config, error), log *slog.Logger) {
	c, err := read()
	if err == nil {
		err = s.Reload(c)
	}
	var problems config.Problems
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			log.Error("configuration not reloaded", "err", p.String())
		}
	case err != nil:
		log.Error("configuration not reloaded", "err", err)
	default:
		log.Info("queues reloaded", "queues", len(c.Queues))
		if names := started.Restarts(c); len(names) > 0 {
			log.Warn("settings have changed that take a restart", "settings", names)
		}
	}
}

// greet prints in one line where the server listens and what it resumes.
func greet(ctx context.Context, out io.Writer, s *server.Server, store string) {
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for {
		if found, ok := s.Engine().Resumed(); ok {
			line := fmt.Sprintf("bellman %s listens on http://%s, store %s: ", version, s.Addr(), store)
			fmt.Fprintln(out, line+resumed(found.Pending, found.Due, found.Crashed))
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// resumed describes the work that a server resumes.
func resumed(pending, due int64, crashed bool) string {
	after := ""
	if crashed {
		after = ", after a crash"
	}
	switch {
	case pending == 0:
		return "no tasks wait" + after
	case pending == 1:
		return fmt.Sprintf("resumed 1 task%s%s", map[bool]string{true: ", due"}[due == 1], after)
	default:
		return fmt.Sprintf("resumed %s tasks, %s of them due%s", grouped(pending), grouped(due), after)
	}
}

// grouped formats 1234567 as 1,234,567.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
