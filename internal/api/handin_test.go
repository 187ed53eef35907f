package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// oneChannel takes the notices that its queue's channel signed, which say so.
type oneChannel struct{ asked *[]string }

func (c oneChannel) Receive(_ context.Context, queue, _ string, _ func(string) bool, raw *order.RawNotice) ([]*order.Told, error) {
	*c.asked = append(*c.asked, queue)
	if string(raw.Body) != queue {
		return nil, &order.RefusedNotice{Why: errors.New("not signed for " + queue)}
	}
	return []*order.Told{{Queue: queue, Result: order.NoticeApplied}}, nil
}

// A payer who chose one channel and then another left an order at both. A notice of either channel
// is taken.
func TestNoticeOfAnOrderAtTwoChannels(t *testing.T) {
	var asked []string
	o := withOrders()
	o.Notices = oneChannel{&asked}
	m := make1(t, o)
	in := func(queue string) func(*bellman.Task) {
		return func(task *bellman.Task) { task.Queue, task.Kind = queue, bellman.KindOrder }
	}
	m.place(t, "orders", "M1/1", order.Standing{State: "PENDING"}, in("wechat"))
	m.place(t, "orders", "M1/1/again", order.Standing{State: "CLOSED"}, func(task *bellman.Task) { in("wechat")(task); ended(task) })
	m.place(t, "orders", "M1/1", order.Standing{State: "CLOSED"}, func(task *bellman.Task) { in("alipay")(task); ended(task) })
	for _, tt := range []struct {
		body   string
		status int
		says   string
		asked  []string
	}{
		{"wechat", http.StatusOK, `"queue":"wechat"`, []string{"wechat"}},
		{"alipay", http.StatusOK, `"queue":"alipay"`, []string{"wechat", "alipay"}},
		{"stripe", http.StatusUnprocessableEntity, "not signed for wechat", []string{"wechat", "alipay"}},
	} {
		asked = nil
		w := m.do("POST", "/v1/orders/M1/1/notice", `{"body":"`+tt.body+`"}`)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.says) || !slices.Equal(asked, tt.asked) {
			t.Errorf("a notice of %s: %d %s, and %q were asked; want %d, %s, and %q", tt.body, w.Code, w.Body, asked, tt.status, tt.says, tt.asked)
		}
	}
}
