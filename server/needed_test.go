package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

// An order that becomes UNKNOWN and one that was paid with another amount are told to the queue of
// their alarms, and are listed.
func TestOrdersNeedPerson(t *testing.T) {
	t.Parallel()
	d, chat := newDesk(t), newChat(t)
	d.answer = func(no, _ string, _ int, _ *http.Request) (int, string) {
		if no == "2" {
			return says("SUCCESS") // 1299
		}
		return says("NOTPAY")
	}
	queues := append(d.settings(t, "then: tell", "schedule: 0s", "on_exhausted: alert"), d.parse(t, `queues: {ops: {url: "`+chat.URL+`"}}`)...)
	api, _, _ := serve(t, t.TempDir(), func(c *config.Config) {
		c.Queues = queues
		c.Alarms = []config.Alarm{
			{Name: "undecided", When: "order_needs_action", Queue: "orders", To: "ops"},
			{Name: "amount", When: "amount_mismatch", To: "ops"},
			{Name: "late", When: "late_payment", To: "ops"},
		}
	})
	for _, no := range []string{"1", "2"} {
		create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: no, Amount: 1, Currency: "CNY"})
	}
	passes(t, "both told", func() bool { return len(chat.told()) == 2 })
	told := chat.told()
	if slices.Sort(told); !slices.Equal(told, []string{"began amount", "began undecided"}) {
		t.Errorf("told %v", told)
	}
	passes(t, "both listed", func() bool {
		all, err := api.Alarms(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(all.Alarms) == 2 && !slices.ContainsFunc(all.Alarms, func(a client.Alarm) bool {
			return a.Affected == nil || a.Affected.MerchantNo != "M1" || a.Affected.State != "UNKNOWN" || a.Affected.Why == "" || a.Until != nil || a.Queue != "orders"
		})
	})
}

// A payment of a closed order that its service reports, and that the watch for a late payment finds
// as well, raises one alarm.
func TestLatePaymentRaisesOneAlarm(t *testing.T) {
	t.Parallel()
	d, chat := newDesk(t), newChat(t)
	d.answer = func(_, _ string, _ int, _ *http.Request) (int, string) { return says("SUCCESS") }
	queues := append(d.settings(t, "then: tell", "schedule: 1h*", "late_watch: 1s", "on_exhausted: close"), d.parse(t, `queues: {ops: {url: "`+chat.URL+`"}}`)...)
	api, _, _ := serve(t, t.TempDir(), func(c *config.Config) {
		c.Queues = queues
		c.Alarms = []config.Alarm{{Name: "late", When: "late_payment", To: "ops"}}
	})
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "1"})
	ref := client.OrderRef{MerchantNo: "M1", OrderNo: "1"}
	for _, outcome := range []string{"CLOSED", "PAID"} {
		if _, err := api.CompleteOrder(t.Context(), ref, client.CompleteTask{Outcome: outcome}); err != nil {
			t.Fatalf("complete as %s: %v", outcome, err)
		}
	}
	passes(t, "the watch finds the payment", func() bool {
		o, err := api.Order(t.Context(), ref, 0)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(o.Tasks, func(of client.Task) bool { return of.Event == "order.late_watch" && of.Reason == "late_payment" })
	})
	told := 0
	for task, err := range api.Tasks(t.Context(), client.Filter{Queue: "ops"}) {
		if told++; err != nil || !strings.HasPrefix(task.Key, "alarm/late/") {
			t.Errorf("told %+v, %v", task, err)
		}
	}
	if told != 1 {
		t.Errorf("%d tasks report the payment; want 1", told)
	}
	passes(t, "the alarm is listed", func() bool {
		all, err := api.Alarms(t.Context())
		if err != nil || len(all.Alarms) > 1 {
			t.Fatalf("alarms %+v, %v; want 1", all, err)
		}
		return len(all.Alarms) == 1
	})
}

// A late payment needs a person although no alarm rule covers it.
func TestLatePaymentWithoutARuleNeedsAPerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.answer = func(_, _ string, _ int, _ *http.Request) (int, string) { return says("SUCCESS") }
	api, _, _ := serve(t, t.TempDir(), func(c *config.Config) {
		c.Queues = d.settings(t, "then: tell", "schedule: 1h*", "late_watch: 1s", "on_exhausted: close")
	})
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "1"})
	if _, err := api.CompleteOrder(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: "1"}, client.CompleteTask{Outcome: "CLOSED"}); err != nil {
		t.Fatal(err)
	}
	passes(t, "the late payment needs a person", func() bool {
		needs, err := api.Attention(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(needs.Items, func(i client.Attention) bool {
			return i.Kind == "late_payment" && i.OrderNo == "1" && i.Untold == "no rule of alarms covers it"
		})
	})
}

// What a node found just before it stopped is listed after the stop.
func TestCaseIsKeptAtAStop(t *testing.T) {
	t.Parallel()
	d, dir := newDesk(t), t.TempDir()
	d.answer = func(_, _ string, _ int, _ *http.Request) (int, string) { return says("SUCCESS") }
	rules := func(c *config.Config) {
		c.Store = "pebble:" + dir
		c.Queues = d.settings(t, "then: tell", "schedule: 1h*", "late_watch: 1s", "on_exhausted: close")
	}
	api, _, stop := serveWith(t, server.Options{AlarmEvery: 24 * time.Hour}, rules)
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "1"})
	ref := client.OrderRef{MerchantNo: "M1", OrderNo: "1"}
	for _, outcome := range []string{"CLOSED", "PAID"} {
		if _, err := api.CompleteOrder(t.Context(), ref, client.CompleteTask{Outcome: outcome}); err != nil {
			t.Fatalf("complete as %s: %v", outcome, err)
		}
	}
	stop()
	api, _, _ = serveWith(t, server.Options{AlarmEvery: 24 * time.Hour}, rules)
	needs, err := api.Attention(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(needs.Items, func(i client.Attention) bool { return i.Kind == "late_payment" && i.OrderNo == "1" }) {
		t.Errorf("after a restart %+v need a person; want the late payment", needs.Items)
	}
}
