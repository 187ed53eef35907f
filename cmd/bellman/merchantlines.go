package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/lines"
)

// merchantsAtOnce is the number of merchants in one request.
const merchantsAtOnce = 500

func merchantImportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Register or change the merchants of a file, one JSON object a line",
		Long: `Register or change the merchants of a file (- is standard input), one JSON object a
line, as export writes them. Invalid lines are reported with their numbers and do not
stop the others. Of two lines about one merchant the second is invalid. A repeated
import of the same file changes nothing.`,
		Args: arguments(1, 1, "a FILE, or - for standard input"),
	}
	dry := c.Flags().Bool("dry-run", false, "show what would be done, and change nothing")
	reason := c.Flags().String("reason", "", "why, for the audit record")
	return remoteWithin(c, func() time.Duration { return 0 }, func(ctx context.Context, to *call, args []string) error {
		in, err := openInput(args[0])
		if err != nil {
			return wrong{err}
		}
		defer in.Close()
		i := merchantImport{to: to, dry: *dry, reason: *reason}
		if err := i.read(ctx, in); err != nil {
			return err
		}
		if err := to.print(i.done, func(t *rows) {
			t.heads("LINES", "CREATED", "CHANGED", "UNCHANGED", "WRONG")
			t.row(i.done.Lines, i.done.Created, i.done.Changed, i.done.Unchanged, i.done.Wrong)
		}); err != nil {
			return err
		}
		if i.done.Wrong > 0 {
			return fmt.Errorf("%d lines are wrong: mend them, and import the file again", i.done.Wrong)
		}
		return nil
	})
}

// A merchantImport imports a file of merchants.
type merchantImport struct {
	to     *call
	dry    bool
	reason string

	batch   []client.PutMerchant
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

func (i *merchantImport) read(ctx context.Context, in io.Reader) error {
	i.done.DryRun, i.refused = i.dry, map[int]string{}
	for line, err := range lines.Read(in) {
		if err != nil {
			return errors.Join(err, i.put(ctx))
		}
		i.done.Lines++
		if line.Wrong == nil && line.Merchant.MerchantNo == "" {
			line.Wrong = errors.New("merchant_no: is required")
		}
		if line.Wrong != nil {
			i.refused[line.N] = line.Wrong.Error()
			continue
		}
		i.batch, i.lines = append(i.batch, line.Merchant), append(i.lines, line.N)
		if len(i.batch) == merchantsAtOnce {
			if err := i.put(ctx); err != nil {
				return err
			}
		}
	}
	return i.put(ctx)
}

// put sends the batch and prints which lines since the last batch were refused.
func (i *merchantImport) put(ctx context.Context) error {
	err := i.send(ctx)
	for _, line := range slices.Sorted(maps.Keys(i.refused)) {
		fmt.Fprintf(i.to.err, "line %d: %s\n", line, i.refused[line])
	}
	i.done.Wrong += len(i.refused)
	clear(i.refused)
	i.batch, i.lines = i.batch[:0], i.lines[:0]
	return err
}

// send sends a batch. If the server refuses the whole batch because of some lines, send repeats it without
// them.
func (i *merchantImport) send(ctx context.Context) error {
	for len(i.batch) > 0 {
		within, cancel := context.WithTimeout(ctx, patience)
		results, err := i.to.PutMerchants(within, client.MerchantBatch{Merchants: i.batch, DryRun: i.dry, Reason: i.reason})
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

// count counts the results of a batch.
func (i *merchantImport) count(results []client.MerchantResult) {
	for k, r := range results {
		switch {
		case r.Error != nil:
			problem := r.Error.Detail
			for _, f := range r.Error.Errors {
				_, what := faultOf(f)
				problem += "; " + what
			}
			i.refused[i.lines[k]] = problem
		case r.Status == 201:
			i.done.Created++
		case r.Status == 200:
			i.done.Changed++
		default:
			i.done.Unchanged++
		}
	}
}

// leaveOut removes the lines from the batch because of which it was refused. It returns false if it was
// refused for another reason.
func (i *merchantImport) leaveOut(err error) bool {
	var p *client.Problem
	if !errors.As(err, &p) {
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

// faultOf returns the position in the batch of the merchant that a fault is about, or -1, and which field
// is wrong and how.
func faultOf(f client.Fault) (at int, what string) {
	if _, err := fmt.Sscanf(f.Location, "body.merchants[%d]", &at); err != nil {
		return -1, f.Location + ": " + f.Message
	}
	if _, field, is := strings.Cut(f.Location, "]."); is {
		return at, field + ": " + f.Message
	}
	return at, f.Message
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
	return remoteWithin(c, func() time.Duration { return 0 }, func(ctx context.Context, to *call, _ []string) error {
		s.Limit, s.Sealed = 200, *secrets
		w := bufio.NewWriter(to.out)
		e := newLines(w)
		for {
			within, cancel := context.WithTimeout(ctx, patience)
			page, err := to.Merchants(within, s)
			cancel()
			if err != nil {
				return err
			}
			for i := range page.Merchants {
				line := page.Merchants[i].Wanted()
				if line.Sign != nil && !*secrets {
					line.Sign.Secrets = nil
				}
				if err := e.Encode(line); err != nil {
					return err
				}
			}
			if s.Cursor = page.NextCursor; s.Cursor == "" {
				return w.Flush()
			}
		}
	})
}
