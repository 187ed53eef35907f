package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/config"
	"github.com/bellmanhq/bellman/pebble"
	"github.com/bellmanhq/bellman/server"
)

// storeFlag declares --store and returns what it says, else the environment,
// else the default.
func storeFlag(c *cobra.Command) (url func() string) {
	given := c.Flags().String("store", "", "the store (BELLMAN_STORE; default pebble:bellman-data)")
	return func() string { return cmp.Or(*given, os.Getenv("BELLMAN_STORE"), config.Default().Store) }
}

// openStore opens a store, and creates it where there is none.
func openStore(url string) (*pebble.Store, error) {
	if err := config.Default().Set("store", url); err != nil {
		return nil, wrong{err}
	}
	return server.OpenStore(url, warnings())
}

// openExisting opens a store, and creates none.
func openExisting(url string) (*pebble.Store, error) {
	dir, ok := strings.CutPrefix(url, "pebble:")
	if !ok || dir == "" {
		return openStore(url) // says what is wrong with it
	}
	store, err := pebble.Open(dir, pebble.Options{MustExist: true, Logger: warnings()})
	if errors.Is(err, pebble.ErrNoStore) {
		return nil, noStore(dir)
	}
	return store, err
}

// exists returns an error if there is no store at a URL.
func exists(url string) error {
	dir, ok := strings.CutPrefix(url, "pebble:")
	if !ok || dir == "" {
		return nil // opening says what is wrong with it
	}
	there, err := pebble.Exists(dir)
	if err == nil && !there {
		err = noStore(dir)
	}
	return err
}

func noStore(dir string) error {
	return fmt.Errorf("there is no store in %s: name another directory with --store pebble:DIR, or create one with bellman migrate", dir)
}

// warnings is a log of what an operator at a terminal should hear of.
func warnings() *slog.Logger {
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func checkCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "check",
		Short: "Verify an embedded store that no server has open",
		Long: `Read a whole embedded store and verify that its rows, indexes and counters agree.
What does not is printed, and the exit status is 1. No server may have it open; a
running one's store is verified by way of bellman backup.`,
		Args: flagsAlone,
	}
	url := storeFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		store, err := openExisting(url())
		if err != nil {
			return err
		}
		defer store.Close() // nothing was written
		r, err := store.Check(c.Context())
		if err != nil {
			return err
		}
		out := c.OutOrStdout()
		for _, p := range r.Problems {
			fmt.Fprintln(out, p)
		}
		fmt.Fprintf(out, "%s tasks (%s pending, %s ended), %s attempts\n", grouped(r.Tasks), grouped(r.Pending), grouped(r.Ended), grouped(r.Attempts))
		if r.Wrong > 0 {
			return fmt.Errorf("%s: %s disagreements: keep a copy of the directory, and go back to a backup", url(), grouped(r.Wrong))
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
		Long: `Create a store, or bring it to this version's layout. bellman serve does so too.
A store that a newer version has written is refused, and left as it is.`,
		Args: flagsAlone,
	}
	url := storeFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		store, err := openStore(url())
		if err != nil {
			return err
		}
		if err := store.Close(); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s is ready\n", url())
		return err
	}
	return c
}
