package server_test

import (
	"log/slog"
	"net/http"
	"slices"
	"testing"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
)

// An order that becomes UNKNOWN and one that was paid with another amount are told to the queue of their
// alarms, and are listed.
func TestOrdersNeedPerson(t *testing.T) {
	d, chat := newDesk(t), newChat(t)
	d.answer = func(no, _ string, _ int, _ *http.Request) (int, string) {
		if no == "2" {
			return says("SUCCESS") // 1299
		}
		return says("NOTPAY")
	}
	queues := append(d.settings(t, "then: tell", "schedule: 0s", "on_exhausted: alert"), d.parse(t, `queues: {ops: {url: "`+chat.URL+`"}}`)...)
	api, _, stop := serveLogged(t, t.TempDir(), slog.New(slog.DiscardHandler), func(c *config.Config) {
		c.Queues = queues
		c.Alarms = []config.Alarm{
			{Name: "undecided", When: "order_needs_action", Queue: "orders", To: "ops"},
			{Name: "amount", When: "amount_mismatch", To: "ops"},
			{Name: "late", When: "late_payment", To: "ops"},
		}
	})
	t.Cleanup(stop)
	for _, no := range []string{"1", "2"} {
		create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: no, Amount: 1, Currency: "CNY"})
	}
	eventually(t, "both told", func() bool { return len(chat.told()) == 2 })
	told := chat.told()
	if slices.Sort(told); !slices.Equal(told, []string{"began amount", "began undecided"}) {
		t.Errorf("told %v", told)
	}
	eventually(t, "both listed", func() bool {
		all, err := api.Alarms(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(all.Alarms) == 2 && !slices.ContainsFunc(all.Alarms, func(a client.Alarm) bool {
			return a.Affected == nil || a.Affected.MerchantNo != "M1" || a.Affected.State != "UNKNOWN" || a.Affected.Why == "" || a.Until != nil || a.Queue != "orders"
		})
	})
}
