package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/order"
)

// Orders are listed by state, channel, account, amount and time, without what only belongs to them.
func TestListOrders(t *testing.T) {
	m := make1(t, withOrders())
	m.o.Channels = func(queue string) string { return map[string]string{"orders": "alipay"}[queue] }
	c := dial(t, m, "")
	at := func(no string, s order.Standing, change func(*bellman.Task)) {
		m.place(t, "orders", no, s, func(o *bellman.Task) {
			o.OrderNo = no
			change(o)
		})
	}
	body := func(text string) func(*bellman.Task) { return func(o *bellman.Task) { o.Body = []byte(text) } }
	at("A", order.Standing{State: "PAID"}, body(`{"account":"shop1","amount":8888,"currency":"CNY"}`))
	at("B", order.Standing{State: "PENDING"}, body(`{"account":"shop2","amount":8889,"currency":"CNY"}`))
	at("C", order.Standing{State: "UNKNOWN"}, func(o *bellman.Task) { o.MerchantNo = "M2" })
	at("D", order.Standing{State: "CLOSED"}, body(`{"account":"shop1","amount":90,"currency":"JPY"}`))
	at("D", order.Standing{State: "CLOSED", Beside: true}, body(`{"account":"shop1","amount":90,"currency":"JPY"}`))
	m.place(t, "gone", "E", order.Standing{State: "PAID"}, func(o *bellman.Task) {
		o.Kind, o.OrderNo, o.Endpoint, o.Data = bellman.KindOrder, "E", "wechatpay:1900000001", life(order.Standing{State: "PAID"})
	})
	m.place(t, "q", "told", order.Standing{}, nil)
	for _, tt := range []struct {
		f    client.OrderFilter
		want string
	}{
		{client.OrderFilter{}, "EDCBA"},
		{client.OrderFilter{OrderState: "PAID"}, "EA"},
		{client.OrderFilter{OrderState: "PAID", Account: "shop1"}, "A"},
		{client.OrderFilter{Account: "shop1"}, "DA"},
		{client.OrderFilter{Channel: "alipay"}, "DCBA"},
		{client.OrderFilter{Channel: "wechatpay"}, "E"},
		{client.OrderFilter{AmountMin: "88.88", AmountMax: "88.88"}, "A"},
		{client.OrderFilter{AmountMin: "88.89"}, "DB"},
		{client.OrderFilter{MerchantNo: "M2"}, "C"},
		{client.OrderFilter{Queue: "gone"}, "E"},
		{client.OrderFilter{CreatedFrom: client.At(time.Now().Add(time.Hour))}, ""},
	} {
		numbers := ""
		for o, err := range c.Orders(t.Context(), tt.f) {
			if err != nil {
				t.Fatalf("%+v: %v", tt.f, err)
			}
			numbers += o.OrderNo
		}
		if numbers != tt.want {
			t.Errorf("%+v: %q; want %q", tt.f, numbers, tt.want)
		}
	}
	page, err := c.ListOrders(t.Context(), client.OrderFilter{Account: "shop1"}, 1, "")
	if err != nil || len(page.Orders) != 1 || page.NextCursor == "" {
		t.Fatalf("%+v, %v; want one order, and more", page, err)
	}
	if o := page.Orders[0]; fmt.Sprintf("%s %s %s %d %s", o.OrderState, o.Channel, o.Account, o.Amount, o.Currency) != "CLOSED alipay shop1 90 JPY" {
		t.Errorf("%+v; want the closed order of 90 JPY", o)
	}
	if next, err := c.ListOrders(t.Context(), client.OrderFilter{Account: "shop1"}, 1, page.NextCursor); err != nil || len(next.Orders) != 1 || next.Orders[0].OrderNo != "A" {
		t.Errorf("%+v, %v; want A on the next page", next, err)
	}
	for query, why := range map[string]string{
		"account=shop2&cursor=" + page.NextCursor: "another filter",
		"amount_min=much":                         "is no amount",
		"order_state=paid":                        "order_state",
		"created_from=2026-11-21T00:00:00Z&created_to=2026-11-20T00:00:00Z": "is not before created_to",
	} {
		if w := m.do("GET", "/v1/orders?"+query, ""); w.Code != 422 || !strings.Contains(w.Body.String(), why) {
			t.Errorf("%s: %d %s; want 422, %s", query, w.Code, w.Body, why)
		}
	}
}
