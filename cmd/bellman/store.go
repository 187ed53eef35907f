package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/pebble"
)

// storeHelp describes the forms of a store's URL.
const storeHelp = "where tasks are kept: pebble:DIR, postgres://USER:PASSWORD@HOST/DATABASE, mysql://... or redis://..., or env:NAME or file:PATH of that (BELLMAN_STORE; default pebble:bellman-data)"

// storeFlag declares --store. url returns the flag's value, else the environment's, else the
// default.
func storeFlag(c *cobra.Command) (url func() string) {
	given := c.Flags().String("store", "", storeHelp)
	return func() string { return cmp.Or(*given, os.Getenv("BELLMAN_STORE"), config.Default().Store) }
}

// openExisting opens a store for reading, and does not create it.
func openExisting(ctx context.Context, url string) (store.Store, error) {
	if err := config.Default().Set("store", url); err != nil {
		return nil, wrong{err}
	}
	store, err := server.OpenStore(ctx, url, server.StoreOptions{Existing: true, ReadOnly: true, Logger: warnings()})
	return store, noStore(err)
}

// noStore adds advice to the error that a store does not exist, and marks a wrong address as the
// user's mistake.
func noStore(err error) error {
	if _, is := errors.AsType[*server.ConfigError](err); is {
		return wrong{err}
	}
	if errors.Is(err, pebble.ErrNoStore) {
		return fmt.Errorf("%w: name another directory with --store pebble:DIR, or create one with bellman migrate", err)
	}
	return err
}

// shownStore returns a store's URL without its password.
func shownStore(url string) string {
	s, err := config.ParseStore(url)
	if err != nil {
		return "the store" // opening it returned an error that says what is wrong
	}
	return s.String()
}

// warnings returns a log that prints warnings for an operator at a terminal.
func warnings() *slog.Logger {
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func checkCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "check",
		Short: "Verify an embedded store that no server has open",
		Long: `Read an embedded store and verify that its rows, indexes and counters agree. Each
contradiction is printed, and the exit status is 1. No server may have the store
open; to verify the store of a running server, verify a copy of bellman backup.`,
		Args: flagsAlone,
	}
	url := storeFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		opened, err := openExisting(c.Context(), url())
		if err != nil {
			return err
		}
		defer opened.Close() // read only: nothing is lost
		checker, can := store.As[store.Checker](opened)
		if !can {
			return errors.New("check is for an embedded store: of a database, whose server verifies its own pages, there is nothing more to look at")
		}
		r, err := checker.Check(c.Context())
		if err != nil {
			return err
		}
		out := c.OutOrStdout()
		for _, p := range r.Problems {
			fmt.Fprintln(out, p)
		}
		fmt.Fprintf(out, "%s tasks (%s pending, %s ended), %s attempts\n", grouped(r.Tasks), grouped(r.Pending), grouped(r.Ended), grouped(r.Attempts))
		if r.Wrong > 0 {
			return fmt.Errorf("%s: %s disagreements: keep a copy of the directory, and go back to a backup", shownStore(url()), grouped(r.Wrong))
		}
		_, err = fmt.Fprintln(out, "all agree")
		return err
	}
	return c
}

func migrateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Create a store, or bring it to this version's layout",
		Long: `Create a store, or bring it to this version's layout: the tables of a database, or a
directory. bellman serve does the same, unless it has --no-migrate. A database must
exist, and its user must have the right to create tables. A store of a newer version
is rejected and not changed.`,
		Args: flagsAlone,
	}
	url := storeFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := config.Default().Set("store", url()); err != nil {
			return wrong{err}
		}
		if err := server.MigrateStore(c.Context(), url(), warnings()); err != nil {
			return noStore(err)
		}
		_, err := fmt.Fprintf(c.OutOrStdout(), "%s is ready\n", shownStore(url()))
		return err
	}
	return c
}
