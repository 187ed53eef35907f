package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
)

// How a file of merchants is read: so many at once, and lines of so many bytes.
const (
	merchantsAtOnce = 500
	maxMerchantLine = 1 << 20
)

func merchantImportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Register or change the merchants of a file, one JSON a line",
		Long: `Register or change the merchants of a file (- is standard input), one JSON a
line, as export writes them. Wrong lines are told with their numbers, and do not
stop the others. The same file again changes nothing.`,
		Args: arguments(1, 1, "a FILE, or - for standard input"),
	}
	dry := c.Flags().Bool("dry-run", false, "only say what it would do")
	reason := c.Flags().String("reason", "", "why, for the audit record")
	return remoteWithin(c, func() time.Duration { return 0 }, func(ctx context.Context, to *call, args []string) error {
		in := io.Reader(c.InOrStdin())
		if args[0] != "-" {
			f, err := os.Open(args[0])
			if err != nil {
				return wrong{err}
			}
			defer f.Close()
			in = f
		}
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

// A merchantImport goes through a file of merchants.
type merchantImport struct {
	to     *call
	dry    bool
	reason string

	batch []client.PutMerchant
	lines []int // of batch
	done  struct {
		Lines     int  `json:"lines"`
		Created   int  `json:"created"`
		Changed   int  `json:"changed"`
		Unchanged int  `json:"unchanged"`
		Wrong     int  `json:"wrong"`
		DryRun    bool `json:"dry_run"`
	}
}

func (i *merchantImport) read(ctx context.Context, in io.Reader) error {
	i.done.DryRun = i.dry
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 64<<10), maxMerchantLine)
	line, have := 0, map[string]bool{}
	for s.Scan() {
		line++
		text := bytes.TrimSpace(s.Bytes())
		if len(text) == 0 {
			continue
		}
		i.done.Lines++
		var m client.PutMerchant
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err := d.Decode(&m)
		if err == nil && d.More() {
			err = errors.New("has text behind its JSON: want one merchant a line")
		}
		if err == nil && m.MerchantNo == "" {
			err = errors.New("merchant_no: is required")
		}
		if err != nil {
			i.wrong(line, err.Error())
			continue
		}
		if have[m.MerchantNo] || len(i.batch) == merchantsAtOnce { // a later line about the same merchant comes later
			if err := i.put(ctx); err != nil {
				return err
			}
			clear(have)
		}
		have[m.MerchantNo] = true
		i.batch, i.lines = append(i.batch, m), append(i.lines, line)
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("line %d: %w", line+1, err)
	}
	return i.put(ctx)
}

func (i *merchantImport) wrong(line int, problem string) {
	i.done.Wrong++
	fmt.Fprintf(i.to.err, "line %d: %s\n", line, problem)
}

// put sends what was gathered.
func (i *merchantImport) put(ctx context.Context) error {
	if len(i.batch) == 0 {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	results, err := i.to.PutMerchants(within, client.MerchantBatch{Merchants: i.batch, DryRun: i.dry, Reason: i.reason})
	if err != nil {
		return fmt.Errorf("lines %d to %d: %w", i.lines[0], i.lines[len(i.lines)-1], err)
	}
	for k, r := range results {
		switch {
		case r.Error != nil:
			problem := r.Error.Detail
			for _, f := range r.Error.Errors {
				_, field, _ := bytes.Cut([]byte(f.Location), []byte("]."))
				problem += fmt.Sprintf("; %s: %s", field, f.Message)
			}
			i.wrong(i.lines[k], problem)
		case r.Status == 201:
			i.done.Created++
		case r.Status == 200:
			i.done.Changed++
		default:
			i.done.Unchanged++
		}
	}
	i.batch, i.lines = i.batch[:0], i.lines[:0]
	return nil
}

func merchantExportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Write all merchants, one JSON a line, as import reads them",
		Long: `Write all merchants to standard output, one JSON a line, as import reads them.
Secrets are left out: an import leaves those that are there. With --secrets they
are written sealed, and only a server with the same master key can open them.`,
		Args: flagsAlone,
	}
	secrets := c.Flags().Bool("secrets", false, "with their secrets, sealed; takes the role admin")
	var s client.MerchantSearch
	c.Flags().StringVar(&s.MerchantNo, "merchant-no", "", "only those whose number begins so")
	return remoteWithin(c, func() time.Duration { return 0 }, func(ctx context.Context, to *call, _ []string) error {
		s.Limit, s.Sealed = 200, *secrets
		w := bufio.NewWriter(to.out)
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		for {
			within, cancel := context.WithTimeout(ctx, patience)
			page, err := to.Merchants(within, s)
			cancel()
			if err != nil {
				return err
			}
			for i := range page.Merchants {
				if err := e.Encode(asPut(&page.Merchants[i], *secrets)); err != nil {
					return err
				}
			}
			if s.Cursor = page.NextCursor; s.Cursor == "" {
				return w.Flush()
			}
		}
	})
}

// asPut is what makes a merchant what it is; secrets: with its secrets, as they are
// shown.
func asPut(m *client.Merchant, secrets bool) client.PutMerchant {
	in := client.PutMerchant{
		MerchantNo: m.MerchantNo, Name: m.Name, NotifyURL: m.NotifyURL,
		Schedule: m.Schedule, Success: m.Success, Timeout: m.Timeout,
	}
	if m.PerEndpoint != (client.MerchantLimits{}) {
		limits := m.PerEndpoint
		in.PerEndpoint = &limits
	}
	if m.Sign != nil {
		in.Sign = &client.MerchantSign{Scheme: m.Sign.Scheme, Serial: m.Sign.Serial}
		if secrets {
			in.Sign.Secrets = m.Sign.Secrets
		}
	}
	return in
}
