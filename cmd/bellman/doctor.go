package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
	"github.com/bellmanhq/bellman/store"
)

// A diagnosis is the JSON that doctor prints.
type diagnosis struct {
	Store    string          `json:"store"`
	Findings []store.Finding `json:"findings"`
	Error    string          `json:"error,omitempty"` // why the store could not be examined, or not completely
	TookMs   int64           `json:"took_ms"`
}

func doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find what hurts a store: settings, sessions, clocks, rights, disks",
		Long: `Examine a store, whether a server has it open or not, and print what loses data or
makes bellman slow or fail, each with what to do about it: settings of the database
that lose data; who holds the oldest transaction, prepared transaction, replication slot
or lock; missing rights; clocks; tables with dead rows; connections; of an embedded
store the disk. It takes ten seconds at most and changes nothing.

Exit status: 0 if there are warnings at most, 1 if there is an error among the findings
or the store cannot be examined.`,
		Args: flagsAlone,
	}
	url := storeFlag(c)
	asJSON := c.Flags().Bool("json", false, "the findings as JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := config.Default().Set("store", url()); err != nil {
			return wrong{err}
		}
		began := time.Now()
		found, err := server.ExamineStore(c.Context(), url())
		err = noStore(err)
		if errors.As(err, &wrong{}) {
			return err
		}
		slices.SortStableFunc(found, func(a, b store.Finding) int { return strings.Compare(string(a.Level), string(b.Level)) })
		d := diagnosis{Store: shownStore(url()), Findings: found, TookMs: time.Since(began).Milliseconds()}
		if d.Findings == nil {
			d.Findings = []store.Finding{}
		}
		if err != nil {
			d.Error = err.Error()
		}
		if *asJSON {
			if failed := newLines(c.OutOrStdout()).Encode(d); failed != nil {
				return failed
			}
		} else if failed := d.print(c); failed != nil {
			return failed
		}
		if err != nil {
			return err
		}
		if n := d.count(store.Error); n > 0 {
			return fmt.Errorf("%s: errors found: %d", d.Store, n)
		}
		return nil
	}
	return c
}

func (d *diagnosis) count(l store.Level) (n int) {
	for _, f := range d.Findings {
		if f.Level == l {
			n++
		}
	}
	return n
}

func (d *diagnosis) print(c *cobra.Command) error {
	for _, f := range d.Findings {
		if _, err := fmt.Fprintf(c.OutOrStdout(), "%s %s: %s\n  do: %s\n", f.Level, f.Name, f.What, f.Do); err != nil {
			return err
		}
	}
	if d.Error != "" {
		return nil // the error is printed, and says why no more was found
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "%s examined in %d ms: %d errors, %d warnings\n", d.Store, d.TookMs, d.count(store.Error), d.count(store.Warning))
	return err
}
