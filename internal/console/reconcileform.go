package console

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
)

const (
	reconcilesPath = "/reconciliations"
	maxBill        = 64 << 20 // largest file in bytes; bellman reconcile takes larger ones
	billInMemory   = 1 << 20  // the rest of a file is on disk while it is compared
	billWithin     = 10 * time.Minute
)

// A newReconcileView is the form that starts a comparison.
type newReconcileView struct {
	*view
	Queues    []string // of kind order
	Queue     string
	Account   string
	Bill      string // trade or fund_flow
	Date      string
	From      string // channel or file
	Mapping   string
	NoRefunds bool
	Unknown   bool
	pauseForm
}

func (q *request) newReconcile() error {
	in := q.r.URL.Query()
	return q.showNewReconcile(http.StatusOK, &newReconcileView{
		Queue: in.Get("queue"), Account: in.Get("account"), Bill: in.Get("bill"), From: reconcile.FromChannel, NoRefunds: in.Get("no_refunds") != "",
		Date: cmp.Or(in.Get("date"), time.Now().In(bill.Zone).AddDate(0, 0, -1).Format(time.DateOnly)),
	})
}

func (q *request) showNewReconcile(status int, v *newReconcileView) error {
	v.view = q.view("page.newreconciliation")
	v.Queues = q.queuesOf("order")
	return q.render(status, "newreconciliation", v)
}

// startReconcile starts a comparison with the channel's bill, or makes one with an uploaded file.
func (q *request) startReconcile() error {
	in := q.r.PostForm
	v := &newReconcileView{
		Queue: in.Get("queue"), Account: strings.TrimSpace(in.Get("account")), Bill: in.Get("bill"), Date: strings.TrimSpace(in.Get("date")), From: in.Get("from"), Mapping: strings.TrimSpace(in.Get("map")),
		NoRefunds: in.Get("no_refunds") != "", Unknown: in.Get("unknown") != "", pauseForm: pauseForm{Reason: strings.TrimSpace(in.Get("reason"))},
	}
	run, err := q.compared(v)
	if err != nil {
		status := 0
		status, v.Wrong = q.wrong(err)
		return q.showNewReconcile(status, v)
	}
	return q.goDone(reconcilesPath+"/"+url.PathEscape(run.ID), "comparing")
}

// compared does what a form says.
func (q *request) compared(v *newReconcileView) (run reconcile.Run, err error) {
	if err := unreasoned(v.Reason); err != nil {
		return run, err
	}
	wanted := reconcile.Request{Queue: v.Queue, Account: v.Account, Bill: reconcile.BillKind(v.Bill), Date: v.Date, NoRefunds: v.NoRefunds, Unknown: v.Unknown, By: q.by(v.Reason)}
	if v.From != reconcile.FromFile {
		return q.o.Reconciliations.Start(q.r.Context(), wanted)
	}
	mapping, err := reconcile.ParseMapping(mappingText(v.Mapping))
	if err != nil {
		return run, err
	}
	if q.r.MultipartForm == nil || len(q.r.MultipartForm.File["file"]) == 0 {
		return run, errBill
	}
	defer q.r.MultipartForm.RemoveAll()
	file, err := q.r.MultipartForm.File["file"][0].Open()
	if err != nil {
		return run, err
	}
	defer file.Close()
	return q.o.Reconciliations.File(q.r.Context(), wanted, mapping, file)
}

// mappingText returns a mapping that has commas or new lines between its parts with commas alone.
func mappingText(text string) string {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' })
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return strings.Join(parts, ",")
}
