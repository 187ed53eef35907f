package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/nearest"
)

// patience is the longest time of one call that transfers no file.
const patience = time.Minute

// longestCall bounds each call of a command that makes many of them.
const longestCall = 2 * patience

// A remote is the server that a command's flags name.
type remote struct{ server, key string }

func (r *remote) flags(c *cobra.Command) {
	c.Flags().StringVar(&r.server, "server", "", "address of the server (BELLMAN_SERVER; default http://127.0.0.1:2355)")
	c.Flags().StringVar(&r.key, "key", "", "key of the API (better in BELLMAN_KEY, where ps does not show it)")
}

func (r *remote) address() string {
	at := cmp.Or(r.server, os.Getenv("BELLMAN_SERVER"), "http://127.0.0.1:2355")
	if _, _, err := net.SplitHostPort(at); err == nil && !strings.Contains(at, "://") {
		at = "http://" + at
	}
	return at
}

// client returns a client of the server. within bounds each of its calls; 0: it does not.
func (r *remote) client(within time.Duration) (*client.Client, error) {
	o := client.Options{Server: r.address(), Key: cmp.Or(r.key, os.Getenv("BELLMAN_KEY"))}
	if within > 0 {
		o.HTTP = &http.Client{Timeout: within}
	}
	c, err := client.New(o)
	if err != nil {
		return nil, wrong{err}
	}
	return c, nil
}

// A call is a command's connection to the server, and where its output goes.
type call struct {
	*client.Client
	out  io.Writer
	err  io.Writer
	json bool   // print JSON; else tables
	csv  bool   // print CSV, of a command that has it
	at   string // address of the server
}

// remoteCommand makes a command that calls a server.
func remoteCommand(c *cobra.Command, run func(ctx context.Context, to *call, args []string) error) *cobra.Command {
	return remoteWithin(c, func() time.Duration { return patience }, run)
}

// remoteWithin is remoteCommand with another limit of time, which is read after the flags are
// parsed. With 0 the command may take as long as its calls take, and each call is bounded.
func remoteWithin(c *cobra.Command, limit func() time.Duration, run func(ctx context.Context, to *call, args []string) error) *cobra.Command {
	return remoteAs(c, limit, []string{"table", "json"}, run)
}

// remoteAs is remoteWithin with other values of --output; the first one is the default.
func remoteAs(c *cobra.Command, limit func() time.Duration, outputs []string, run func(ctx context.Context, to *call, args []string) error) *cobra.Command {
	var r remote
	r.flags(c)
	output := c.Flags().StringP("output", "o", outputs[0], nearest.Either(outputs))
	c.RunE = func(c *cobra.Command, args []string) error {
		if !slices.Contains(outputs, *output) {
			return wrong{fmt.Errorf("--output %q: want %s", *output, nearest.Either(outputs))}
		}
		most, each := limit(), time.Duration(0)
		if most == 0 {
			each = longestCall
		}
		server, err := r.client(each)
		if err != nil {
			return err
		}
		ctx := c.Context()
		if most > 0 {
			within, cancel := context.WithTimeout(ctx, most)
			defer cancel()
			ctx = within
		}
		return run(ctx, &call{Client: server, out: c.OutOrStdout(), err: c.ErrOrStderr(), json: *output == "json", csv: *output == "csv", at: r.address()}, args)
	}
	return c
}

// taskArgs are the arguments of a command for one task.
const taskArgs = "ID | QUEUE KEY"

var oneTask = arguments(1, 2, "a task's id, or its queue and key")

// ref returns the task that taskArgs name.
func ref(args []string) client.Ref {
	if len(args) == 1 {
		return client.ByID(args[0])
	}
	return client.ByKey(args[0], args[1])
}

// warnSilent prints which nodes are missing from figures, if any are.
func (to *call) warnSilent(w client.Whole) {
	if len(w.Silent) > 0 {
		say(to.err, "bellman: without what waits and goes on at %s, which did not answer: look at bellman nodes", strings.Join(w.Silent, ", "))
	}
}

// warnClosed prints why new tasks are rejected; nothing if they are accepted.
func (to *call) warnClosed(i client.Intake) {
	const what = "bellman: this node takes nothing in, and answers creates with 429: "
	switch {
	case i.Open:
	case i.HeapHigh > 0 && (i.Heap > i.HeapHigh || i.Waiting < i.Low):
		fmt.Fprintf(to.err, what+"%d MiB in the heap, and flow.heap is %d; it goes on below %d\n", i.Heap>>20, i.HeapHigh>>20, i.HeapHigh/8*7>>20)
	default:
		fmt.Fprintf(to.err, what+"at least %d tasks wait, and flow.high is %d; it goes on below %d\n", i.Waiting, i.High, i.Low)
	}
}

// print writes v as JSON, or as its table.
func (to *call) print(v any, table func(*rows)) error {
	if to.json {
		e := newLines(to.out)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
	t := newRows(to.out)
	table(t)
	return t.end()
}

// printEach prints entries as they come: a line of JSON each, or a table. It stops after limit of
// them; 0: at their end. It returns how many there were.
func printEach[T any](to *call, all iter.Seq2[T, error], limit int, heads func(*rows), row func(*rows, *T)) (n int, err error) {
	if limit < 0 {
		return 0, wrong{fmt.Errorf("--limit %d: want 0 or more", limit)}
	}
	t, lines := newRows(to.out), newLines(to.out)
	if !to.json {
		heads(t)
	}
	for one, err := range all {
		if err != nil {
			return n, errors.Join(err, t.end())
		}
		if !to.json {
			row(t, &one)
		} else if err := lines.Encode(one); err != nil {
			return n, err
		}
		if n++; n == limit {
			break
		}
	}
	return n, t.end()
}

// show prints the result v of a call, unless the call returned an error.
func show[T any](to *call, v T, err error, table func(*rows, T)) error {
	if err != nil {
		return err
	}
	return to.print(v, func(t *rows) { table(t, v) })
}
