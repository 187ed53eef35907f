package poll

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// A refund is requested and polled at its account, which must be the one that it was accepted for.
func TestRefundsOfAccounts(t *testing.T) {
	shop := &fake{query: reads(Waiting), request: func(*order.Order) RequestAnswer {
		return RequestAnswer{Answer: said("taken"), Reading: RequestAccepted}
	}}
	all := map[string]order.Account[Channel]{"shop": {Channel: shop, Identity: "wechatpay:1:7", Endpoint: "wechatpay:1"}, "asks": {Channel: onlyQueries{shop}}}
	h := newHouse(t, func(r *Rules) {
		r.Request, r.Then.Default[0].HasURL = true, true
		r.Accounts = func(_ context.Context, name string) (order.Account[Channel], error) {
			at, ok := all[name]
			if !ok {
				return at, fmt.Errorf("account %s: %w", name, bellman.ErrNotFound)
			}
			return at, nil
		}
	})
	for name, want := range map[string]string{"none": "is not registered", "asks": "cannot request"} {
		task := &bellman.Task{Queue: "refunds", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"account":"` + name + `"}`)}
		if err := h.handler.Check(task); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a refund at %s: %v; want it refused: %s", name, err, want)
		}
	}
	task := &bellman.Task{Queue: "refunds", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"account":"shop"}`)}
	if err := h.handler.Check(task); err != nil || task.Alias() != "wechatpay:1:7/refund:O1-R1" || task.Endpoint != "wechatpay:1" {
		t.Fatalf("alias %q, endpoint %q, %v; want those of the account", task.Alias(), task.Endpoint, err)
	}
	attempt := func(number int) bellman.Verdict {
		v := h.handler.Attempt(t.Context(), task, number)
		task.Data = v.Data
		return v
	}
	attempt(1) // announces the request
	was := all["shop"]
	all["shop"] = order.Account[Channel]{Channel: shop, Identity: "wechatpay:2"}
	if v := attempt(2); v.Next != bellman.Again || v.Result != bellman.Blocked || !strings.Contains(v.Error, "another one now") || len(shop.asked) != 0 {
		t.Fatalf("another account under the name: %+v, asked %v; want nobody asked", v, shop.asked)
	}
	all["shop"] = was
	if attempt(3); fmt.Sprint(shop.asked) != "[query O1-R1]" || len(h.channel.asked) != 0 {
		t.Errorf("the account was asked %v, the queue's own channel %v; want a query at the account", shop.asked, h.channel.asked)
	}
}

// A refund that was announced at a queue's own channel is not requested at another account that the
// queue has since.
func TestRefundsOfAnotherAccount(t *testing.T) {
	h := newHouse(t, requests, func(r *Rules) { r.Identity = "wechatpay:1" })
	task := h.add(bellman.Task{MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"vars":{"amount":"100"},"notify":{"url":"https://m.example/n"}}`)})
	h.attempt(task) // announces the request
	h.handler.rules.Identity = "wechatpay:2"
	if v := h.attempt(task); v.Next != bellman.Again || v.Result != bellman.Blocked || !strings.Contains(v.Error, "another account now, wechatpay:2") || len(h.channel.asked) != 0 {
		t.Fatalf("%+v, asked %v; want nobody asked, and an attempt that says so", v, h.channel.asked)
	}
	h.handler.rules.Identity = "wechatpay:1"
	if h.attempt(task); fmt.Sprint(h.channel.asked) != "[query O1-R1]" {
		t.Errorf("asked %v when the account is back; want a query", h.channel.asked)
	}
}
