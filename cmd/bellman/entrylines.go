package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/lines"
)

// noLimit is the timeout of a command that makes many requests.
func noLimit() time.Duration { return 0 }

// entriesAtOnce is the number of merchants or accounts in one request.
const entriesAtOnce = 500

func merchantImportCommand() *cobra.Command {
	return importLines(lines.Merchants, func(to *call, ctx context.Context, batch []client.PutMerchant, dry bool, reason string) ([]imported, error) {
		results, err := to.PutMerchants(ctx, client.MerchantBatch{Merchants: batch, DryRun: dry, Reason: reason})
		return each(results, func(r client.MerchantResult) imported { return imported{r.Status, r.Error} }), err
	})
}

// importLines returns the command that imports a file of merchants or accounts. put sends a batch.
func importLines[T any](kind lines.Kind[T], put func(to *call, ctx context.Context, batch []T, dry bool, reason string) ([]imported, error)) *cobra.Command {
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Register or change the " + kind.Noun + "s of a file, one JSON object a line",
		Long: `Register or change the ` + kind.Noun + `s of a file (- is standard input), one JSON object a
line, as export writes them. Invalid lines are reported with their numbers and do not
stop the others. Of two lines about one ` + kind.Noun + ` the second is invalid. A repeated
import of the same file changes nothing.`,
		Args: arguments(1, 1, "a FILE, or - for standard input"),
	}
	dry := c.Flags().Bool("dry-run", false, "show what would be done, and change nothing")
	reason := c.Flags().String("reason", "", "why, for the audit record")
	return remoteWithin(c, noLimit, func(ctx context.Context, to *call, args []string) error {
		in, err := openInput(args[0])
		if err != nil {
			return wrong{err}
		}
		defer in.Close()
		i := fileImport[T]{to: to, kind: kind, send: func(ctx context.Context, batch []T) ([]imported, error) {
			return put(to, ctx, batch, *dry, *reason)
		}}
		i.done.DryRun = *dry
		err = i.read(ctx, in)
		if err != nil && i.done.Lines == 0 {
			return err
		}
		if err := errors.Join(err, to.print(i.done, func(t *rows) {
			t.heads("LINES", "CREATED", "CHANGED", "UNCHANGED", "WRONG")
			t.row(i.done.Lines, i.done.Created, i.done.Changed, i.done.Unchanged, i.done.Wrong)
		})); err != nil {
			return err
		}
		if i.done.Wrong > 0 {
			return fmt.Errorf("%d lines are wrong: mend them, and import the file again", i.done.Wrong)
		}
		return nil
	})
}

// imported is the result of one line.
type imported struct {
	status int
	wrong  *client.Problem
}

// A fileImport imports a file of merchants or accounts.
type fileImport[T any] struct {
	to   *call
	kind lines.Kind[T]
	send func(ctx context.Context, batch []T) ([]imported, error)

	batch   []T
	lines   []int          // of batch
	refused map[int]string // refused lines since the last batch, with reasons
	done    struct {
		Lines     int  `json:"lines"`
		Created   int  `json:"created"`
		Changed   int  `json:"changed"`
		Unchanged int  `json:"unchanged"`
		Wrong     int  `json:"wrong"`
		DryRun    bool `json:"dry_run"`
	}
}

func (i *fileImport[T]) read(ctx context.Context, in io.Reader) error {
	i.refused = map[int]string{}
	for line, err := range i.kind.Read(in) {
		if err != nil {
			return errors.Join(err, i.put(ctx))
		}
		i.done.Lines++
		if line.Wrong == nil && line.ID == "" {
			line.Wrong = errors.New(i.kind.ID + ": is required")
		}
		if line.Wrong != nil {
			i.refused[line.N] = line.Wrong.Error()
			continue
		}
		i.batch, i.lines = append(i.batch, line.Entry), append(i.lines, line.N)
		if len(i.batch) == entriesAtOnce {
			if err := i.put(ctx); err != nil {
				return err
			}
		}
	}
	return i.put(ctx)
}

// put sends the batch and prints which lines since the last batch were refused.
func (i *fileImport[T]) put(ctx context.Context) error {
	err := i.sendAll(ctx)
	for _, line := range slices.Sorted(maps.Keys(i.refused)) {
		say(i.to.err, "line %d: %s", line, i.refused[line])
	}
	i.done.Wrong += len(i.refused)
	clear(i.refused)
	i.batch, i.lines = i.batch[:0], i.lines[:0]
	return err
}

// sendAll sends a batch. If the server refuses the whole batch because of some lines, it repeats it
// without them.
func (i *fileImport[T]) sendAll(ctx context.Context) error {
	for len(i.batch) > 0 {
		within, cancel := context.WithTimeout(ctx, patience)
		results, err := i.send(within, i.batch)
		cancel()
		if err == nil {
			i.count(results)
			return nil
		}
		if !i.leaveOut(err) {
			return fmt.Errorf("lines %d to %d: %w", i.lines[0], i.lines[len(i.lines)-1], err)
		}
	}
	return nil
}

func (i *fileImport[T]) count(results []imported) {
	for k, r := range results {
		switch {
		case r.wrong != nil:
			problem := r.wrong.Detail
			for _, f := range r.wrong.Errors {
				_, what := faultOf(f)
				problem += "; " + what
			}
			i.refused[i.lines[k]] = problem
		case r.status == 201:
			i.done.Created++
		case r.status == 200:
			i.done.Changed++
		default:
			i.done.Unchanged++
		}
	}
}

// leaveOut removes the lines that made the server refuse the batch. It returns false if the batch
// was refused for another reason.
func (i *fileImport[T]) leaveOut(err error) bool {
	p, is := errors.AsType[*client.Problem](err)
	if !is {
		return false
	}
	faults := map[int][]string{} // by position in the batch
	for _, f := range p.Errors {
		if at, what := faultOf(f); at >= 0 && at < len(i.batch) {
			faults[at] = append(faults[at], what)
		}
	}
	for _, at := range slices.Backward(slices.Sorted(maps.Keys(faults))) {
		i.refused[i.lines[at]] = strings.Join(faults[at], "; ")
		i.batch, i.lines = slices.Delete(i.batch, at, at+1), slices.Delete(i.lines, at, at+1)
	}
	return len(faults) > 0
}

// faultOf returns the position in the batch of the entry that a fault is about, or -1, and which
// field is wrong and how.
func faultOf(f client.Fault) (at int, what string) {
	_, place, _ := strings.Cut(f.Location, "[") // body.merchants[2].name
	if _, err := fmt.Sscanf(place, "%d]", &at); err != nil {
		return -1, f.Location + ": " + f.Message
	}
	if _, field, is := strings.Cut(f.Location, "]."); is {
		return at, field + ": " + f.Message
	}
	return at, f.Message
}

// exportLines writes entries to standard output, each as a line for an import.
func exportLines[T, L any](to *call, all iter.Seq2[T, error], line func(*T) L) error {
	w := bufio.NewWriter(to.out)
	e := newLines(w)
	for entry, err := range all {
		if err != nil {
			return err
		}
		if err := e.Encode(line(&entry)); err != nil {
			return err
		}
	}
	return w.Flush()
}

func merchantExportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Write all merchants for an import, one JSON object a line",
		Long: `Write all merchants to standard output, one JSON object a line, for an import.
Secrets are left out, and the import keeps existing ones. With --secrets they are
written sealed, and only a server with the same master key can open them.`,
		Args: flagsAlone,
	}
	secrets := c.Flags().Bool("secrets", false, "with sealed secrets; needs the role admin")
	var s client.MerchantSearch
	c.Flags().StringVar(&s.MerchantNo, "merchant-no", "", "beginning of the number")
	return remoteWithin(c, noLimit, func(ctx context.Context, to *call, _ []string) error {
		s.Limit, s.Sealed = 200, *secrets
		return exportLines(to, to.AllMerchants(ctx, s), func(m *client.Merchant) client.PutMerchant {
			line := m.Wanted()
			if line.Sign != nil && !*secrets {
				line.Sign.Secrets = nil
			}
			return line
		})
	})
}
