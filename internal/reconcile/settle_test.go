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

// Many queries do not hold up another run for longer than a turn, and each order is asked about once.
func TestSettleTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		for i := range 350 {
			w.order(fmt.Sprint("N", i), "PAID")
		}
		w.slow = 10 * time.Second // a page
		r := w.runs()
		run, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Date: date})
		if err != nil {
			t.Fatal(err)
		}
		work(t, r, 1)
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
