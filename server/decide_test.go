package server_test

import (
	"crypto/sha256"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/config"
)

// An order service needs the role submit alone. Deciding by hand takes a role of its own and a
// reason, and each decision is told.
func TestDecidedByHand(t *testing.T) {
	d, chat := newDesk(t), newChat(t)
	queues := append(d.settings(t, "then: tell", "schedule: 1h*", "late_watch: 0s", "on_exhausted: close"), d.parse(t, `queues: {ops: {url: "`+chat.URL+`"}}`)...)
	_, s, _ := serve(t, t.TempDir(), func(c *config.Config) {
		c.Queues = queues
		c.Alarms = []config.Alarm{{Name: "decided", When: "order_decided_by_hand", To: "ops"}}
		for _, role := range access.Roles() {
			c.Keys = append(c.Keys, access.Key{Name: role, Role: access.Role(role), SHA256: sha256.Sum256([]byte(role + "-key"))})
		}
	})
	as := func(role string) *client.Client {
		t.Helper()
		api, err := client.New(client.Options{Server: "http://" + s.Addr(), Key: role + "-key"})
		if err != nil {
			t.Fatal(err)
		}
		return api
	}
	shop := as("submit")
	refs := map[string]client.OrderRef{}
	for _, no := range []string{"1", "2", "3", "4"} {
		refs[no] = client.OrderRef{MerchantNo: "M1", OrderNo: no}
		create(t, shop, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: no})
	}

	// What an order service does.
	if o, err := shop.Order(t.Context(), refs["1"], 0); err != nil || o.OrderState != "PENDING" {
		t.Errorf("submit reads its order: %+v, %v", o, err)
	}
	if settled, err := shop.SettleOrders(t.Context(), []client.OrderRef{refs["1"]}, 0, client.Because{}); err != nil || settled[0].Status >= 300 {
		t.Errorf("submit settles its order: %+v, %v", settled, err)
	}
	if _, err := shop.CompleteOrder(t.Context(), refs["1"], client.CompleteTask{Outcome: "PAID"}); err != nil {
		t.Errorf("submit completes its order: %v", err)
	}
	if _, err := shop.CancelOrder(t.Context(), refs["2"], client.Because{}); err != nil {
		t.Errorf("submit cancels its order: %v", err)
	}

	// What a person does.
	for role, status := range map[string]int{"submit": 403, "read": 403, "operate": 403} {
		if _, err := as(role).DecideOrder(t.Context(), refs["3"], client.DecideOrder{Outcome: "PAID", Reason: "seen"}); client.StatusOf(err) != status {
			t.Errorf("%s decides: %v; want %d", role, err, status)
		}
	}
	finance := as("decide")
	for _, reason := range []string{"", " "} {
		if _, err := finance.DecideOrder(t.Context(), refs["3"], client.DecideOrder{Outcome: "PAID", Reason: reason}); client.StatusOf(err) != 422 {
			t.Errorf("a decision because %q: %v; want 422", reason, err)
		}
	}
	for _, no := range []string{"3", "4"} {
		if task, err := finance.DecideOrder(t.Context(), refs[no], client.DecideOrder{Outcome: "PAID", Reason: "seen at the bank"}); err != nil || task.OrderState != "PAID" {
			t.Fatalf("the decision: %+v, %v", task, err)
		}
	}
	if task, err := as("admin").DecideOrder(t.Context(), refs["3"], client.DecideOrder{Outcome: "PAID", Reason: "I saw it too"}); err != nil || task.OrderState != "PAID" {
		t.Errorf("the same outcome again: %+v, %v; want it answered as done", task, err)
	}
	passes(t, "both decisions told", func() bool { return len(chat.told()) == 2 })
	if told := chat.told(); slices.ContainsFunc(told, func(text string) bool { return text != "began decided" }) {
		t.Errorf("told %v; want the two decisions alone", told)
	}
	alarms, err := as("read").Alarms(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(alarms.Alarms) != 2 {
		t.Errorf("%d alarms are listed; want one of each decision", len(alarms.Alarms))
	}
	for _, no := range []string{"3", "4"} {
		if !slices.ContainsFunc(alarms.Alarms, func(a client.Alarm) bool {
			return a.Name == "decided" && a.Until == nil && a.Decision != nil && a.Decision.OrderNo == no && a.Decision.Who == "decide" && a.Decision.Reason == "seen at the bank: PAID"
		}) {
			t.Errorf("the alarms %+v are not about order %s", alarms.Alarms, no)
		}
	}

	// The merchant is told, and whoever created the order reads that.
	passes(t, "the merchant told", func() bool { return d.notices() == 3 })
	o, err := shop.Order(t.Context(), refs["3"], 0)
	if err != nil || o.OrderState != "PAID" || len(o.Tasks) != 2 {
		t.Errorf("the order's page for submit: %+v, %v; want the order and its notice", o, err)
	}
	decided := 0
	for a, err := range as("read").Audits(t.Context(), client.AuditFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if a.Action == "decide" && a.Who == "decide" && strings.HasPrefix(a.Reason, "seen at the bank") {
			decided++
		}
	}
	if decided != 2 {
		t.Errorf("%d decisions are in the audit record; want 2", decided)
	}
}
