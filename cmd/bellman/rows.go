package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/bellmanhq/bellman/client"
)

// rows writes a table, column under column.
type rows struct{ out *tabwriter.Writer }

func newRows(w io.Writer, heads ...string) *rows {
	t := &rows{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	if len(heads) > 0 {
		t.heads(heads...)
	}
	return t
}

func (t *rows) heads(heads ...string) { fmt.Fprintln(t.out, strings.Join(heads, "\t")) }

// row writes one row. An empty cell is shown as a dash, and what would break the
// table, or the terminal, is shown escaped.
func (t *rows) row(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(t.out, "\t")
		}
		fmt.Fprint(t.out, shown(fmt.Sprint(cell)))
	}
	fmt.Fprintln(t.out)
}

// end writes what is not yet written, and says whether all of it was.
func (t *rows) end() error { return t.out.Flush() }

func shown(s string) string {
	switch {
	case s == "":
		return "-"
	case strings.ContainsFunc(s, unicode.IsControl):
		quoted := strconv.Quote(s)
		return quoted[1 : len(quoted)-1]
	default:
		return s
	}
}

// cut is the beginning of a text that may be long.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// when is a time that may be missing.
func when(t *client.Time) string {
	if t == nil {
		return ""
	}
	return t.String()
}

func (t *rows) taskHeads() {
	t.heads("ID", "QUEUE", "KEY", "MERCHANT", "ORDER", "STATE", "REASON", "ATTEMPTS", "LAST", "DUE")
}

func (t *rows) task(k *client.Task) {
	t.row(k.ID, k.Queue, k.Key, k.MerchantNo, k.OrderNo, k.State, k.Reason, attemptsOf(k), last(k.Last), when(k.Due))
}

func attemptsOf(k *client.Task) string {
	if k.MaxAttempts == nil {
		return fmt.Sprint(k.Attempts)
	}
	return fmt.Sprintf("%d/%d", k.Attempts, *k.MaxAttempts)
}

func last(a *client.LastAttempt) string {
	switch {
	case a == nil:
		return ""
	case a.Status == 0:
		return a.Result
	default:
		return fmt.Sprintf("%s %d", a.Result, a.Status)
	}
}
