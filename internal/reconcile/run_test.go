package reconcile_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

func TestSixKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		w.plant()
		r := w.runs()
		in := reconcile.Request{Queue: "pay", Date: date, By: bellman.By{Who: "ops", Reason: "why"}}
		for _, time := range []string{"first", "second"} { // the same day again gives the same
			started, err := r.Start(t.Context(), in)
			if err != nil || started.State != reconcile.Waiting {
				t.Fatalf("%s: Start = %+v, %v; want a waiting run", time, started, err)
			}
			work(t, r, 1)
			run, err := r.Get(t.Context(), started.ID)
			if err != nil || run.State != reconcile.Done || run.Total() != 6 || run.Counts.Matched != 4 || len(run.Counts.Differences) != 6 || run.Kept != 6 {
				t.Fatalf("%s: %+v, %v; want it done with one difference of each kind and 4 lines that agree", time, run, err)
			}
			if found, _ := differences(t, r, run.ID); !sameSet(found, planted) {
				t.Errorf("%s: differences %q; want %q", time, found, planted)
			}
		}
		some, _, err := r.Differences(t.Context(), mustID(t, r), bill.AmountDiffers, 0, 10)
		if err != nil || len(some) != 1 || some[0].There.Amount != 99 || some[0].Here.Amount != 100 || some[0].Here.OrderNo != "B3" {
			t.Errorf("amounts: %+v, %v; want that of B3", some, err)
		}
		if docs, err := w.Docs(t.Context(), store.DocFilter{Kind: "reconciliation-page"}, 10); err != nil || len(docs) != 1 {
			t.Errorf("%d pages, %v; want the one of the second result", len(docs), err)
		}
		audits, err := w.Audits(t.Context(), time.Time{}, 10)
		if err != nil || len(audits) != 2 || audits[0].Action != "reconcile" || audits[0].Who != "ops" {
			t.Errorf("audits %+v, %v; want two of reconcile by ops", audits, err)
		}
	})
}

func mustID(t *testing.T, r *reconcile.Runs) string {
	t.Helper()
	all, err := r.List(t.Context(), 10)
	if err != nil || len(all) != 1 {
		t.Fatalf("List = %+v, %v; want one run", all, err)
	}
	return all[0].ID
}

// meeting is a world in which somebody else is quicker than the next commit.
type meeting struct {
	*world
	first func()
}

func (m *meeting) Commit(ctx context.Context, b *store.Batch) error {
	if f := m.first; f != nil {
		m.first = nil
		f()
	}
	return m.world.Commit(ctx, b)
}

// Two people who request the same at the same moment, at two nodes, get the same run.
func TestStartAtTwoNodesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		in := reconcile.Request{Queue: "pay", Date: date}
		for _, before := range []string{"no run", "a run that is done"} {
			there, at := w.runs(), &meeting{world: w}
			here, err := reconcile.New(reconcile.Options{Store: at, Tasks: w, Alarms: w, Queues: func() []reconcile.Queue { return []reconcile.Queue{w.queue} }, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			var other reconcile.Run
			at.first = func() {
				if other, err = there.Start(t.Context(), in); err != nil {
					t.Fatal(err)
				}
			}
			run, err := here.Start(t.Context(), in)
			if err != nil || run.ID != other.ID || run.State != reconcile.Waiting || !run.Created.Equal(other.Created) {
				t.Errorf("%s: Start = %+v, %v; want the other's %+v", before, run, err, other)
			}
			work(t, there, 1)
		}
		if audits, err := w.Audits(t.Context(), time.Time{}, 10); err != nil || len(audits) != 2 {
			t.Errorf("audits %+v, %v; want one of each run", audits, err)
		}
	})
}

// An order that is looked up by its channel number may have more tasks than a page of the store:
// here the records of its notices are newer than its watch and its refund.
func TestOrderOfManyTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		add := func(task bellman.Task) {
			task.Queue, task.Kind, task.MerchantNo, task.OrderNo = "other", bellman.KindOrder, "M1", "A1"
			w.add(&task)
		}
		alias := order.Alias(account, order.OfPayment, "A1")
		add(bellman.Task{Key: "M1/A1", Origin: &bellman.Origin{Alias: alias}, Event: order.EventWatch,
			Body: []byte(`{"amount":100,"currency":"CNY"}`), Status: bellman.Status{Data: []byte(`{"stage":"decided","order_state":"CLOSED","decided_at":946785600000}`)}})
		add(bellman.Task{Key: "M1/A1/late_watch", Event: order.EventLateWatch,
			Body:   []byte(`{"amount":100,"currency":"CNY","watch":{"of":"M1/A1","order_state":"CLOSED","decided":"2000-01-02T04:00:00Z","until":"2000-01-02T05:00:00Z","alias":"` + alias + `"}}`),
			Status: bellman.Status{Data: []byte(`{"stage":"watching","order_state":"CLOSED","late_payment":"PAID","taken":{"transaction_id":"TA1","amount":100,"currency":"CNY","paid_at":"2000-01-02T04:00:00Z"}}`)}})
		add(bellman.Task{Event: order.EventNotice, Body: []byte(`{"notice":{"result":"applied","of":"refund","account":"` + account + `","channel_order_no":"A1","ref_no":"R1","content":"{\"refund_status\":\"SUCCESS\",\"amount\":{\"refund\":30}}"}}`)})
		for range 250 {
			add(bellman.Task{Event: order.EventNotice, Body: []byte(`{"notice":{"result":"duplicate","of":"payment","account":"` + account + `","channel_order_no":"A1","reading":"PAID"}}`)})
		}
		w.line("A1", 100)
		*w.line("A1", 0) = bill.Line{ChannelOrderNo: "A1", RefundNo: "R1", Kind: bill.Refund, RefundAmount: 30, Currency: "CNY", State: "SUCCESS", Time: noon.UTC(), Number: 2}
		r := w.runs()
		run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, 1)
		if found, _ := differences(t, r, run.ID); len(found) != 0 {
			t.Errorf("differences %q; want none", found)
		}
	})
}

// A crash at any commit of a comparison leaves the result before it, and the next process makes the
// new one.
func TestCrashBetweenPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		w.line("first", 100)
		r := w.runs()
		in := reconcile.Request{Queue: "pay", Date: date}
		compared(t, r, in, 1)
		w.lines = nil
		for i := range 350 {
			w.line(fmt.Sprint("N", i), 100)
		}
		if _, err := r.Start(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		w.commits = 4 // the head, two pages, and the third fails
		id := mustID(t, r)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		cancel()
		<-ended
		if found, _ := differences(t, r, id); !slices.Equal(found, []string{"missing_here first"}) {
			t.Errorf("after the crash: %q; want the result before", found)
		}
		w.commits = 0
		r = w.runs()
		work(t, r, 1)
		run, err := r.Get(t.Context(), id)
		found, _ := differences(t, r, id)
		if err != nil || run.State != reconcile.Done || len(found) != 350 || run.Kept != 350 || run.Pages != 4 {
			t.Errorf("the next process: %+v, %v, %d differences; want 350 in 4 pages", run, err, len(found))
		}
		if docs, err := w.Docs(t.Context(), store.DocFilter{Kind: "reconciliation-page"}, 50); err != nil || len(docs) != 4 {
			t.Errorf("%d pages are kept, %v; want 4", len(docs), err)
		}
	})
}

// An order that names an account, and was added before orders had an alias, is of no known account,
// and is not compared.
func TestOrderWithoutAnAlias(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		for key, body := range map[string]string{"own": `{"amount":100,"currency":"CNY"}`, "shop's": `{"amount":100,"currency":"CNY","account":"shop"}`} {
			w.add(&bellman.Task{Key: key, MerchantNo: "M1", OrderNo: key, Event: order.EventWatch, Body: []byte(body),
				Status: bellman.Status{Data: fmt.Appendf(nil, `{"stage":"decided","order_state":"PAID","decided_at":%d}`, noon.UnixMilli())}})
		}
		r := w.runs()
		run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, 1)
		if found, _ := differences(t, r, run.ID); !sameSet(found, []string{"missing_there own"}) {
			t.Errorf("%q; want that of the queue's own account alone", found)
		}
	})
}

// A process that leads no longer writes no further page: the next one compares anew.
func TestLeadershipLostBetweenPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		for i := range 350 {
			w.line(fmt.Sprint("N", i), 100)
		}
		w.loses = true
		r := w.runs()
		run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, 1)
		if docs, err := w.Docs(t.Context(), store.DocFilter{Kind: "reconciliation-page"}, 50); err != nil || len(docs) != 1 || run.State != reconcile.Running {
			t.Errorf("%d pages, %v, %s; want one, and the run not done", len(docs), err, run.State)
		}
	})
}

// A late payment of another amount than the order's is what bellman knows: a bill that has it
// agrees.
func TestLatePaymentOfAnotherAmount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		for no, there := range map[string]int64{"A1": 70, "A2": 100} {
			w.line(no, there)
			w.add(&bellman.Task{
				Key: "M1/" + no, Origin: &bellman.Origin{Alias: order.Alias(account, order.OfPayment, no)}, MerchantNo: "M1", OrderNo: no, Event: order.EventWatch, Body: []byte(`{"amount":100,"currency":"CNY"}`),
				Status: bellman.Status{Data: fmt.Appendf(nil, `{"stage":"decided","order_state":"CLOSED","late_payment":"PAID","decided_at":1,"taken":{"transaction_id":"T%s","amount":70,"currency":"CNY","paid_at":%q}}`, no, noon.UTC().Format(time.RFC3339))},
			})
		}
		r := w.runs()
		run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, 1)
		if found, _ := differences(t, r, run.ID); !sameSet(found, []string{"amount A2"}) {
			t.Errorf("%q; want a difference of A2 alone, of which the bill has another amount than was found", found)
		}
	})
}

// A gateway may write a currency in small letters, or as its number: the bill's CNY is the same.
func TestCurrencyAsTheGatewayWritesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		for i, currency := range []string{"cny", "156", "CNY", "USD"} {
			no := fmt.Sprint("A", i)
			w.line(no, 100)
			w.add(&bellman.Task{
				Key: "M1/" + no, Origin: &bellman.Origin{Alias: order.Alias(account, order.OfPayment, no)}, MerchantNo: "M1", OrderNo: no, Event: order.EventWatch, Body: []byte(`{}`),
				Status: bellman.Status{Data: fmt.Appendf(nil, `{"stage":"decided","order_state":"PAID","decided_at":1,"taken":{"transaction_id":"T%s","amount":100,"currency":%q,"paid_at":%q}}`, no, currency, noon.UTC().Format(time.RFC3339))},
			})
		}
		r := w.runs()
		run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, 1)
		if found, _ := differences(t, r, run.ID); !sameSet(found, []string{"amount A3"}) {
			t.Errorf("%q; want a difference of A3 alone, which is in USD", found)
		}
	})
}
