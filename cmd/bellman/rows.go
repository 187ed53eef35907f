package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/bellmanhq/bellman/client"
)

// rows writes a table with aligned columns.
type rows struct{ out *tabwriter.Writer }

func newRows(w io.Writer, heads ...string) *rows {
	t := &rows{tabwriter.NewWriter(unmarked{w}, 0, 0, 2, ' ', 0)}
	if len(heads) > 0 {
		t.heads(heads...)
	}
	return t
}

func (t *rows) heads(heads ...string) { fmt.Fprintln(t.out, strings.Join(heads, "\t")) }

// row writes one row. An empty cell is shown as a dash. Characters that would break the table or
// control the terminal are escaped.
func (t *rows) row(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(t.out, "\t")
		}
		fmt.Fprint(t.out, marked(shown(fmt.Sprint(cell))))
	}
	fmt.Fprintln(t.out)
}

// end writes the rest, and returns an error if something could not be written.
func (t *rows) end() error { return t.out.Flush() }

// mark follows each character that takes two columns of a terminal, such as a Chinese one: a
// tabwriter counts characters. No cell has it, because shown escapes it.
const mark = "\x00"

// marked returns a text with its marks.
func marked(s string) string {
	if !strings.ContainsFunc(s, wide) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
		if wide(r) {
			b.WriteString(mark)
		}
	}
	return b.String()
}

// wide reports whether a terminal shows a character in two columns.
func wide(r rune) bool {
	if r < 0x1100 { // the first one
		return false
	}
	kind := width.LookupRune(r).Kind()
	return kind == width.EastAsianWide || kind == width.EastAsianFullwidth
}

// An unmarked writes the output of a tabwriter without the marks.
type unmarked struct{ to io.Writer }

func (w unmarked) Write(text []byte) (int, error) {
	if _, err := w.to.Write(bytes.ReplaceAll(text, []byte(mark), nil)); err != nil {
		return 0, err
	}
	return len(text), nil
}

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

// say writes a line beside the table. What a file, a merchant or a server wrote in it cannot
// control the terminal.
func say(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, shown(fmt.Sprintf(format, args...)))
}

// unseen reports whether a terminal would interpret a character instead of showing it.
func unseen(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// A seenJSON writes whole values of JSON. Characters that control a terminal are escaped in a way
// that programs read as the same characters.
type seenJSON struct{ to io.Writer }

func (w seenJSON) Write(value []byte) (int, error) {
	var b []byte
	done := 0
	for i, r := range string(value) {
		if r != '\n' && unseen(r) { // in a string: nothing else has such characters
			b = fmt.Appendf(append(b, value[done:i]...), `\u%04x`, r)
			done = i + utf8.RuneLen(r)
		}
	}
	if _, err := w.to.Write(append(b, value[done:]...)); err != nil {
		return 0, err
	}
	return len(value), nil
}

// cut returns the beginning of a text that may be long.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// when formats a time that may be missing.
func when(t *client.Time) string {
	if t == nil {
		return ""
	}
	return t.String()
}

// fields writes names and values, one pair a row. Empty values are left out.
func (t *rows) fields(pairs ...[2]string) {
	for _, p := range pairs {
		if p[1] != "" {
			t.row(p[0], p[1])
		}
	}
}

func (t *rows) taskHeads() {
	t.heads("ID", "QUEUE", "KEY", "MERCHANT", "ORDER", "STATE", "REASON", "ATTEMPTS", "LAST", "DUE")
}

func (t *rows) oneTask(k *client.Task) { t.taskHeads(); t.task(k) }

// decided writes how an order is after a result from outside. The state of its task may say what
// was before: a task that ended UNKNOWN stays failed. Any other task is written as a task.
func (t *rows) decided(k *client.Task) {
	if k.OrderState == "" {
		t.oneTask(k)
		return
	}
	t.heads("MERCHANT", "ORDER", "STATE", "LATE PAYMENT", "TASK")
	t.row(k.MerchantNo, k.OrderNo, k.OrderState, k.LatePayment, k.ID)
}

func (t *rows) task(k *client.Task) {
	t.row(k.ID, k.Queue, k.Key, k.MerchantNo, k.OrderNo, k.State, k.Reason, attemptsOf(k), last(k.Last), when(k.Due))
}

// attemptsOf returns the number of attempts. If all of them are of the schedule (none was manual or
// lost, and the schedule began once), it adds how many the schedule has.
func attemptsOf(k *client.Task) string {
	byHand := k.Last != nil && (k.Last.Trigger == "manual" || k.Last.Trigger == "settle")
	inStep := k.Attempts == k.Step || k.State != "pending" && k.Attempts == k.Step+1 && !byHand // the attempt that ended the task
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
