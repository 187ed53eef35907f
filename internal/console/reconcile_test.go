package console

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/store/memory"
)

const reconcileID = "2026-11-19-0011223344556677"

// oneReconcile has one run with 51 differences: one of an amount, and fifty orders that the bill lacks.
type oneReconcile struct{ settled []bellman.By }

func (o *oneReconcile) Get(_ context.Context, id string) (reconcile.Run, error) {
	if id != reconcileID {
		return reconcile.Run{}, bellman.ErrNotFound
	}
	return reconcile.Run{
		ID: id, Queue: "orders", Date: "2026-11-19", Source: "channel", State: reconcile.Done, Created: t0, Finished: t0, Kept: 51,
		Counts: bill.Counts{Payments: 9, Matched: 4, Differences: map[bill.DifferenceKind]int{bill.AmountDiffers: 1, bill.MissingThere: 50}},
	}, nil
}

func (o *oneReconcile) List(ctx context.Context, _ int) ([]reconcile.Run, error) {
	run, err := o.Get(ctx, reconcileID)
	return []reconcile.Run{run}, err
}

func (o *oneReconcile) Settle(ctx context.Context, id string, by bellman.By) (reconcile.Run, error) {
	o.settled = append(o.settled, by)
	return o.Get(ctx, id)
}

func (o *oneReconcile) Differences(_ context.Context, _ string, of bill.DifferenceKind, after, limit int) (items []reconcile.Item, next int, err error) {
	for n := after + 1; n <= 51; n++ {
		d := bill.Difference{Kind: bill.MissingThere, ChannelOrderNo: "=C" + strings.Repeat("x", n%7)}
		d.Here = &bill.Decided{MerchantNo: "M1", OrderNo: "O1", TaskID: bellman.FirstID(t0).String(), State: "PAID", Amount: 100, Currency: "CNY", PaidAt: t0}
		if n == 1 {
			d.Kind, d.There = bill.AmountDiffers, &bill.Line{TransactionID: "T1", Amount: 99, Currency: "CNY", State: "SUCCESS", Time: t0, Number: 7}
		}
		if of != "" && of != d.Kind {
			continue
		}
		if len(items) == limit {
			return items, items[limit-1].Number, nil
		}
		items = append(items, reconcile.Item{Number: n, Difference: d, Asked: &reconcile.Asked{At: t0.Add(time.Minute), State: "PAID", Reading: "PAID"}})
	}
	return items, 0, nil
}

func TestReconciliations(t *testing.T) {
	o := &oneReconcile{}
	s := openWith(t, &fake{Store: memory.New()}, Options{Reconciliations: o})
	const page = "/reconciliations/" + reconcileID
	for path, want := range map[string][]string{
		"/reconciliations":                 {page, "2026-11-19", "51", "the channel"},
		page:                               {"Missing in the bill", "SUCCESS 99", "PAID 100 CNY", "kind=&amp;after=50", page + "/export", "Ask the channel about each once"},
		page + "?kind=amount":              {"SUCCESS 99"},
		page + "?kind=missing_there":       {"PAID 100 CNY"},
		page + "?kind=&after=50":           {"To the first page"},
		page + "?kind=colour&after=nobody": {"SUCCESS 99"},
	} {
		got := s.get(t, path)
		for _, text := range want {
			if !strings.Contains(got.body, text) {
				t.Errorf("%s: %d lacks %q", path, got.StatusCode, text)
			}
		}
	}
	if got := s.get(t, "/reconciliations/none-of-these"); got.StatusCode != http.StatusNotFound {
		t.Errorf("another id: %d; want 404", got.StatusCode)
	}
	if body := s.get(t, page+"?kind=missing_there").body; strings.Contains(body, "SUCCESS 99") {
		t.Error("the amount is among the orders that the bill lacks")
	}
	sheet := s.get(t, page+"/export")
	if lines := strings.Split(strings.TrimSpace(sheet.body), "\n"); len(lines) != 52 || !strings.Contains(lines[1], `"1","amount","'=C`) || !strings.Contains(lines[1], `"99","CNY","SUCCESS"`) || strings.Count(lines[2], ",") != strings.Count(lines[0], ",") {
		t.Errorf("the export has %d lines, the first two are %.400q; want 52", len(lines), lines[:2])
	}
	if got := s.post(t, page, page, "reason", ""); got.StatusCode != http.StatusUnprocessableEntity || len(o.settled) != 0 {
		t.Errorf("without a reason: %d, %v", got.StatusCode, o.settled)
	}
	if got := s.post(t, page, page, "reason", "the bill of the 19th"); got.StatusCode != http.StatusSeeOther || len(o.settled) != 1 || o.settled[0].Reason != "the bill of the 19th" {
		t.Errorf("settle: %d, %v; want 303 and one request", got.StatusCode, o.settled)
	}
	if body := s.get(t, page).body; !strings.Contains(body, "The channel is being asked about each order that differs.") {
		t.Error("the page does not say that the channel is being asked")
	}
}
