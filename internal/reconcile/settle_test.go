package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/store"
)

// Settle asks about each order once, and notes what came of it.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		w.paid[w.plant()] = true
		r := w.runs()
		run, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Date: date})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Settle(t.Context(), run.ID, bellman.By{}); !errors.Is(err, bellman.ErrConflict) {
			t.Errorf("Settle before the result = %v; want ErrConflict", err)
		}
		work(t, r, 1)
		for range 2 { // the second request asks nothing
			if _, err := r.Settle(t.Context(), run.ID, bellman.By{Who: "ops"}); err != nil {
				t.Fatal(err)
			}
			work(t, r, 1)
			run, err = r.Get(t.Context(), run.ID)
			if s := run.Settling; err != nil || s.State != reconcile.Done || s.Asked != 5 || s.Settled != 1 || s.Failed != 0 || s.Who != "ops" {
				t.Errorf("settling %+v, %v; want 5 orders asked about, 1 settled", s, err)
			}
			if len(w.settled) != 1 || len(w.settled[0]) != 5 {
				t.Errorf("asked about %v; want five orders at once", w.settled)
			}
		}
		_, items := differences(t, r, run.ID)
		for _, item := range items {
			asked := item.Asked
			switch {
			case item.Kind == bill.MissingHere:
				if asked != nil {
					t.Errorf("%+v was asked about, and bellman has no order", item)
				}
			case asked == nil || asked.Settled != (item.Kind == bill.StateDiffers) || asked.Reading == "":
				t.Errorf("%s: asked %+v; want settled for the state alone", item.Kind, asked)
			}
		}
	})
}

// Somebody decides an order by hand, because the channel gives no readable answer. It agrees with
// the bill then: at once if it is asked about after that, otherwise with the next request, which
// asks nothing.
func TestSettleSeesWhatWasDecidedByHand(t *testing.T) {
	for _, before := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			afterwards()
			w := newWorld(t)
			id := w.plant()
			w.unreadable = true
			r := w.runs()
			run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, 1)
			decide := func() {
				task, err := w.Task(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				to := task.Status
				to.Version, to.State, to.Data = to.Version+1, bellman.Succeeded, []byte(`{"stage":"decided","order_state":"PAID","decided_at":1}`)
				b := store.Batch{Changes: []store.Change{{ID: id, Version: task.Version, To: to}}}
				if err := w.Store.Commit(t.Context(), &b); err != nil || b.Changes[0].Err != nil {
					t.Fatal(err, b.Changes[0].Err)
				}
			}
			if before {
				decide()
			}
			for i := range 2 {
				if _, err := r.Settle(t.Context(), run.ID, bellman.By{Who: "ops"}); err != nil {
					t.Fatal(err)
				}
				work(t, r, 1)
				want := 0
				if before || i > 0 {
					want = 1
				}
				run, err := r.Get(t.Context(), run.ID)
				if s := run.Settling; err != nil || s.Settled != want || s.Asked != 5 || len(w.settled) != 1 {
					t.Errorf("decided before: %t, request %d: %+v, %v, asked %d times; want %d settled, and one call", before, i+1, s, err, len(w.settled), want)
				}
				if i == 0 && !before {
					decide()
				}
			}
		})
	}
}

// A payment or refund that failed in the bill does not agree with a query that finds it paid.
func TestSettleOfWhatFailedThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		w.queue.Refunds = []string{"refunds"}
		w.paid[w.order("A1", "PAID")] = true
		l := w.line("A1", 100)
		l.State, l.Failed = "PAYERROR", true
		w.order("A2", "PAID")
		w.line("A2", 100)
		w.paid[w.add(&bellman.Task{Queue: "refunds", Kind: bellman.KindPoll, Key: "M1/R2", MerchantNo: "M1", OrderNo: "A2", Event: poll.EventPoll, Body: []byte(`{"ref_no":"R2","vars":{"amount":"30"}}`),
			Status: bellman.Status{Data: fmt.Appendf(nil, `{"stage":"decided","poll_state":"DONE","decided_at":1,"requests":1,"first_at":%d,"request_at":%[1]d}`, noon.UnixMilli())}})] = true
		*w.line("A2", 0) = bill.Line{ChannelOrderNo: "A2", RefundNo: "R2", Kind: bill.Refund, RefundAmount: 30, Currency: "CNY", State: "ABNORMAL", Failed: true, Time: noon.UTC(), Number: len(w.lines)}
		r := w.runs()
		run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, 1)
		if found, _ := differences(t, r, run.ID); !sameSet(found, []string{"state A1", "refund A2"}) {
			t.Fatalf("%q; want the payment and the refund that failed there", found)
		}
		if _, err := r.Settle(t.Context(), run.ID, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		work(t, r, 1)
		_, items := differences(t, r, run.ID)
		for _, item := range items {
			if item.Asked == nil || item.Asked.Settled {
				t.Errorf("%s %s: asked %+v; want it asked about, and not settled", item.Kind, item.ChannelOrderNo, item.Asked)
			}
		}
	})
}

// Many queries do not hold up another run for longer than a turn, and each order is asked about
// once.
func TestSettleTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		for i := range 350 {
			w.order(fmt.Sprint("N", i), "PAID")
		}
		w.slow = 10 * time.Second // a page
		r := w.runs()
		run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, 1)
		if _, err := r.Settle(t.Context(), run.ID, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		time.Sleep(5 * time.Second)
		second, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Date: "2000-01-01"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if got, err := r.Get(t.Context(), second.ID); err != nil || got.State != reconcile.Done {
			t.Errorf("after 25 s the other run is %+v, %v; want it done", got, err)
		}
		time.Sleep(time.Minute)
		cancel()
		<-ended
		run, err = r.Get(t.Context(), run.ID)
		if err != nil || run.Settling.State != reconcile.Done || run.Settling.Asked != 350 || len(w.settled) != 4 {
			t.Errorf("settling %+v, %v, in %d calls; want 350 orders in 4", run.Settling, err, len(w.settled))
		}
	})
}
