package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/internal/bench"
	"github.com/bellmanhq/bellman/schedule"
)

func benchCommand() *cobra.Command {
	var about strings.Builder
	for _, s := range bench.Scenarios() {
		mark := " "
		if s.NeedsDatabase() {
			mark = "*"
		}
		fmt.Fprintf(&about, " %s%-17s %s\n", mark, s.Name, s.About)
	}
	c := &cobra.Command{
		Use:   "bench [SCENARIO...]",
		Short: "Measure this machine and a store",
		Long: `Measure this machine and the embedded store, or a database with --store. The command
starts its own servers, receiver and payment channel on loopback. Meanwhile it checks
that nothing is lost, sent twice or early.
Without arguments it runs all scenarios except memory-10m, soak, idle-transaction,
waiting-5m and ended-30m. Scenarios marked * need --store:

` + about.String() + `
The whole takes about a quarter of an hour and 2 GiB of disk; waiting-5m takes 10 GiB,
ended-30m 50 GiB, idle-transaction 40 minutes, and soak two hours unless --for says
otherwise. On a database server the bench creates databases named bellman_bench_...,
and drops them at the end: the user needs the right to create databases. The database
of the URL stays unchanged. In Redis the bench uses keys that begin so, soak measures
memory instead of disk, and there are no idle-transaction, waiting-5m and ended-30m.
The exit status is 1 if a promise was not kept.`,
	}
	var o bench.Options
	var length string
	c.Flags().StringVar(&o.Store, "store", "", "measure a database server: databases are made in it and dropped, as postgres://USER:PASSWORD@HOST/DATABASE mysql://… or redis://HOST:6379 (default: the embedded store)")
	c.Flags().BoolVar(&o.Quick, "quick", false, "small sizes: about two minutes, figures a rough idea")
	c.Flags().StringVar(&o.Dir, "dir", "", "directory of the stores, whose disk is measured (default: for temporary files)")
	c.Flags().StringVar(&length, "for", "", "how long soak offers its load, such as 10m (default: 2h)")
	c.Flags().IntVar(&o.Rate, "rate", 0, "tasks a second that soak offers (default: half of the capacity that it measures)")
	c.Flags().StringVar(&o.Profile, "profile", "", "write CPU profiles of the servers to files that begin with this name")
	asJSON := c.Flags().Bool("json", false, "the report as JSON; progress and table on standard error")
	asMarkdown := c.Flags().Bool("markdown", false, "the report as Markdown, with machine, date, commit and command; progress and table on standard error")
	c.MarkFlagsMutuallyExclusive("json", "markdown")
	c.RunE = func(c *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		o.Scenarios = args
		if err := o.Check(); err != nil {
			return wrong{err}
		}
		if err := soakFlags(c, args, length, &o); err != nil {
			return wrong{err}
		}
		progress := c.OutOrStdout()
		o.Command = benchLine(args, o)
		if *asJSON || *asMarkdown {
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
		if *asMarkdown {
			if err := report.WriteMarkdown(c.OutOrStdout()); err != nil {
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

// benchChildCommand is the hidden command that bench starts: a server under test, or the plain loop
// used as a baseline.
func benchChildCommand() *cobra.Command {
	return &cobra.Command{
		Use:    bench.ChildCommand,
		Hidden: true,
		Args:   flagsAlone,
		RunE:   func(*cobra.Command, []string) error { return bench.Child() },
	}
}

// benchLine returns the command line without passwords. Where stores and profiles are is left out.
func benchLine(scenarios []string, o bench.Options) string {
	line := []string{"bellman", "bench"}
	if o.Quick {
		line = append(line, "--quick")
	}
	if u, err := url.Parse(o.Store); err == nil && o.Store != "" {
		line = append(line, "--store", "'"+u.Redacted()+"'")
	}
	if o.For > 0 {
		line = append(line, "--for", schedule.FormatDuration(o.For))
	}
	if o.Rate > 0 {
		line = append(line, "--rate", strconv.Itoa(o.Rate))
	}
	return strings.Join(append(line, scenarios...), " ")
}

// soakFlags sets the options of the scenario soak, which has to be named.
func soakFlags(c *cobra.Command, scenarios []string, length string, o *bench.Options) (err error) {
	for _, name := range []string{"for", "rate"} {
		if c.Flags().Changed(name) && !slices.Contains(scenarios, "soak") {
			return fmt.Errorf("--%s is of the scenario soak alone: name it", name)
		}
	}
	if length != "" {
		if o.For, err = schedule.ParseDuration(length); err != nil {
			return fmt.Errorf("--for: %w", err)
		}
		if o.For < 3*time.Second {
			return fmt.Errorf("--for %s: want at least 3s", length)
		}
	}
	if o.Rate < 0 || o.Rate == 0 && c.Flags().Changed("rate") {
		return fmt.Errorf("--rate %d: want at least 1", o.Rate)
	}
	return nil
}
