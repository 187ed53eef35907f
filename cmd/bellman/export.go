package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/api"
	"github.com/bellmanhq/bellman/internal/resend"
)

func exportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Write tasks with their attempts as NDJSON",
		Long: `Write every task with its request and all of its attempts, one JSON object a line,
the newest task first, as GET /v1/tasks/{id} answers it. The source is a running
server; or, with --store, a database, or a directory that no server has open. A task
that changes during the export is written as it is when it is read. Secret headers
are written as ***.`,
		Args: flagsAlone,
	}
	var r remote
	r.flags(c)
	var f filter
	f.flags(c.Flags())
	url := c.Flags().String("store", "", "a database, or a directory that no server has open, such as pebble:bellman-data")
	c.RunE = func(c *cobra.Command, _ []string) error {
		wanted, err := f.filter(time.Now())
		if err != nil {
			return err
		}
		out := bufio.NewWriterSize(c.OutOrStdout(), 64<<10)
		if *url != "" {
			err = exportStore(c.Context(), out, *url, wanted)
		} else {
			err = exportServer(c.Context(), out, &r, wanted)
		}
		if err != nil {
			return err
		}
		return out.Flush()
	}
	return c
}

// readers is the number of concurrent requests, page the number of tasks in memory.
const readers, page = 8, 200

// exportServer writes the tasks of a running server.
func exportServer(ctx context.Context, w io.Writer, r *remote, f client.Filter) error {
	server, err := r.client(0)
	if err != nil {
		return err
	}
	lines := newLines(w)
	for cursor := ""; ; {
		tasks, err := server.List(ctx, f, page, cursor)
		if err != nil {
			return err
		}
		details := make([]*client.TaskDetail, len(tasks.Tasks))
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(readers)
		for i, task := range tasks.Tasks {
			g.Go(func() (err error) {
				details[i], err = wholeTask(ctx, server, client.ByID(task.ID))
				if client.StatusOf(err) == 404 {
					return nil // deleted meanwhile at the end of its retention
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for _, d := range details {
			if d == nil || d.ID == "" {
				continue
			}
			if err := lines.Encode(d); err != nil {
				return err
			}
		}
		if cursor = tasks.NextCursor; cursor == "" {
			return nil
		}
	}
}

// newLines returns an encoder of lines of JSON, or of values with indentation. A terminal
// interprets no character of them.
func newLines(w io.Writer) *json.Encoder {
	e := json.NewEncoder(seenJSON{w})
	e.SetEscapeHTML(false)
	return e
}

// exportStore writes the tasks of a store that no server has open.
func exportStore(ctx context.Context, w io.Writer, url string, f client.Filter) error {
	chosen, err := storeFilter(f)
	if err != nil {
		return err
	}
	store, err := openExisting(ctx, url)
	if err != nil {
		return err
	}
	defer store.Close() // read only: nothing is lost
	lines := newLines(w)
	for before := (bellman.ID{}); ; {
		tasks, next, err := store.List(ctx, chosen.Filter, before, page)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if !chosen.Takes(t) {
				continue
			}
			var log []bellman.Attempt
			for after := 0; ; {
				some, err := store.Attempts(ctx, t.ID, after, page)
				if err != nil {
					return err
				}
				if log = append(log, some...); len(some) < page {
					break
				}
				after = some[len(some)-1].Number
			}
			if err := lines.Encode(api.Offline(t, log)); err != nil {
				return err
			}
		}
		if before = next; before == (bellman.ID{}) {
			return nil
		}
	}
}

// storeFilter returns f in the form that a store takes.
func storeFilter(f client.Filter) (out resend.Pick, err error) {
	if out, _, err = api.PickOf(&f); err != nil {
		return out, wrong{err}
	}
	if f.Kind != "" {
		if err := new(bellman.Kind).UnmarshalText([]byte(f.Kind)); err != nil {
			return out, wrong{err}
		}
	}
	if f.Status != 0 && (f.Status < 100 || f.Status > 599) {
		return out, wrong{fmt.Errorf("--status %d: want an HTTP status from 100 to 599", f.Status)}
	}
	if out.Backwards() {
		return out, wrong{errors.New("--created-from is not before --created-to")}
	}
	return out, nil
}
