package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
)

const (
	maxBillFile      = 512 << 20        // bytes of an uploaded file
	billFileWithin   = 15 * time.Minute // of an upload
	maxBillFiles     = 2                // uploads at one time
	newestReconciles = 200              // in a list
)

func (a *API) registerReconciliations(h part) {
	p := partOf(h, a.o.Reconciliations != nil, noReconciliations)
	const path, one = "/v1/reconciliations", "/v1/reconciliations/{id}"
	op := operation("start-reconciliation", http.MethodPost, path, access.MayOperate, "Compare the orders of a queue with the bill of its channel, as a durable job.")
	op.DefaultStatus = http.StatusAccepted
	register(p, op, a.startReconciliation)

	file := operation("reconcile-file", http.MethodPost, path+"/file", access.MayOperate, "Compare the orders of a queue with a file, which is the body of the request: at most 512 MiB.")
	text := func(name, doc string, most int, required bool) *huma.Param {
		return &huma.Param{Name: name, In: "query", Description: doc, Required: required, Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &most}}
	}
	file.Parameters = []*huma.Param{
		text("queue", "A queue of kind order.", bellman.MaxName, true),
		text("account", "A registered account; default: that of orders that name none.", bellman.MaxName, false),
		{Name: "bill", In: "query", Description: "trade, the default, or fund_flow: which bill of the channel the file is.", Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"trade", "fund_flow"}}},
		text("date", "Day of the bill in UTC+8, such as 2026-11-21.", 10, true),
		text("map", "Which columns the file has: channel_order_no=order,amount=fee,units=main. Default: the file is a bill as the queue's channel makes it.", 2000, false),
		text("reason", "Written to the audit record.", 500, false),
		{Name: "no_refunds", In: "query", Description: "true: refunds are not compared.", Schema: &huma.Schema{Type: huma.TypeBoolean}},
		{Name: "unknown", In: "query", Description: "true: a file that does not say whose bill it is, and of which nothing is known here, is compared. Otherwise it is refused if it has 100 lines or more.", Schema: &huma.Schema{Type: huma.TypeBoolean}},
	}
	file.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}}
	file.Responses = map[string]*huma.Response{"200": jsonResponse(p, reflect.TypeFor[client.Reconciliation](), "The result.")}
	p.OpenAPI().AddOperation(&file)
	p.Adapter().Handle(&file, nil)

	register(p, operation("list-reconciliations", http.MethodGet, path, access.MayRead, "Reconciliations, those of the newest days first, at most 200."), a.listReconciliations)
	register(p, operation("get-reconciliation", http.MethodGet, one, access.MayRead, "A reconciliation and its counts."),
		func(ctx context.Context, in *struct {
			Caller
			ReconciliationID
		}) (*answer[client.Reconciliation], error) {
			return onReconciliation(in.ID, func() (reconcile.Run, error) { return a.o.Reconciliations.Get(ctx, in.ID) })
		})
	register(p, operation("list-differences", http.MethodGet, one+"/differences", access.MayRead, "The differences of a reconciliation, by page."), a.listDifferences)
	register(p, operation("settle-reconciliation", http.MethodPost, one+"/settle", access.MayOperate|access.MayDecide, "Ask the channel once about each order that differs."),
		func(ctx context.Context, in *struct {
			Caller
			ReconciliationID
			Body *client.Because
		}) (*answer[client.Reconciliation], error) {
			return onReconciliation(in.ID, func() (reconcile.Run, error) {
				return a.o.Reconciliations.Settle(ctx, in.ID, in.by(given(in.Body).Reason))
			})
		})
}

// A ReconciliationID is the id of a reconciliation in a path.
type ReconciliationID struct {
	ID string `path:"id" maxLength:"64" doc:"The reconciliation's id."`
}

const noReconciliations = "this server reconciles no bills"

func onReconciliation(id string, do func() (reconcile.Run, error)) (*answer[client.Reconciliation], error) {
	run, err := do()
	return answered(reconciliation(&run), missing(err, fmt.Sprintf("reconciliation %q", cut(id))))
}

func (a *API) startReconciliation(ctx context.Context, in *struct {
	Caller
	Body client.StartReconciliation
}) (*answer[client.Reconciliation], error) {
	b := &in.Body
	run, err := a.o.Reconciliations.Start(ctx, reconcile.Request{Queue: b.Queue, Account: b.Account, Bill: reconcile.BillKind(b.Bill), Date: b.Date, NoRefunds: b.NoRefunds, By: in.by(b.Reason)})
	return answered(reconciliation(&run), err)
}

// reconcileFile serves an upload. The file is read to its end before it is compared, because a slow
// client must not hold up a comparison.
func (a *API) reconcileFile(w *response, r *http.Request) {
	run, err := a.uploaded(w, r)
	if err != nil {
		p := a.refuse(err)
		if p.Status == http.StatusRequestEntityTooLarge {
			w.Header().Set("Connection", "close")
		}
		write(w, p)
		return
	}
	w.Header()["Content-Type"] = jsonType
	w.Write(marshal(reconciliation(run))) // an error means that the client has gone
}

func (a *API) uploaded(w *response, r *http.Request) (*reconcile.Run, error) {
	op := a.doc.Paths["/v1/reconciliations/file"].Post
	if refused := checkQuery(r, op.Parameters...); refused != nil {
		return nil, refused
	}
	if a.o.Reconciliations == nil {
		return nil, newProblem(http.StatusNotImplemented, noReconciliations)
	}
	leave, refused := enter(&a.billFiles, 1, maxBillFiles, 5*time.Second, "other bills are being uploaded: try again")
	if refused != nil {
		return nil, refused
	}
	defer leave()
	q := r.URL.Query()
	if utf8.RuneCountInString(q.Get("reason")) > 500 {
		return nil, wrongField("query.reason", "is longer than 500 characters")
	}
	in := reconcile.Request{
		Queue: q.Get("queue"), Account: q.Get("account"), Bill: reconcile.BillKind(q.Get("bill")), Date: q.Get("date"),
		By: bellman.By{Who: w.who, From: w.from, Reason: q.Get("reason")},
	}
	for name, to := range map[string]*bool{"no_refunds": &in.NoRefunds, "unknown": &in.Unknown} {
		if text := q.Get(name); text != "" {
			var err error
			if *to, err = strconv.ParseBool(text); err != nil {
				return nil, wrongField("query."+name, "want true or false")
			}
		}
	}
	m, err := reconcile.ParseMapping(q.Get("map"))
	if err != nil {
		return nil, inQuery(err)
	}
	f, err := os.CreateTemp("", "bellman-upload-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	http.NewResponseController(w.ResponseWriter).SetReadDeadline(time.Now().Add(billFileWithin)) // the server's own limit is for small bodies
	n, err := io.Copy(f, http.MaxBytesReader(w.ResponseWriter, r.Body, maxBillFile))
	switch _, is := errors.AsType[*http.MaxBytesError](err); {
	case is:
		return nil, tooLarge("file", maxBillFile)
	case err != nil:
		return nil, newProblem(http.StatusBadRequest, "the file could not be read to its end")
	case n == 0:
		return nil, wrongField("body", "is empty: want a bill")
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	run, err := a.o.Reconciliations.File(r.Context(), in, m, f)
	if err != nil {
		return nil, inQuery(err)
	}
	return &run, nil
}

// inQuery names the fields of an error as the query does; the file is the body.
func inQuery(err error) error {
	invalid, is := errors.AsType[*bellman.Invalid](err)
	if !is {
		return err
	}
	p := newProblem(http.StatusUnprocessableEntity, wrong(len(invalid.Fields)))
	for _, f := range invalid.Fields {
		at := "query." + f.Field
		if f.Field == "file" {
			at = "body"
		}
		p.Errors = append(p.Errors, client.Fault{Location: at, Message: f.Problem})
	}
	return p
}

func (a *API) listReconciliations(ctx context.Context, _ *struct{ Caller }) (*answer[client.Reconciliations], error) {
	runs, err := a.o.Reconciliations.List(ctx, newestReconciles)
	if err != nil {
		return nil, err
	}
	return ok(client.Reconciliations{Reconciliations: each(runs, reconciliation)})
}

func (a *API) listDifferences(ctx context.Context, in *struct {
	Caller
	ReconciliationID
	Kind   string `query:"kind" enum:"missing_here,missing_there,amount,state,refund,duplicate" doc:"Only differences of this kind."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor string `query:"cursor" maxLength:"20" doc:"The next_cursor of a page; default: the first page."`
}) (*answer[client.DifferencePage], error) {
	after := 0
	if in.Cursor != "" {
		var err error
		if after, err = strconv.Atoi(in.Cursor); err != nil || after < 0 {
			return nil, badCursor()
		}
	}
	items, next, err := a.o.Reconciliations.Differences(ctx, in.ID, bill.DifferenceKind(in.Kind), after, in.Limit)
	if err != nil {
		return nil, missing(err, fmt.Sprintf("reconciliation %q", cut(in.ID)))
	}
	out := client.DifferencePage{Differences: each(items, difference)}
	if next > 0 {
		out.NextCursor = strconv.Itoa(next)
	}
	return ok(out)
}

func reconciliation(r *reconcile.Run) client.Reconciliation {
	n := r.Counts.Differences
	out := client.Reconciliation{
		ID: r.ID, Queue: r.Queue, Account: r.Account, Bill: string(r.Bill), Date: r.Date, Source: r.Source, NoRefunds: r.NoRefunds, Daily: r.Daily, Who: r.Who, Reason: r.Reason,
		State: string(r.State), Created: client.At(r.Created), Finished: optional(r.Finished), Next: optional(r.Next), Tries: r.Tries, Error: r.Error,
		Bills: r.Bills, Left: each(r.Left, left),
		Payments: r.Counts.Payments, Refunds: r.Counts.Refunds, Others: r.Counts.Others, Compared: r.Counts.Decided, Matched: r.Counts.Matched,
		Total: r.Total(), Edge: r.Edge, Deferred: r.Counts.Deferred, Kept: r.Kept,
		Differences: client.DifferencesByKind{
			MissingHere: n[bill.MissingHere], MissingThere: n[bill.MissingThere], Amount: n[bill.AmountDiffers],
			State: n[bill.StateDiffers], Refund: n[bill.RefundDiffers], Duplicate: n[bill.Duplicate],
		},
	}
	if s := &r.Settling; s.State != "" {
		out.Settling = &client.Settling{
			State: string(s.State), Who: s.Who, Reason: s.Reason, Created: client.At(s.Created), Finished: optional(s.Finished),
			Asked: s.Asked, Settled: s.Settled, Failed: s.Failed,
		}
	}
	return out
}

func left(l *reconcile.Left) client.AccountLeft {
	return client.AccountLeft{Account: l.Account, Error: l.Error}
}

func difference(i *reconcile.Item) client.Difference {
	out := client.Difference{Number: i.Number, Kind: string(i.Kind), Account: i.Account, ChannelOrderNo: i.ChannelOrderNo, Edge: i.Edge}
	if l := i.There; l != nil {
		out.Bill = &client.BillLine{
			Number: l.Number, ChannelOrderNo: l.ChannelOrderNo, TransactionID: l.TransactionID, RefundNo: l.RefundNo,
			Amount: l.Amount, RefundAmount: l.RefundAmount, Currency: l.Currency, State: l.State, Time: optional(l.Time),
		}
	}
	if d := i.Here; d != nil {
		out.Here = &client.BilledOrder{
			MerchantNo: d.MerchantNo, OrderNo: d.OrderNo, Task: d.TaskID, RefundNo: d.RefundNo, State: d.State,
			Amount: d.Amount, Currency: d.Currency, TransactionID: d.TransactionID, PaidAt: optional(d.PaidAt),
		}
	}
	if a := i.Asked; a != nil {
		out.Asked = &client.AskedOfOrder{At: client.At(a.At), OrderState: a.State, Reading: a.Reading, Settled: a.Settled, Error: a.Error}
	}
	return out
}
