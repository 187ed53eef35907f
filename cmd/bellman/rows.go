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
	case strings.ContainsFunc(s, unseen):
		quoted := strconv.Quote(s)
		return quoted[1 : len(quoted)-1]
	default:
		return s
	}
}

// unseen reports whether a terminal would obey a character instead of showing it.
func unseen(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

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

func (t *rows) oneTask(k *client.Task) { t.taskHeads(); t.task(k) }

func (t *rows) task(k *client.Task) {
	t.row(k.ID, k.Queue, k.Key, k.MerchantNo, k.OrderNo, k.State, k.Reason, attemptsOf(k), last(k.Last), when(k.Due))
}

// attemptsOf is how many attempts were made, and of how many if they are those of the schedule alone:
// none was made by hand or lost, and the schedule began once.
func attemptsOf(k *client.Task) string {
	byHand := k.Last != nil && (k.Last.Trigger == "manual" || k.Last.Trigger == "settle")
	inStep := k.Attempts == k.Step || k.State != "pending" && k.Attempts == k.Step+1 && !byHand // the one that ended it
	if k.MaxAttempts == nil || !inStep || k.Attempts > *k.MaxAttempts {
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
