package alarm_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/results"
)

// While the store accepts no tasks, an alarm is listed with the reason why it is not sent. It is
// sent when there is room.
func TestStoreIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.run(overdue)()
		listed := func() alarm.Alarm {
			t.Helper()
			all, err := alarm.List(t.Context(), w)
			if err != nil || len(all) != 1 {
				t.Fatalf("List = %+v, %v; want one alarm", all, err)
			}
			return all[0]
		}
		w.full = true
		w.overdue(61 * time.Second)
		w.pass(time.Minute)
		w.expect()
		if a := listed(); !a.Raised() || a.Untold != "the store is full: it is sent when there is room" {
			t.Errorf("listed %+v; want it raised, and why it is not sent", a)
		}
		w.full = false
		w.pass(10 * time.Second)
		w.expect("began 1m1s")
		if a := listed(); a.Untold != "" {
			t.Errorf("once it was sent: untold %q", a.Untold)
		}
		w.full = true // its end waits for room too
		w.overdue(0)
		w.pass(2 * time.Minute)
		w.full = false
		w.pass(10 * time.Second)
		w.expect("began 1m1s", "ended 3m11s")
	})
}

// A reported alarm, too, is listed while the store is full, and sent once when there is room. Its
// caller need not repeat it: it would compare a whole bill again.
func TestReportWhileTheStoreIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		watch, err := alarm.New(alarm.Options{Engine: w, Store: w, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		watch.SetRules(nil, map[string]results.Queue{"ops": {Name: "ops"}})
		defer w.start(watch)()
		w.full = true
		a := alarm.Alarm{ID: "reconcile/pay/2026-11-21", Name: "reconcile-pay", When: alarm.ReconcileFailed, Queue: "pay", To: "ops", Date: "2026-11-21", Since: time.Now()}
		for range 2 {
			w.mu.Unlock()
			err := watch.Report(t.Context(), a)
			w.mu.Lock()
			if err != nil {
				t.Fatalf("Report() = %v; want the alarm kept", err)
			}
		}
		w.pass(time.Minute)
		w.expect()
		w.full = false
		w.pass(2 * time.Minute)
		w.expect("began 1m1s")
		all, err := alarm.List(t.Context(), w)
		if err != nil || len(all) != 1 || all[0].Raised() || all[0].Reason != "reported" || all[0].Untold != "" {
			t.Errorf("List = %+v, %v; want one that was reported", all, err)
		}
	})
}
