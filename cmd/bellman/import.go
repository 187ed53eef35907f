package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/importer"
)

// importFrom are the systems and files that can be imported.
var importFrom = []string{"roncoo", "jeepay", "csv", "ndjson"}

func importCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "import " + strings.Join(importFrom, "|") + " --from DATABASE|FILE",
		Short: "Take over unfinished notifications of another system",
		Long: `Make tasks of the unfinished notifications of another system, each at its place in the
schedule: from roncoo-pay's rp_notify_record, jeepay's t_mch_notify_record, or a file
with one task a line. The other system is only read. Stop its notifications first, so
that no notification is sent by both.

The command can be repeated at any time, also after an interruption: a row is one task,
whose key is made of the row's id. A row that the other system has attempted since it
was taken over is reported as moved, and the exit status is 1.

The first line of a CSV file names its columns: the fields of POST /v1/tasks,
header.NAME, and attempts, last and began for earlier attempts. NDJSON has the bodies of
POST /v1/tasks, "resume" included. A line without a key gets one made of its content.`,
		Example: `  bellman import roncoo --from mysql://pay:secret@db:3306/pay --queue merchant-notify --zone Asia/Shanghai --dry-run
  bellman import csv --from unfinished.csv --queue merchant-notify`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 && slices.Contains(importFrom, args[0]) {
				return fmt.Errorf("import: want --from before %q: bellman import %s --from %s", args[1], args[0], args[1])
			}
			if len(args) != 1 || !slices.Contains(importFrom, args[0]) {
				return fmt.Errorf("import: want one of %s", strings.Join(importFrom, ", "))
			}
			return nil
		},
	}
	var r remote
	r.flags(c)
	var o importer.Options
	from := c.Flags().String("from", "", "the other system's database, mysql://USER:PASSWORD@HOST:3306/DATABASE, or a file; - is standard input")
	c.Flags().StringVar(&o.Queue, "queue", "default", "queue of the tasks")
	c.Flags().StringVar(&o.Table, "table", "", "other name of the table, or DATABASE.TABLE")
	c.Flags().StringVar(&o.Method, "method", "", "method of the requests, all values in the URL (default as the other system: GET for roncoo, a POST with a form for jeepay)")
	zone := c.Flags().String("zone", "Local", "time zone of the table: Asia/Shanghai")
	dry := c.Flags().Bool("dry-run", false, "show what would be done, row by row, and change nothing; asks the server, if there is one")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *from == "" {
			return wrong{errors.New("--from is missing: want mysql://USER:PASSWORD@HOST:3306/DATABASE, or a file")}
		}
		for _, name := range []string{"method", "table"} {
			if c.Flags().Changed(name) && args[0] != "roncoo" && args[0] != "jeepay" {
				return wrong{fmt.Errorf("--%s is for roncoo and jeepay: leave it out for %s", name, args[0])}
			}
		}
		var err error
		if o.Zone, err = time.LoadLocation(*zone); err != nil || *zone == "" { // which would be UTC
			return wrong{fmt.Errorf("--zone %q is no time zone: want a name such as Asia/Shanghai, or UTC", *zone)}
		}
		ctx := c.Context()
		if *from != "-" { // a read of standard input would not end with ctx
			var stop func()
			ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
		}
		o.Note = func(text string) { say(c.ErrOrStderr(), "bellman: %s", text) }
		source, err := importSource(ctx, args[0], *from, o)
		if err != nil {
			return err
		}
		defer source.Close()
		server, err := r.client(0)
		if err != nil {
			return err
		}
		if *dry {
			at, unchecked, err := r.trier(ctx, server)
			if err != nil {
				return err
			}
			return dryImport(ctx, c.OutOrStdout(), c.ErrOrStderr(), source, at, unchecked)
		}
		return runImport(ctx, c.OutOrStdout(), c.ErrOrStderr(), source, server)
	}
	return c
}

func importSource(ctx context.Context, kind, from string, o importer.Options) (importer.Source, error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch kind {
	case "roncoo":
		s, err := importer.Roncoo(within, from, o)
		return foreignSource{s}, importError(err)
	case "jeepay":
		s, err := importer.Jeepay(within, from, o)
		return foreignSource{s}, importError(err)
	}
	in, err := openInput(from)
	if err != nil {
		return nil, err
	}
	if kind == "ndjson" {
		return closing{importer.NDJSON(in, o.Queue), in}, nil
	}
	s, err := importer.CSV(in, o.Queue)
	if err != nil {
		return nil, errors.Join(wrong{fmt.Errorf("%s: %w", from, err)}, in.Close())
	}
	return closing{s, in}, nil
}

// importError marks an error of the address in --from as the user's mistake, and other errors as
// the other database's.
func importError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, importer.ErrAddress):
		return wrong{fmt.Errorf("--from: %w", err)}
	}
	return foreign{err}
}

// A foreignSource is a source in the database of another system.
type foreignSource struct{ importer.Source }

func (t foreignSource) Next(ctx context.Context, limit int) ([]importer.Row, error) {
	rows, err := t.Source.Next(ctx, limit)
	return rows, importError(err)
}

// closing closes a file together with the source that reads it.
type closing struct {
	importer.Source
	in io.Closer
}

func (c closing) Close() error { return errors.Join(c.Source.Close(), c.in.Close()) }

// runImport imports rows and reports progress.
func runImport(ctx context.Context, out, problems io.Writer, from importer.Source, to *client.Client) error {
	var counts importer.Counts
	progress := progressTo(problems)
	shown := time.Now()
	line := func() string {
		return fmt.Sprintf("%d rows: %d taken over, %d were already, %d have nothing left to do, %d moved, %d refused",
			counts.All(), counts[importer.Taken], counts[importer.There], counts[importer.Skipped], counts[importer.Moved], counts[importer.Wrong])
	}
	asked := &announced{Tasks: to, tell: func(why error) {
		progress.clear()
		say(problems, "bellman: the server takes no rows now, and is asked again for up to ten minutes: %s", strings.TrimPrefix(why.Error(), "bellman: "))
	}}
	_, err := importer.Run(ctx, from, asked, func(r importer.Report) {
		counts[r.Fate]++
		if r.Fate == importer.Wrong || r.Fate == importer.Moved {
			progress.clear()
			say(problems, "%s: %s", r.Row.Where, r.Why)
		}
		if time.Since(shown) >= progress.every(time.Second) {
			shown = time.Now()
			progress.show(line())
		}
	})
	progress.clear()
	fmt.Fprintln(out, line())
	if err != nil && ctx.Err() != nil {
		return errors.New("stopped; run it again, nothing is taken over twice")
	}
	if err != nil {
		return fmt.Errorf("%w; run it again, nothing is taken over twice", err)
	}
	return unfinished(counts)
}

// An announced tells why the server takes no rows now, at most once a minute. The import then waits
// and tries again.
type announced struct {
	importer.Tasks
	tell func(why error)
	told time.Time
}

func (a *announced) CreateBatch(ctx context.Context, tasks []client.CreateTask) ([]client.BatchResult, error) {
	results, err := a.Tasks.CreateBatch(ctx, tasks)
	if err != nil && importer.Passes(err) && time.Since(a.told) >= time.Minute {
		a.told = time.Now()
		a.tell(err)
	}
	return results, err
}

// unfinished returns an error if an import leaves rows that a person must deal with.
func unfinished(c importer.Counts) error {
	switch {
	case c[importer.Moved] > 0:
		return fmt.Errorf("the other system still attempts what was taken over: stop its notifications, for %d are sent by both", c[importer.Moved])
	case c[importer.Wrong] > 0:
		return fmt.Errorf("%d rows cannot be taken over, as listed above: correct them and run it again", c[importer.Wrong])
	}
	return nil
}
