package api

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
)

const reconciliationID = "2026-11-19-0011223344556677"

// fakeReconciliations has one run with two differences.
type fakeReconciliations struct {
	asked   reconcile.Request
	mapping *bill.Mapping
	file    string
	after   int
	kind    bill.DifferenceKind
	fail    error
}

func (f *fakeReconciliations) run() reconcile.Run {
	return reconcile.Run{
		ID: reconciliationID, Queue: "orders", Date: "2026-11-19", Source: "channel", Bill: reconcile.TradeBill, Who: "ops", Reason: "why", State: reconcile.Done,
		Created: t0, Finished: t0, Edge: 1, Kept: 2,
		Counts:   bill.Counts{Payments: 5, Refunds: 1, Decided: 6, Matched: 4, Differences: map[bill.DifferenceKind]int{bill.AmountDiffers: 1, bill.MissingThere: 1}},
		Settling: reconcile.Settling{State: reconcile.Running, Created: t0, Asked: 1},
	}
}

func (f *fakeReconciliations) Start(_ context.Context, in reconcile.Request) (reconcile.Run, error) {
	f.asked = in
	return f.run(), f.fail
}

func (f *fakeReconciliations) File(_ context.Context, in reconcile.Request, m *bill.Mapping, file io.Reader) (reconcile.Run, error) {
	text, err := io.ReadAll(file)
	f.asked, f.mapping, f.file = in, m, string(text)
	return f.run(), errors.Join(err, f.fail)
}

func (f *fakeReconciliations) Get(_ context.Context, id string) (reconcile.Run, error) {
	if id != reconciliationID {
		return reconcile.Run{}, bellman.ErrNotFound
	}
	return f.run(), f.fail
}

func (f *fakeReconciliations) List(context.Context, int) ([]reconcile.Run, error) {
	return []reconcile.Run{f.run()}, f.fail
}

func (f *fakeReconciliations) Settle(ctx context.Context, id string, _ bellman.By) (reconcile.Run, error) {
	return f.Get(ctx, id)
}

func (f *fakeReconciliations) Differences(_ context.Context, id string, of bill.DifferenceKind, after, _ int) ([]reconcile.Item, int, error) {
	f.after, f.kind = after, of
	here := bill.Decided{ChannelOrderNo: "C1", MerchantNo: "M1", OrderNo: "O1", TaskID: bellman.FirstID(t0).String(), State: "PAID", Paid: true, Amount: 100, Currency: "CNY", PaidAt: t0}
	return []reconcile.Item{
		{Number: 1, Difference: bill.Difference{Kind: bill.AmountDiffers, ChannelOrderNo: "C1", Here: &here,
			There: &bill.Line{ChannelOrderNo: "C1", TransactionID: "T1", Amount: 99, Currency: "CNY", State: "SUCCESS", Time: t0, Number: 7}},
			Asked: &reconcile.Asked{At: t0, State: "PAID", Reading: "PAID"}},
		{Number: 2, Difference: bill.Difference{Kind: bill.MissingThere, ChannelOrderNo: "C1", Here: &here, Edge: true}},
	}, 2, f.fail
}

func TestReconcileFile(t *testing.T) {
	f := &fakeReconciliations{}
	m := make1(t, Options{Reconciliations: f})
	const path = "/v1/reconciliations/file?queue=orders&account=shop2&bill=fund_flow&date=2026-11-19"
	text := strings.Repeat("order,fee\n1,2\n", 100_000) // larger than other bodies may be
	if w := m.do("POST", path+"&map=channel_order_no%3Dorder,amount%3Dfee&no_refunds=true&reason=why", text); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if f.file != text || f.asked.Queue != "orders" || f.asked.Account != "shop2" || f.asked.Bill != reconcile.FundFlow || f.asked.Date != "2026-11-19" || !f.asked.NoRefunds || f.asked.By.Reason != "why" || f.mapping == nil || f.mapping.Amount != "fee" {
		t.Errorf("asked for %+v, %+v, with %d bytes; want all that was said, and %d bytes", f.asked, f.mapping, len(f.file), len(text))
	}
	if w := m.do("POST", path, "x"); w.Code != 200 || f.mapping != nil {
		t.Errorf("without a mapping: %d, %+v", w.Code, f.mapping)
	}
	for n, want := range map[int]int{500: 200, 501: 422} { // characters, of three bytes each
		if w := m.do("POST", path+"&reason="+url.QueryEscape(strings.Repeat("账", n)), "x"); w.Code != want {
			t.Errorf("a reason of %d characters: %d %s; want %d", n, w.Code, w.Body, want)
		}
	}
	invalid := &bellman.Invalid{}
	invalid.Add("file", "line 3: is wrong")
	f.fail = invalid
	for request, want := range map[[2]string]string{
		{path, "x"}:                 `"body"`,
		{path, ""}:                  `"body"`,
		{path + "&map=a", "x"}:      `"query.map"`,
		{path + "&colour=red", "x"}: `"query.colour"`,
	} {
		if w := m.do("POST", request[0], request[1]); w.Code != 422 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q: %d %s; want 422 that names %s", request, w.Code, w.Body, want)
		}
	}
}

func TestDifferencesPages(t *testing.T) {
	f := &fakeReconciliations{}
	m := make1(t, Options{Reconciliations: f})
	const path = "/v1/reconciliations/" + reconciliationID + "/differences"
	if w := m.do("GET", path+"?cursor=2&kind=state", ""); w.Code != 200 || f.after != 2 || f.kind != bill.StateDiffers || !strings.Contains(w.Body.String(), `"next_cursor":"2"`) {
		t.Errorf("%d %s, after %d of %s; want those after 2", w.Code, w.Body, f.after, f.kind)
	}
	for _, query := range []string{"?cursor=x", "?kind=odd"} {
		if w := m.do("GET", path+query, ""); w.Code != 422 && w.Code != 400 {
			t.Errorf("%s: %d; want a refusal", query, w.Code)
		}
	}
	if w := m.do("GET", "/v1/reconciliations/other", ""); w.Code != 404 {
		t.Errorf("another id: %d; want 404", w.Code)
	}
	none := make1(t, Options{})
	for _, call := range [][3]string{{"POST", "/v1/reconciliations", `{"queue":"q","date":"2026-11-19"}`}, {"GET", path, ""}, {"POST", "/v1/reconciliations/file?queue=q&date=2026-11-19", "x"}} {
		if w := none.do(call[0], call[1], call[2]); w.Code != 501 {
			t.Errorf("%s %s without reconciliations: %d; want 501", call[0], call[1], w.Code)
		}
	}
}

// Whoever decides orders by hand also works off the differences of a bill.
func TestWhoSettlesDifferences(t *testing.T) {
	m := make1(t, Options{Keys: testKeys, Reconciliations: &fakeReconciliations{}})
	for key, want := range map[string]int{"s": 403, "r": 403, "o": 200, "d": 200, "a": 200} {
		if w := m.do("POST", "/v1/reconciliations/"+reconciliationID+"/settle", "", "Authorization: Bearer "+key+"-key"); w.Code != want {
			t.Errorf("the key %s-key settles: %d %s; want %d", key, w.Code, w.Body, want)
		}
	}
}
