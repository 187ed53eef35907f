package alarm_test

import (
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

// Each order that needs a person is told by a task of its own, up to twenty an hour; then one task
// says that there are more. The alarms are listed for an hour as raised.
func TestNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		watch, err := alarm.New(alarm.Options{Engine: w, Store: w, Logger: slog.New(slog.DiscardHandler), Chinese: func(why string) string {
			return map[string]string{"a payment came late": "关单后收到支付"}[why]
		}})
		if err != nil {
			t.Fatal(err)
		}
		w.mu.Unlock()
		defer w.mu.Lock()
		watch.SetRules([]alarm.Rule{
			{Name: "late", When: alarm.LatePayment, To: "ops"},
			{Name: "late-ali", When: alarm.LatePayment, Queue: "ali", To: "ops"},
			{Name: "polls", When: alarm.PollNeedsAction, To: "ops"},
			{Name: "unclaimed", When: alarm.PaymentWithoutOrder, To: "ops"},
		}, map[string]results.Queue{"ops": {Name: "ops"}})
		need := func(when, refNo string) []bellman.Task {
			task := &bellman.Task{ID: bellman.NewID(), Queue: "wx", MerchantNo: "M1", OrderNo: "O1"}
			return watch.Needed(when, "", task, alarm.Case{RefNo: refNo, State: "CLOSED", Why: "a payment came late"}, time.Now())
		}
		if told := need(alarm.AmountMismatch, ""); told != nil {
			t.Errorf("told %v without a rule", told)
		}
		for refNo, want := range map[string]string{
			"":   "ALARM late: order O1 of merchant M1 in queue wx is CLOSED: a payment came late; since ",
			"R1": "ALARM polls: refund or transfer R1 of order O1 of merchant M1 in queue wx is CLOSED: a payment came late; since ",
		} {
			when := alarm.LatePayment
			if refNo != "" {
				when = alarm.PollNeedsAction
			}
			told := need(when, refNo)
			if len(told) != 1 {
				t.Fatalf("%d tasks tell of a case; want that of the rule for all queues", len(told))
			}
			var event struct {
				Data struct {
					Queue, Text string
					ZH          string `json:"text_zh"`
					Affected    alarm.Case
				}
			}
			if err := json.Unmarshal(told[0].Body, &event); err != nil {
				t.Fatal(err)
			}
			if d := event.Data; !strings.HasPrefix(d.Text, want) || !strings.Contains(d.ZH, "M1") || !strings.Contains(d.ZH, "CLOSED：关单后收到支付") || d.Queue != "wx" || d.Affected.RefNo != refNo || d.Affected.OrderNo != "O1" || d.Affected.Task == "" {
				t.Errorf("told %+v", d)
			}
		}
		unclaimed := watch.Needed(alarm.PaymentWithoutOrder, "", &bellman.Task{ID: bellman.NewID(), Queue: "wx", OrderNo: "O1"}, alarm.Case{State: "UNKNOWN", Why: "somebody paid"}, time.Now())
		if body := string(unclaimed[0].Body); !strings.Contains(body, "ALARM unclaimed: order O1 is not in queue wx: somebody paid; since ") || !strings.Contains(body, "队列 wx 中没有订单 O1：") {
			t.Errorf("a payment without an order is told as %s", body)
		}
		again := &bellman.Task{ID: bellman.NewID(), Queue: "wx", MerchantNo: "M1", OrderNo: "O1"}
		for range 30 { // whose commit fails
			if told := watch.Needed(alarm.LatePayment, "wx/M1/O1/late_payment", again, alarm.Case{State: "CLOSED"}, time.Now()); strings.Contains(string(told[0].Body), "more than") {
				t.Fatalf("one case that is reported again and again is told as %s", told[0].Body)
			}
		}
		keys := map[string]bool{}
		var last bellman.Task
		for range 500 {
			last = need(alarm.LatePayment, "")[0]
			keys[last.Key] = true
		}
		if len(keys) != 19 || !strings.Contains(string(last.Body), "more than 20 cases of late_payment") {
			t.Errorf("%d tasks tell of 502 cases within an hour, the last %s; want 21", len(keys)+2, last.Body)
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)))
		if told := need(alarm.LatePayment, ""); strings.Contains(string(told[0].Body), "more than") {
			t.Errorf("in the next hour: %s; want the case", told[0].Body)
		}
		raised := func() (n int) {
			all, err := watch.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range all {
				if a.Raised() {
					n++
				}
			}
			return n
		}
		runFor(t, watch, time.Minute)
		if n := raised(); n != 1 { // the others are of the hour before
			t.Errorf("%d alarms are raised; want 1", n)
		}
		runFor(t, watch, 2*time.Hour)
		if n := raised(); n != 0 || len(w.told) > 0 {
			t.Errorf("after two hours %d are raised and %v was told; want nothing", n, w.told)
		}
	})
}

// A case with a name is one case, whichever task finds it and when: its report has one key, and it
// is listed once.
func TestNeededOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		watch, err := alarm.New(alarm.Options{Engine: w, Store: w, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		w.mu.Unlock()
		defer w.mu.Lock()
		watch.SetRules([]alarm.Rule{{Name: "late", When: alarm.LatePayment, To: "ops"}}, map[string]results.Queue{"ops": {Name: "ops"}})
		keys := map[string]bool{}
		began := time.Now()
		for _, once := range []string{"wx/M1/O1/late_payment", "wx/M1/O1/late_payment", "wx/M1/O1/duplicate_payment/1"} {
			task := &bellman.Task{ID: bellman.NewID(), Queue: "wx", MerchantNo: "M1", OrderNo: "O1"}
			for _, told := range watch.Needed(alarm.LatePayment, once, task, alarm.Case{State: "CLOSED", Why: "a payment came late"}, time.Now()) {
				keys[told.Key] = true
			}
			runFor(t, watch, time.Minute)
		}
		all, err := watch.List(t.Context())
		if err != nil || len(all) != 2 || !all[1].Since.Equal(began) || len(keys) != 2 {
			t.Errorf("%d alarms are listed: %+v, %v, with the keys %v; want two, the first as it was found first", len(all), all, err, keys)
		}
	})
}

// A case that no rule covers is listed for a week all the same, so that whoever reads what needs a
// person finds it. Its node need not be the one that evaluates the rules.
func TestNeededWithoutARule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var watches [2]*alarm.Watch
		for i := range watches {
			var err error
			if watches[i], err = alarm.New(alarm.Options{Engine: w, Store: w, Logger: slog.New(slog.DiscardHandler)}); err != nil {
				t.Fatal(err)
			}
			watches[i].SetRules([]alarm.Rule{{Name: "late", When: alarm.LatePayment, Queue: "ali", To: "ops"}}[:i], map[string]results.Queue{"ops": {Name: "ops"}})
		}
		w.mu.Unlock()
		defer w.mu.Lock()
		leader, other := watches[0], watches[1]
		runFor(t, leader, time.Minute)
		for _, queue := range []string{"wx", "ali"} {
			task := &bellman.Task{ID: bellman.NewID(), Queue: queue, MerchantNo: "M1", OrderNo: "O1"}
			if told := other.Needed(alarm.LatePayment, "", task, alarm.Case{State: "CLOSED", Why: "a payment came late"}, time.Now()); (len(told) == 0) != (queue == "wx") {
				t.Errorf("%d tasks report a case of queue %s", len(told), queue)
			}
		}
		runFor(t, other, 10*time.Second)
		all, err := leader.List(t.Context())
		if err != nil || len(all) != 2 {
			t.Fatalf("%d alarms are listed, %v; want both cases", len(all), err)
		}
		for _, a := range all {
			want := alarm.Alarm{Name: "late", To: "ops"}
			if a.Queue == "wx" {
				want = alarm.Alarm{Name: "late-payment", Untold: "no rule of alarms covers it"}
			}
			if !a.Raised() || a.Name != want.Name || a.To != want.To || a.Untold != want.Untold || a.Affected == nil || a.Affected.OrderNo != "O1" {
				t.Errorf("listed %+v; want %+v of order O1", a, want)
			}
		}
		for after, want := range []int{2, 0} {
			runFor(t, leader, 4*24*time.Hour)
			if all, err := leader.List(t.Context()); err != nil || len(all) != want {
				t.Errorf("after %d days %d alarms are listed, %v; want %d", 4*(after+1), len(all), err, want)
			}
		}
	})
}

// A condition keeps a hundred cases. Another one replaces the oldest, unless they are all of one
// day.
func TestNeededReplacesTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		watch, err := alarm.New(alarm.Options{Engine: w, Store: w, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		watch.SetRules(nil, nil)
		w.mu.Unlock()
		defer w.mu.Lock()
		began := time.Now()
		for hour := range 30 {
			for i := range 10 {
				task := &bellman.Task{ID: bellman.NewID(), Queue: "wx", MerchantNo: "M1", OrderNo: fmt.Sprint(hour, "-", i)}
				watch.Needed(alarm.LatePayment, "", task, alarm.Case{State: "CLOSED"}, time.Now())
			}
			runFor(t, watch, time.Minute)
			time.Sleep(time.Hour - time.Minute)
			all, err := watch.List(t.Context())
			if err != nil || len(all) != min(10*(hour+1), 100) {
				t.Fatalf("after %d hours %d cases are listed, %v", hour+1, len(all), err)
			}
			if first, want := all[len(all)-1].Since.Sub(began), time.Duration(max(hour-24, 0))*time.Hour; first != want {
				t.Fatalf("after %d hours the first case is that of %s; want %s", hour+1, first, want)
			}
		}
	})
}

// A case that the store does not take at first is listed once it does: the list of what needs a
// person is made of it.
func TestNeededIsKeptAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		watch, err := alarm.New(alarm.Options{Engine: w, Store: w, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		w.unsure, w.lost = 2, true
		w.mu.Unlock()
		defer w.mu.Lock()
		watch.SetRules([]alarm.Rule{{Name: "late", When: alarm.LatePayment, To: "ops"}}, map[string]results.Queue{"ops": {Name: "ops"}})
		for _, no := range []string{"O1", "O2"} {
			watch.Needed(alarm.LatePayment, "", &bellman.Task{ID: bellman.NewID(), Queue: "wx", MerchantNo: "M1", OrderNo: no}, alarm.Case{State: "CLOSED"}, time.Now())
		}
		runFor(t, watch, time.Minute)
		if all, err := watch.List(t.Context()); err != nil || len(all) != 2 {
			t.Errorf("%d alarms are listed, %v; want both cases", len(all), err)
		}
	})
}
