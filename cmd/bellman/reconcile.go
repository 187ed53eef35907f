package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/cell"
	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/internal/sleep"
)

func reconcileCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "reconcile --queue QUEUE --date DATE",
		Short: "Compare the orders of a queue with the bill of a day",
		Long: `Compare the orders of a queue with the bill of a day, and show each difference. The
server asks the queue's channel for the bill (WeChat Pay, Alipay): the bill of the queue's
own account, and of every registered account that its orders name. --account selects one
of them. With --file the bill is a file, as the channel makes it, or with the columns that
--map names; it is compared with the orders of one account.

A bill of another merchant is refused. A file that does not say whose bill it is, such as WeChat
Pay's fund flow bill, is refused if it has 100 lines or more and none of them agrees: --unknown
compares it all the same.

The same queue, account, date and source again replace the result. --settle asks the channel once
about each order that differs, before the differences are shown.

The exit status is 1 if there are differences, or if the bill is not ready.`,
		Example: `  bellman reconcile --queue wechat-orders --date 2026-11-21
  bellman reconcile --queue shops --account shop2 --date 2026-11-21
  bellman reconcile --queue bank --date 2026-11-21 --file bill.csv \
    --map channel_order_no=order --map amount=fee --map units=main -o csv`,
		Args: flagsAlone,
	}
	f := c.Flags()
	queue := f.String("queue", "", "a queue of kind order")
	account := f.String("account", "", "a registered account (default: all that the queue's orders name)")
	kind := f.String("bill", "trade", "trade, or fund_flow: WeChat Pay's bill of what reached and left the account")
	date := f.String("date", "", "day of the bill in UTC+8, such as 2026-11-21")
	file := f.String("file", "", "the bill, or - for standard input (default: the channel's)")
	mapping := f.StringArray("map", nil, "FIELD=COLUMN of the file: channel_order_no, amount, time, state, refund_no, …")
	noRefunds := f.Bool("no-refunds", false, "refunds are not compared")
	unknown := f.Bool("unknown", false, "compare a file even if it does not say whose bill it is and nothing in it is known")
	settle := f.Bool("settle", false, "ask the channel once about each order that differs")
	reason := f.String("reason", "", "why, for the audit record")
	wait := f.Duration("wait", 10*time.Minute, "longest wait for the result")
	return remoteAs(c, func() time.Duration { return *wait }, []string{"table", "json", "csv"}, func(ctx context.Context, to *call, _ []string) error {
		switch {
		case *queue == "" || *date == "":
			return wrong{fmt.Errorf("want --queue and --date")}
		case *kind != "trade" && *kind != "fund_flow":
			return wrong{fmt.Errorf("--bill %q: want trade or fund_flow", *kind)}
		case len(*mapping) > 0 && *file == "":
			return wrong{fmt.Errorf("--map: want --file too")}
		case *unknown && *file == "":
			return wrong{fmt.Errorf("--unknown: want --file too")}
		}
		in := client.StartReconciliation{Queue: *queue, Account: *account, Bill: *kind, Date: *date, NoRefunds: *noRefunds, Reason: *reason, Unknown: *unknown}
		run, err := to.compareBill(ctx, in, *file, strings.Join(*mapping, ","))
		if err == nil && *settle && run.Kept > 0 {
			run, err = to.settleDifferences(ctx, run.ID, *reason)
		}
		if err != nil {
			return err
		}
		return to.showReconciliation(ctx, run)
	})
}

// compareBill makes the comparison and waits for its result.
func (to *call) compareBill(ctx context.Context, in client.StartReconciliation, file, mapping string) (*client.Reconciliation, error) {
	if file != "" {
		f, err := openInput(file)
		if err != nil {
			return nil, wrong{err}
		}
		defer f.Close()
		return to.ReconcileFile(ctx, in, mapping, f)
	}
	run, err := to.Reconcile(ctx, in)
	if err != nil {
		return nil, err
	}
	run, err = to.untilReconciled(ctx, run.ID, func(r *client.Reconciliation) bool {
		return r.State == "done" || r.State == "failed" || r.State == "waiting" && r.Tries > 0
	})
	switch {
	case err != nil:
		return nil, err
	case len(run.Left) > 0 && current(run): // the others have a result
		return run, nil
	case run.State == "failed":
		return nil, fmt.Errorf("the bill could not be had: %s", run.Error)
	case run.State == "waiting" && run.Next != nil:
		return nil, fmt.Errorf("there is no bill yet: %s; the server asks again at %s", run.Error, run.Next)
	}
	return run, nil
}

// current reports whether a result belongs to the newest request. Until that request has a result,
// the server keeps the result of the request before it.
func current(run *client.Reconciliation) bool {
	return run.Finished != nil && !run.Finished.Before(run.Created.Time)
}

// settleDifferences has the channel asked about each order, and waits for the end.
func (to *call) settleDifferences(ctx context.Context, id, reason string) (*client.Reconciliation, error) {
	if _, err := to.SettleReconciliation(ctx, id, client.Because{Reason: reason}); err != nil {
		return nil, err
	}
	return to.untilReconciled(ctx, id, func(r *client.Reconciliation) bool { return r.Settling == nil || r.Settling.State == "done" })
}

// untilReconciled reads a reconciliation until it is as wanted.
func (to *call) untilReconciled(ctx context.Context, id string, is func(*client.Reconciliation) bool) (*client.Reconciliation, error) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		run, err := to.Reconciliation(ctx, id)
		if err != nil || is(run) {
			return run, err
		}
		if !sleep.For(ctx, pause) {
			return nil, fmt.Errorf("the server is still at it: run the command again to see the result of reconciliation %s", id)
		}
	}
}

// showReconciliation prints the counts and all differences.
func (to *call) showReconciliation(ctx context.Context, run *client.Reconciliation) error {
	all := []client.Difference{}
	for cursor := ""; ; {
		page, err := to.Differences(ctx, run.ID, "", 200, cursor)
		if err != nil {
			return err
		}
		all = append(all, page.Differences...)
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	var err error
	if to.csv {
		err = differencesCSV(to.out, all)
	} else {
		err = to.print(struct {
			Reconciliation *client.Reconciliation `json:"reconciliation"`
			Differences    []client.Difference    `json:"differences"`
		}{run, all}, func(t *rows) { t.reconciled(run, all) })
	}
	if err != nil {
		return err
	}
	if run.Kept < run.Total {
		fmt.Fprintf(to.err, "bellman: the first %d of %d differences are kept\n", run.Kept, run.Total)
	}
	for _, l := range run.Left {
		say(to.err, "bellman: account %s: %s", cmp.Or(l.Account, "of the queue"), l.Error)
	}
	switch {
	case run.Total > 0:
		return fmt.Errorf("differences: %d", run.Total)
	case len(run.Left) > 0:
		return fmt.Errorf("orders of %d accounts are not compared", len(run.Left))
	}
	return nil
}

func (t *rows) reconciled(run *client.Reconciliation, all []client.Difference) {
	of := run.Queue
	if run.Account != "" {
		of += ", account " + run.Account
	}
	if run.Bill != "trade" {
		of += ", " + run.Bill
	}
	t.row("bill", fmt.Sprintf("%s of %s (%s): payments %d, refunds %d", run.Date, of, run.Source, run.Payments, run.Refunds))
	if run.Others > 0 {
		t.row("left out", fmt.Sprintf("%d lines of other merchants", run.Others))
	}
	t.row("agree", run.Matched)
	t.row("differ", fmt.Sprintf("%d, of which %d near midnight", run.Total, run.Edge))
	if s := run.Settling; s != nil {
		t.row("settled", fmt.Sprintf("%d, after %d queries; %d without an answer", s.Settled, s.Asked, s.Failed))
	}
	if len(all) == 0 {
		return
	}
	t.heads("KIND", "ACCOUNT", "CHANNEL ORDER", "BILL", "AMOUNT", "TRANSACTION", "ORDER", "STATE", "AMOUNT", "TRANSACTION", "ASKED")
	for i := range all {
		d := &all[i]
		c := cells(d)
		bill, there, here := c["bill_state"], "", ""
		if d.Bill != nil {
			there = money.Format(d.Bill.Amount+d.Bill.RefundAmount, d.Bill.Currency) // one of the two is 0
		}
		if d.Here != nil && d.Here.Amount != 0 {
			here = money.Format(d.Here.Amount, d.Here.Currency)
		}
		if refund := c["bill_refund_no"]; refund != "" {
			bill += " refund " + refund
		}
		order := strings.Trim(c["merchant_no"]+"/"+c["order_no"], "/")
		t.row(c["kind"], c["account"], c["channel_order_no"], bill, there, c["bill_transaction_id"], order, c["state"], here, c["transaction_id"], c["asked_reading"])
	}
}

var differenceColumns = []string{"number", "kind", "account", "channel_order_no", "edge",
	"bill_line", "bill_transaction_id", "bill_refund_no", "bill_amount", "bill_currency", "bill_state", "bill_time",
	"merchant_no", "order_no", "task", "state", "amount", "currency", "transaction_id", "paid_at",
	"asked_at", "asked_state", "asked_reading", "asked_error", "settled", "refund_no"}

func differencesCSV(w io.Writer, all []client.Difference) error {
	out := csv.NewWriter(w)
	if err := out.Write(differenceColumns); err != nil {
		return err
	}
	row := make([]string, len(differenceColumns))
	for i := range all {
		c := cells(&all[i])
		for k, name := range differenceColumns {
			row[k] = cell.NoFormula(c[name])
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// cells returns a difference by differenceColumns. Columns without a value are missing.
func cells(d *client.Difference) map[string]string {
	c := map[string]string{"number": strconv.Itoa(d.Number), "kind": d.Kind, "account": d.Account, "channel_order_no": d.ChannelOrderNo, "edge": strconv.FormatBool(d.Edge)}
	stamp := func(name string, at *client.Time) {
		if at != nil {
			c[name] = at.String()
		}
	}
	if l := d.Bill; l != nil {
		c["bill_line"], c["bill_transaction_id"], c["bill_refund_no"] = strconv.Itoa(l.Number), l.TransactionID, l.RefundNo
		c["bill_amount"], c["bill_currency"], c["bill_state"] = strconv.FormatInt(l.Amount+l.RefundAmount, 10), l.Currency, l.State // one of the two is 0
		stamp("bill_time", l.Time)
	}
	if h := d.Here; h != nil {
		c["merchant_no"], c["order_no"], c["task"], c["state"], c["refund_no"] = h.MerchantNo, h.OrderNo, h.Task, h.State, h.RefundNo
		if h.Amount != 0 {
			c["amount"], c["currency"] = strconv.FormatInt(h.Amount, 10), h.Currency
		}
		c["transaction_id"] = h.TransactionID
		stamp("paid_at", h.PaidAt)
	}
	if a := d.Asked; a != nil {
		c["asked_at"], c["asked_state"], c["asked_reading"], c["asked_error"], c["settled"] = a.At.String(), a.OrderState, a.Reading, a.Error, strconv.FormatBool(a.Settled)
	}
	return c
}
