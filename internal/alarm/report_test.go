package alarm_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/results"
)

// A reported alarm is told once, whatever its caller repeats, and is forgotten after a day.
func TestReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		watch, err := alarm.New(alarm.Options{Engine: w, Store: w, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		watch.SetRules(nil, map[string]results.Queue{"ops": {Name: "ops"}})
		a := alarm.Alarm{
			ID: "reconcile/pay/2026-11-21", Name: "reconcile-pay", When: alarm.ReconcileDifferences, Queue: "pay", To: "ops",
			Date: "2026-11-21", Value: 3, Counts: map[string]int{"amount": 1, "missing_there": 2}, Since: time.Now(),
		}
		report := func() {
			t.Helper()
			w.mu.Unlock()
			defer w.mu.Lock()
			if err := watch.Report(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		report()
		report()
		w.expect("began 0s")
		var event struct{ Data map[string]any }
		if err := json.Unmarshal(w.told[0].task.Body, &event); err != nil {
			t.Fatal(err)
		}
		d := event.Data
		if d["date"] != "2026-11-21" || d["counts"].(map[string]any)["missing_there"] != 2.0 || d["until"] != "" ||
			!strings.Contains(d["text"].(string), "3 differences between queue pay and the bill of 2026-11-21 (amount 1, missing in the bill 2)") ||
			!strings.Contains(d["text_zh"].(string), "3 处差异（金额不符 1, 账单缺失 2）") {
			t.Errorf("the event says %v", d)
		}
		all, err := alarm.List(t.Context(), w.Store)
		if err != nil || len(all) != 1 || all[0].Raised() || all[0].Reason != "reported" {
			t.Errorf("alarms %+v, %v; want one that ended", all, err)
		}
		stop := w.run()
		w.pass(time.Hour)
		a.Since = time.Now()
		report() // the same day, compared again
		w.pass(25 * time.Hour)
		stop()
		w.expect("began 0s", "began 1h0m0s")
		if all, err := alarm.List(t.Context(), w.Store); err != nil || len(all) != 0 {
			t.Errorf("after a day: %+v, %v; want none", all, err)
		}
	})
}
