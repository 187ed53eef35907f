package alarm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/results"
)

// Each decision by hand is told by a task of its own, with the order, the person and the reason.
// The alarm stays raised for an hour, whatever becomes of its rule, and its end is not told.
func TestDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		watch, err := alarm.New(alarm.Options{Engine: w, Store: w, Logger: slog.New(slog.DiscardHandler), Every: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		w.mu.Unlock()
		defer w.mu.Lock()
		queues := map[string]results.Queue{"ops": {Name: "ops"}}
		watch.SetRules([]alarm.Rule{
			{Name: "decided", When: alarm.OrderDecided, To: "ops"},
			{Name: "of-wx", When: alarm.OrderDecided, Queue: "wx", To: "gone"},
			{Name: "of-ali", When: alarm.OrderDecided, Queue: "ali", To: "ops"},
		}, queues)
		by := bellman.By{Who: "finance", From: "10.1.2.3", Reason: "seen at the bank: PAID"}
		var keys []string
		task := &bellman.Task{ID: bellman.NewID(), Queue: "wx", MerchantNo: "M1", OrderNo: "O1"}
		for range 2 { // of one order: a payment is decided after it was closed
			time.Sleep(time.Second)
			at := time.Now()
			told := watch.Decided(task, by, at)
			if len(told) != 1 {
				t.Fatalf("%d tasks tell of a decision; want that of the rule for all queues", len(told))
			}
			keys = append(keys, told[0].Key)
			if told[0].Queue != "ops" || told[0].CreatedBy() != "finance" || told[0].Event != "bellman.alarm.began" {
				t.Errorf("told by %+v", told[0])
			}
			var event struct {
				ID   string
				Data struct {
					Name, When, Queue, Text string
					ZH                      string `json:"text_zh"`
					Decision                alarm.Decision
				}
			}
			if err := json.Unmarshal(told[0].Body, &event); err != nil {
				t.Fatal(err)
			}
			d := event.Data
			if want := (alarm.Decision{Task: task.ID.String(), MerchantNo: "M1", OrderNo: task.OrderNo, Who: "finance", From: "10.1.2.3", Reason: by.Reason}); d.Decision != want {
				t.Errorf("told of %+v; want %+v", d.Decision, want)
			}
			if text := "ALARM decided: order " + task.OrderNo + " of merchant M1 was decided by hand by finance: seen at the bank: PAID; since "; event.ID != told[0].Key || d.Name != "decided" || d.When != "order_decided_by_hand" || d.Queue != "wx" ||
				!strings.HasPrefix(d.Text, text) || !strings.HasPrefix(d.ZH, "【告警】decided：商户 M1 的订单 "+task.OrderNo+" 由 finance 人工定案：seen at the bank: PAID；始于 ") {
				t.Errorf("told %s", told[0].Body)
			}
			task.Updated = at
			watch.Keep(t.Context(), task)
			watch.Keep(t.Context(), task) // the same outcome again
		}
		if keys[0] == keys[1] {
			t.Errorf("two decisions have one key, %s", keys[0])
		}
		raised := func() string {
			all, err := watch.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, a := range all {
				names = append(names, fmt.Sprintf("%s %s %t", a.Name, a.Untold, a.Raised()))
			}
			return strings.Join(names, ", ")
		}
		if got := strings.Count(raised(), "decided  true") + strings.Count(raised(), "of-wx there is no queue gone true"); got != 4 || strings.Contains(raised(), "ali") {
			t.Errorf("raised are %s; want two of each rule that covers wx", raised())
		}
		for _, rules := range [][]alarm.Rule{nil, {{Name: "decided", When: alarm.OrderDecided, To: "ops"}}} {
			watch.SetRules(rules, queues)
			runFor(t, watch, 55*time.Minute/2)
			if strings.Contains(raised(), "false") {
				t.Errorf("within the hour: %s", raised())
			}
		}
		runFor(t, watch, 6*time.Minute)
		if strings.Contains(raised(), "true") || len(w.told) > 0 {
			t.Errorf("after an hour: %s, told %v; want all ended, and nothing told", raised(), w.told)
		}
		runFor(t, watch, 25*time.Hour)
		if got := raised(); got != "" {
			t.Errorf("after a day: %s; want none", got)
		}
	})
}

// What is kept is bounded; what is told is not.
func TestDecidedIsBounded(t *testing.T) {
	w := newWorld(t)
	watch, err := alarm.New(alarm.Options{Engine: w, Store: w, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Unlock()
	defer w.mu.Lock()
	watch.SetRules([]alarm.Rule{{Name: "decided", When: alarm.OrderDecided, To: "ops"}}, map[string]results.Queue{"ops": {Name: "ops"}})
	told := 0
	for range 150 {
		task := &bellman.Task{ID: bellman.NewID(), Queue: "wx", Status: bellman.Status{Updated: time.Now()}}
		told += len(watch.Decided(task, bellman.By{}, task.Updated))
		watch.Keep(t.Context(), task)
	}
	if all, err := watch.List(t.Context()); err != nil || len(all) != 100 || told != 150 {
		t.Errorf("%d alarms are kept (%v) and %d told of; want 100 and 150", len(all), err, told)
	}
}

// runFor runs a watch for some time.
func runFor(t *testing.T, watch *alarm.Watch, d time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	if err := watch.Run(ctx); err != nil {
		t.Error(err)
	}
}
