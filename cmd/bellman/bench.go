package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/bench"
)

func benchCommand() *cobra.Command {
	var about strings.Builder
	for _, s := range bench.Scenarios() {
		fmt.Fprintf(&about, "  %-17s %s\n", s.Name, s.About)
	}
	c := &cobra.Command{
		Use:   "bench [SCENARIO...]",
		Short: "Measure this machine and the embedded store",
		Long: `Measure this machine and the embedded store, with servers, a receiver and a
payment channel of its own on loopback, and check meanwhile that nothing is lost,
sent twice or early.
All scenarios but memory-10m, or those that are named:

` + about.String() + `
The whole takes about ten minutes and 2 GiB of disk. The exit status is 1 if a
promise was not kept.`,
	}
	var o bench.Options
	c.Flags().BoolVar(&o.Quick, "quick", false, "small sizes: about two minutes, figures a rough idea")
	c.Flags().StringVar(&o.Dir, "dir", "", "where the stores are, and so which disk is measured (default: for temporary files)")
	c.Flags().StringVar(&o.Profile, "profile", "", "write CPU profiles of the servers to files that begin with this name")
	asJSON := c.Flags().Bool("json", false, "the report as JSON; progress and table on standard error")
	c.RunE = func(c *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := knownScenarios(args); err != nil {
			return wrong{err}
		}
		o.Scenarios = args
		progress := c.OutOrStdout()
		if *asJSON {
			progress = c.ErrOrStderr()
		}
		report, err := bench.Run(ctx, o, progress)
		if err != nil {
			return err
		}
		if *asJSON {
			e := json.NewEncoder(c.OutOrStdout())
			e.SetIndent("", "  ")
			if err := e.Encode(report); err != nil {
				return err
			}
		}
		if n := len(report.Failures); n > 0 {
			return fmt.Errorf("%d promises were not kept: see the report", n)
		}
		return nil
	}
	return c
}

func knownScenarios(names []string) error {
	known := map[string]bool{}
	for _, s := range bench.Scenarios() {
		known[s.Name] = true
	}
	for _, name := range names {
		if !known[name] {
			return fmt.Errorf("there is no scenario %q: see bellman bench --help", name)
		}
	}
	return nil
}
