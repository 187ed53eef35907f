package order

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// registered are accounts by their names.
type registered map[string]Account[Channel]

func (r registered) get(_ context.Context, name string) (Account[Channel], error) {
	at, ok := r[name]
	if !ok {
		return at, fmt.Errorf("account %s: %w", name, bellman.ErrNotFound)
	}
	return at, nil
}

func account(identity string, c Channel) Account[Channel] {
	return Account[Channel]{Channel: c, Identity: identity, Endpoint: strings.Join(strings.Split(identity, ":")[:2], ":")}
}

// Each order is asked about at its own account, under the account's alias and endpoint. An order
// that names none is one of the default account, and stays so.
func TestOrdersOfAccounts(t *testing.T) {
	first, second := &fake{query: reads(Paid)}, &fake{query: reads(Pending)}
	all := registered{"shop1": account("wechatpay:1:7", first), "shop2": account("wechatpay:1:8", second)}
	h := newHouse(t, func(r *Rules) { r.Then.Default[0].HasURL, r.Accounts, r.Default = true, all.get, "shop2" })
	one := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"account":"shop1"}`)})
	two := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O2"})
	if one.Alias() != "wechatpay:1:7/payment:O1" || one.Endpoint != "wechatpay:1" || two.Alias() != "wechatpay:1:8/payment:O2" || two.Endpoint != "wechatpay:1" {
		t.Errorf("aliases %q and %q, endpoints %q and %q; want those of the accounts", one.Alias(), two.Alias(), one.Endpoint, two.Endpoint)
	}
	h.handler.rules.Default = "shop1"
	h.attempt(one)
	h.attempt(two)
	if len(first.asked) != 1 || first.asked[0].OrderNo != "O1" || first.asked[0].Account != "shop1" || len(second.asked) != 1 || second.asked[0].OrderNo != "O2" || len(h.channel.asked) != 0 {
		t.Errorf("shop1 was asked %+v, shop2 %+v, the queue's own %+v", first.asked, second.asked, h.channel.asked)
	}
	task := bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O3", Body: []byte(`{"account":"shop9"}`)}
	wrong := new(bellman.Invalid)
	if err := h.handler.Check(&task); !errors.As(err, &wrong) || len(wrong.Fields) != 1 || wrong.Fields[0].Field != "account" {
		t.Errorf("an order of an account that is not registered: %v; want account refused alone", err)
	}
}

// An order whose account has gone, or is another one under the same name, waits: nobody is asked,
// every attempt says why, and the order is not decided. It goes on when the account is back.
func TestAccountThatHasGone(t *testing.T) {
	shop, other := &fake{query: reads(Pending)}, &fake{query: reads(NotFound), close: closes(CloseNotExist)}
	all := registered{"shop": account("wechatpay:1:7", shop)}
	h := newHouse(t, func(r *Rules) { r.Then.Default[0].HasURL, r.Accounts, r.ChannelExpires = true, all.get, true })
	task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: "3s*20", Body: []byte(`{"account":"shop","expires":"30m"}`)})
	for name, at := range map[string]*Account[Channel]{"has gone": nil, "is another one": {Channel: other, Identity: "wechatpay:2", Endpoint: "wechatpay:2"}} {
		delete(all, "shop")
		if at != nil {
			all["shop"] = *at
		}
		for end := h.now.Add(time.Hour); h.now.Before(end); { // past the order's expiry
			v := h.attempt(task)
			if v.Next != bellman.Again || v.Result != bellman.Blocked || !strings.Contains(v.Error, `account "shop"`) {
				t.Fatalf("the account %s: %+v; want an attempt that says so", name, v)
			}
		}
	}
	if len(shop.asked) != 0 || len(other.asked) != 0 || StandingOf(task).State != Pending.String() {
		t.Fatalf("asked %d and %d times, the order is %s; want nobody asked, and it PENDING", len(shop.asked), len(other.asked), StandingOf(task).State)
	}
	all["shop"], shop.query = account("wechatpay:1:7", shop), reads(Paid)
	if h.attempt(task); StandingOf(task).State != Paid.String() {
		t.Errorf("the order is %s when the account is back; want PAID", StandingOf(task).State)
	}
}

// The channel of a queue is configured as another account. What the other account says of the
// queue's orders, such as that there is no such order, is about other orders: it is not asked, and
// they go on when the account is back.
func TestQueueOfAnotherAccount(t *testing.T) {
	h := newHouse(t, func(r *Rules) { r.Identity, r.ChannelExpires = "wechatpay:1", true })
	h.channel.query, h.channel.close = reads(NotFound), closes(CloseNotExist)
	task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: "3s*20", Body: []byte(`{"expires":"30m","notify":{"url":"https://m.example/n"}}`)})
	h.handler.rules.Identity = "wechatpay:1:7"            // a sub-merchant of the same
	for end := h.now.Add(time.Hour); h.now.Before(end); { // past the order's expiry
		if v := h.attempt(task); v.Next != bellman.Again || v.Result != bellman.Blocked || !strings.Contains(v.Error, "another account now, wechatpay:1:7") || len(h.channel.asked) != 0 {
			t.Fatalf("%+v, asked %+v; want nobody asked, and an attempt that says so", v, h.channel.asked)
		}
	}
	h.handler.rules.Identity, h.channel.query = "wechatpay:1", reads(Paid)
	if h.attempt(task); StandingOf(task).State != Paid.String() {
		t.Errorf("the order is %s when the account is back; want PAID", StandingOf(task).State)
	}
	gateway := newHouse(t)
	task = gateway.order()
	gateway.handler.rules.Identity = "wechatpay:1" // perhaps the account that the gateway had
	if gateway.attempt(task); len(gateway.channel.asked) != 1 {
		t.Errorf("an order of a gateway's time: asked %d times; want once", len(gateway.channel.asked))
	}
}

// The watch after a close goes on at the order's account, and is added although the account has
// gone.
func TestWatchOfAnAccount(t *testing.T) {
	shop := &fake{query: reads(Closed)}
	all := registered{"shop": account("wechatpay:1:7", shop)}
	h := newHouse(t, func(r *Rules) { r.Then.Default[0].HasURL, r.Accounts = true, all.get })
	task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"account":"shop"}`)})
	v := h.handler.Attempt(t.Context(), task, 1)
	if len(v.Follow) != 2 {
		t.Fatalf("%d tasks follow a close; want the notification and a watch", len(v.Follow))
	}
	watch := v.Follow[1]
	delete(all, "shop")
	if err := h.handler.Check(&watch); err != nil {
		t.Fatalf("a watch of an account that has gone: %v", err)
	}
	all["shop"] = account("wechatpay:1:8", shop)
	asked := len(shop.asked)
	if v := h.handler.Attempt(t.Context(), &watch, 1); len(shop.asked) != asked || !strings.Contains(v.Error, "another one now") {
		t.Errorf("another account under the name was asked %d times: %q", len(shop.asked)-asked, v.Error)
	}
	all["shop"] = account("wechatpay:1:7", shop)
	if h.handler.Attempt(t.Context(), &watch, 1); len(shop.asked) != asked+1 || watch.Endpoint != "wechatpay:1" {
		t.Errorf("the account was asked %d times by the watch, whose endpoint is %q", len(shop.asked)-asked, watch.Endpoint)
	}
}

// An order's number never has the alias of a refund.
func TestAliasesOfOrdersAndRefunds(t *testing.T) {
	if a, b := Alias("wechatpay:1", OfPayment, "refund:R1"), Alias("wechatpay:1", OfRefund, "R1"); a == b {
		t.Errorf("the order refund:R1 and the refund R1 have the alias %q", a)
	}
}

// A task is asked about at the account that accepted it, or nowhere.
func TestPlaced(t *testing.T) {
	down := errors.New("down")
	all := Accounts[string](func(_ context.Context, name string) (Account[string], error) {
		switch name {
		case "shop":
			return Account[string]{Channel: "shop's", Identity: "wx:1"}, nil
		case "down":
			return Account[string]{}, down
		}
		return Account[string]{}, bellman.ErrNotFound
	})
	for _, tt := range []struct {
		accounts              Accounts[string]
		name, alias, identity string
		want                  string // the channel, or a part of the error
	}{
		{all, "", "wx:9/payment:1", "wx:9", "own"},
		{all, "", "", "wx:9", "own"}, // accepted before tasks had aliases of accounts
		{all, "", "wx:8/payment:1", "", "own"},
		{all, "", "queue:orders/payment:1", "wx:9", "own"},
		{all, "", "wx:99/payment:1", "wx:9", "the queue's channel is another account now, wx:9"},
		{nil, "shop", "wx:9/payment:1", "wx:9", "own"},
		{nil, "shop", "wx:8/payment:1", "wx:9", "own"},
		{all, "shop", "wx:1/payment:1", "wx:9", "shop's"},
		{all, "shop", "", "wx:9", "shop's"},
		{all, "shop", "wx:11/payment:1", "wx:9", `account "shop" is another one now, wx:1`},
		{all, "gone", "wx:1/payment:1", "wx:9", `account "gone" is not registered any more`},
		{all, "down", "wx:1/payment:1", "wx:9", `account "down": down`},
	} {
		got, err := tt.accounts.Placed(t.Context(), tt.name, tt.alias, "own", tt.identity)
		if err != nil {
			got = err.Error()
		}
		if (err == nil) != !strings.Contains(tt.want, " ") || !strings.HasPrefix(got, tt.want) {
			t.Errorf("Placed(%q, %q, %q) = %s; want %s", tt.name, tt.alias, tt.identity, got, tt.want)
		}
	}
}

// A new task names an account that is there, and that does what the queue needs.
func TestAccept(t *testing.T) {
	own := Account[string]{Channel: "own"}
	shop := Account[string]{Channel: "shop's", Identity: "wx:1"}
	all := Accounts[string](func(_ context.Context, name string) (Account[string], error) {
		switch name {
		case "shop":
			return shop, nil
		case "wrong":
			return shop, &bellman.Invalid{Fields: []bellman.FieldError{{Field: "account", Problem: "is wrong"}}}
		case "down":
			return shop, errors.New("down")
		case "panics":
			panic("x")
		}
		return shop, bellman.ErrNotFound
	})
	able := func(string) error { return nil }
	unable := func(string) error { return errors.New("cannot") }
	for _, tt := range []struct {
		accounts Accounts[string]
		name     string
		can      func(string) error
		want     string // the channel, the field that is wrong, or a part of the error
	}{
		{all, "", unable, "own"}, {nil, "shop", unable, "own"}, {all, "shop", able, "shop's"}, {all, "shop", unable, "account: cannot"},
		{all, "wrong", able, "account: is wrong"}, {all, "gone", able, `account: "gone" is not registered: want the name of an account`},
		{all, "down", able, `account "down": down`}, {all, "panics", able, `account "panics": the channel panicked: x`},
	} {
		bad := new(bellman.Invalid)
		at, err := tt.accounts.Accept(bad, tt.name, own, tt.can)
		got := at.Channel
		if err != nil {
			got = err.Error()
		} else if bad.Err() != nil {
			got = bad.Error()
		}
		if got != tt.want {
			t.Errorf("Accept(%q) = %s; want %s", tt.name, got, tt.want)
		}
	}
}

func TestAccountOf(t *testing.T) {
	for want, task := range map[string]bellman.Task{
		"shop": {Body: []byte(`{"account":"shop","expires":"1h"}`)}, "": {Event: EventNotice, Body: []byte(`{"account":"shop"}`)},
	} {
		if got := AccountOf(&task); got != want {
			t.Errorf("AccountOf(%s) = %q; want %q", task.Body, got, want)
		}
	}
	for _, body := range []string{"", "{", `{"account":1}`, `{}`} {
		if got := AccountOf(&bellman.Task{Body: []byte(body)}); got != "" {
			t.Errorf("AccountOf(%s) = %q; want none", body, got)
		}
	}
}

// An account that cannot reverse takes no order of a queue that does.
func TestAccountThatCannotReverse(t *testing.T) {
	for _, tt := range []struct {
		channel     Channel
		onExhausted OnExhausted
		want        string
	}{{onlyChannel{}, OnExhaustedReverse, "account"}, {&fake{}, OnExhaustedReverse, "<nil>"}, {onlyChannel{}, OnExhaustedClose, "<nil>"}} {
		all := registered{"shop": account("wechatpay:1:7", tt.channel)}
		h := newHouse(t, func(r *Rules) { r.Then.Default[0].HasURL, r.Accounts, r.OnExhausted = true, all.get, tt.onExhausted })
		task := bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"account":"shop"}`)}
		if got := fieldsOf(h.handler.Check(&task)); got != tt.want {
			t.Errorf("%T in a queue that does %s: %s; want %s", tt.channel, tt.onExhausted, got, tt.want)
		}
	}
}
