package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/store"
)

const (
	newestReconciles = 200 // in the list
	shownDifferences = 50  // on one page
)

type reconcilesView struct {
	*view
	Rows []reconcile.Run
	More bool // there are older ones
}

type reconcileView struct {
	*view
	Run   reconcile.Run
	Kinds []kindCount
	Kind  string // the kind that is shown; empty: all
	Rows  []reconcile.Item
	First string // address of the first page; empty: it is this one
	Next  string // address of the next page; empty: there is none
	Again string // address of the form that compares the day again with the channel's bill; empty: it did not fail
	Total int
	pauseForm
}

// A kindCount is the number of differences of one kind.
type kindCount struct {
	Kind string
	N    int
}

func (q *request) reconcileList() error {
	runs, err := q.o.Reconciliations.List(q.r.Context(), newestReconciles+1)
	if err != nil {
		return err
	}
	rows := runs[:min(len(runs), newestReconciles)]
	return q.render(http.StatusOK, "reconciliations", &reconcilesView{view: q.view("page.reconciliations"), Rows: rows, More: len(runs) > len(rows)})
}

func (q *request) reconcilePage() error { return q.showReconcile(http.StatusOK, pauseForm{}) }

func (q *request) showReconcile(status int, form pauseForm) error {
	run, err := q.o.Reconciliations.Get(q.r.Context(), q.r.PathValue("id"))
	if err != nil {
		return err
	}
	in := q.r.URL.Query()
	v := &reconcileView{view: q.view("page.reconciliation"), Run: run, Total: run.Total(), pauseForm: form}
	v.Kinds = kindsOf(&run)
	if kind := bill.DifferenceKind(in.Get("kind")); slices.Contains(bill.Kinds(), kind) {
		v.Kind = string(kind)
	}
	after, err := strconv.Atoi(in.Get("after"))
	if err != nil {
		after = 0
	}
	next := 0
	if v.Rows, next, err = q.o.Reconciliations.Differences(q.r.Context(), run.ID, bill.DifferenceKind(v.Kind), after, shownDifferences); err != nil {
		return err
	}
	address := "/reconciliations/" + url.PathEscape(run.ID) + "?kind=" + v.Kind
	if after > 0 {
		v.First = address
	}
	if next > 0 {
		v.Next = address + "&after=" + strconv.Itoa(next)
	}
	if run.State == reconcile.Failed && run.Source == reconcile.FromChannel && slices.Contains(q.queuesOf("order"), run.Queue) {
		v.Again = query("/reconciliations/new", "queue", run.Queue, "account", run.Account, "bill", string(run.Bill), "date", run.Date, "no_refunds", map[bool]string{true: "1"}[run.NoRefunds])
	}
	return q.render(status, "reconciliation", v)
}

// kindsOf counts the differences of each kind.
func kindsOf(run *reconcile.Run) (all []kindCount) {
	for _, kind := range bill.Kinds() {
		all = append(all, kindCount{string(kind), run.Counts.Differences[kind]})
	}
	return all
}

// differing counts the differences of the kinds that there are.
func differing(run reconcile.Run) []kindCount {
	return slices.DeleteFunc(kindsOf(&run), func(k kindCount) bool { return k.N == 0 })
}

// registered returns the account of a difference; empty: it is the queue's own, which the page
// names.
func registered(account string) string {
	if strings.HasPrefix(account, "queue:") {
		return ""
	}
	return account
}

// settleReconcile has the channel asked about each order that differs.
func (q *request) settleReconcile() error {
	form := pauseForm{Reason: strings.TrimSpace(q.r.PostForm.Get("reason"))}
	var err error = errReason
	if reasoned(form.Reason) {
		_, err = q.o.Reconciliations.Settle(q.r.Context(), q.r.PathValue("id"), q.by(form.Reason))
	}
	if err != nil {
		status := 0
		status, form.Wrong = q.wrong(err)
		return q.showReconcile(status, form)
	}
	return q.goDone("/reconciliations/"+url.PathEscape(q.r.PathValue("id")), "asking")
}

// exportReconcile streams the differences of a reconciliation as CSV.
func (q *request) exportReconcile() error {
	run, err := q.o.Reconciliations.Get(q.r.Context(), q.r.PathValue("id"))
	if err == nil {
		err = q.o.Record(q.r.Context(), store.AuditOf(q.by(""), time.Now(), "export", "reconciliation/"+run.ID))
	}
	if err != nil {
		return err
	}
	out := q.sheet("reconciliation-" + run.ID)
	out.Write([]string{"number", "kind", "account", "channel_order_no", "edge", "bill_line", "bill_transaction_id", "bill_refund_no", "bill_amount", "bill_currency", "bill_state", "bill_time",
		"merchant_no", "order_no", "task", "state", "amount", "currency", "transaction_id", "paid_at", "asked_at", "asked_state", "asked_reading", "asked_error", "settled", "refund_no"})
	for after := 0; ; {
		items, next, err := q.o.Reconciliations.Differences(q.r.Context(), run.ID, "", after, 1000)
		if err != nil {
			q.o.Log.Warn("console: an export was interrupted", "err", err)
			out.Write([]string{"# " + q.visitor.lang.say("export.failed")})
			return nil
		}
		for i := range items {
			out.Write(exportedDifference(&items[i]))
		}
		if after = next; next == 0 {
			return nil
		}
		if !out.goesOn() {
			return nil
		}
	}
}

func exportedDifference(i *reconcile.Item) []string {
	l, d, a := i.There, i.Here, i.Asked
	cells := []string{strconv.Itoa(i.Number), string(i.Kind), i.Account, i.ChannelOrderNo, strconv.FormatBool(i.Edge)}
	if l != nil {
		cells = append(cells, strconv.Itoa(l.Number), l.TransactionID, l.RefundNo, strconv.FormatInt(l.Sum(), 10), l.Currency, l.State, exportedTime(l.Time))
	} else {
		cells = append(cells, make([]string, 7)...)
	}
	if d != nil {
		amount, currency := "", "" // as bellman reconcile -o csv writes them; bellman knows no amount of 0
		if d.Amount != 0 {
			amount, currency = strconv.FormatInt(d.Amount, 10), d.Currency
		}
		cells = append(cells, d.MerchantNo, d.OrderNo, d.TaskID, d.State, amount, currency, d.TransactionID, exportedTime(d.PaidAt))
	} else {
		cells = append(cells, make([]string, 8)...)
	}
	if a != nil {
		cells = append(cells, exportedTime(a.At), a.State, a.Reading, a.Error, strconv.FormatBool(a.Settled))
	} else {
		cells = append(cells, make([]string, 5)...)
	}
	refundNo := ""
	if d != nil {
		refundNo = d.RefundNo
	}
	return append(cells, refundNo)
}
