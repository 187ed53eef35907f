package console

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/cell"
	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/store"
)

const (
	maxExport  = 10_000          // rows of one export
	exportTime = time.Minute     // an export ends after this, however many rows it has
	exportStep = 5 * time.Second // longest time to write one part to a slow reader
)

// export streams the tasks of the search as CSV. A last row says if there are more, or if the time
// was over.
func (q *request) export() error {
	w := readTaskFilter(q.r.URL.Query())
	if err := w.wrong().Err(); err != nil {
		return err
	}
	if q.noQueue(w) {
		return fail(http.StatusNotFound, "error.no_queue", "queue", w.Queue)
	}
	if err := q.o.Record(q.r.Context(), store.AuditOf(q.by(""), time.Now(), "export", bounded("tasks?"+q.r.URL.RawQuery, 400))); err != nil {
		return err
	}
	out := q.sheet("tasks-" + time.Now().UTC().Format("20060102-150405"))
	out.Write([]string{"id", "queue", "kind", "key", "merchant_no", "order_no", "event", "url", "state", "reason", "order_state",
		"amount", "currency", "attempts", "last_result", "last_status", "last_error", "last_started_utc", "due_utc", "created_utc", "finished_utc"})
	began, n := time.Now(), 0
	var before bellman.ID
	for {
		ask := min(readRows, maxExport-n)
		tasks, next, err := q.o.Reader.List(q.r.Context(), w.Filter, before, max(ask, 1))
		if err != nil {
			q.o.Log.Warn("console: an export was interrupted", "err", err)
			out.Write([]string{"# " + q.visitor.lang.say("export.failed")})
			return nil
		}
		for _, r := range q.rows(tasks) {
			if n < maxExport && w.Takes(r.Task) {
				out.Write(exported(&r))
				n++
			}
		}
		before = next
		if next.IsZero() {
			return nil
		}
		if n >= maxExport || time.Since(began) > exportTime {
			out.Write([]string{"# " + q.visitor.lang.say("export.cut", "n", n, "until", next.Time().Format(time.RFC3339))})
			return nil
		}
		if !out.goesOn() {
			return nil
		}
	}
}

// noQueue reports whether the search names a queue that is neither configured nor has tasks.
func (q *request) noQueue(w *taskFilter) bool {
	if w.Queue == "" || q.o.Kinds == nil || q.o.Kinds(w.Queue) != "" {
		return false
	}
	tasks, next, err := q.o.Reader.List(q.r.Context(), store.Filter{Queue: w.Queue}, bellman.ID{}, 1)
	return err == nil && len(tasks) == 0 && next.IsZero()
}

func exported(r *row) []string {
	state := ""
	if r.Order != nil {
		state = r.Order.State
	}
	var result, status, wrong, started string
	if a := r.Last; a != nil {
		result, wrong, started = a.Result.String(), a.Error, exportedTime(a.Started)
		if a.Status != 0 {
			status = strconv.Itoa(a.Status)
		}
	}
	amount, currency := amountOf(r)
	return []string{r.ID.String(), r.Queue, r.Kind.String(), r.Key, r.MerchantNo, r.OrderNo, r.Event, maskURL(r.To),
		r.State.String(), r.Reason, state, amount, currency, strconv.Itoa(int(r.Attempts)), result, status, wrong, started,
		exportedTime(r.Due), exportedTime(r.Created()), exportedTime(r.Finished)}
}

// amountOf returns the amount of an order in whole units, as its page shows it: what it should
// cost, or else what was paid. Of a refund or transfer it is the requested one. Empty: it is not
// known.
func amountOf(r *row) (amount, currency string) {
	var n int64
	switch {
	case r.Order != nil:
		ask, _ := order.ParseAsk(r.Body) // the body was validated when the task was added
		if n, currency = ask.Amount, ask.Currency; n == 0 {
			paid := r.Order.Payment()
			n, currency = paid.Amount, paid.Currency
		}
	case r.Poll != nil:
		ask, _ := poll.ParseAsk(r.Body) // as above
		n, _ = money.Smallest(ask.Vars["amount"])
		currency = ask.Vars["currency"]
	}
	if n == 0 {
		return "", ""
	}
	return money.Whole(n, currency), currency
}

// exportedTime formats a time in an export; empty: zero.
func exportedTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// A sheet writes CSV with each cell in quotes, so that a spreadsheet keeps it as one cell whatever
// its separator is.
type sheet struct {
	w   http.ResponseWriter
	err error // the first error
}

// sheet begins an export under a name.
func (q *request) sheet(name string) *sheet {
	h := q.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="bellman-`+name+`.csv"`)
	q.w.Write([]byte("\ufeff")) // tells spreadsheets that the file is UTF-8
	return &sheet{w: q.w}
}

// goesOn sends what was written, within a time, and reports whether the reader still reads.
func (s *sheet) goesOn() bool {
	control := http.NewResponseController(s.w)
	control.SetWriteDeadline(time.Now().Add(exportStep)) // if deadlines are not supported, the end of the connection stops the export
	return s.err == nil && control.Flush() == nil
}

// Write writes a row. No cell is a formula, and no number loses digits.
func (s *sheet) Write(cells []string) {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		b.WriteString(strings.ReplaceAll(cell.AllDigits(cell.NoFormula(c)), `"`, `""`))
		b.WriteByte('"')
	}
	b.WriteByte('\n')
	if s.err == nil {
		_, s.err = io.WriteString(s.w, b.String())
	}
}
