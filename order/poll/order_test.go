package poll

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// watched returns the task of an order O1 of merchant M1 that is known at a channel, with its
// payments there.
func watched(t *testing.T, account, number string, payments ...string) *bellman.Task {
	t.Helper()
	h, err := order.New(neverAsked{}, order.Rules{Identity: account, OnExhausted: order.OnExhaustedClose, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ask := order.Ask{ChannelOrderNo: number}
	task := &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1"}
	if task.Body, err = ask.Encode(); err != nil {
		t.Fatal(err)
	}
	if err := h.Check(task); err != nil {
		t.Fatal(err)
	}
	for i, payment := range payments {
		v, err := h.Complete(task, bellman.Completion{Outcome: "PAID", Detail: order.Taken{"transaction_id": payment}}, created)
		if err != nil {
			t.Fatal(err)
		}
		task.Data = v.Data
		if task.State = bellman.Succeeded; i == 0 && len(v.Data) == 0 {
			t.Fatalf("%s did not decide the order", payment)
		}
	}
	return task
}

// watching returns the watch for a late payment of such an order, which has found one.
func watching(t *testing.T, account, number, payment string) *bellman.Task {
	t.Helper()
	ask := order.Ask{ChannelOrderNo: number, Watch: &order.Watch{Of: "M1/O1", State: "CLOSED", Decided: created, Until: created, Alias: order.Alias(account, order.OfPayment, number)}}
	body, err := ask.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Event: order.EventLateWatch, Body: body,
		Status: bellman.Status{Data: []byte(`{"stage":"watching","order_state":"CLOSED","decided_at":1,"late_payment":"PAID","taken":{"transaction_id":"` + payment + `"}}`)}}
}

type neverAsked struct{ order.Channel }

// A refund without the number of its order at the channel gets the one under which the order is
// known at its account, and is refused where that cannot be said.
func TestOrderOfRefund(t *testing.T) {
	const here, there = "wechatpay:1", "wechatpay:2"
	notice := order.Told{Account: here, Of: order.OfPayment, OrderNo: "N1", Result: order.NoticeRefused}
	record := notice.Record(&bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1"})
	tell := &bellman.Task{Queue: "tell", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"order_no":"O1"}`)}
	for name, tt := range map[string]struct {
		account string
		known   []*bellman.Task
		body    string
		want    string // of the channel; empty: it is refused
		refused string
	}{
		"unknown":               {here, nil, `{"ref_no":"R1"}`, "O1", ""},
		"known":                 {here, []*bellman.Task{tell, &record, watched(t, here, "C1")}, `{"ref_no":"R1"}`, "C1", ""},
		"under its own number":  {here, []*bellman.Task{watched(t, here, "")}, `{"ref_no":"R1"}`, "O1", ""},
		"twice, one number":     {here, []*bellman.Task{watched(t, here, "C1"), watched(t, here, "C1")}, `{"ref_no":"R1"}`, "C1", ""},
		"also elsewhere":        {here, []*bellman.Task{watched(t, there, "C2"), watched(t, here, "C1"), watched(t, "", "C3")}, `{"ref_no":"R1"}`, "C1", ""},
		"elsewhere, and here":   {here, []*bellman.Task{watched(t, there, "C2"), watched(t, here, "")}, `{"ref_no":"R1"}`, "O1", ""},
		"said":                  {here, []*bellman.Task{watched(t, here, "C1")}, `{"ref_no":"R1","channel_order_no":"C9"}`, "C9", ""},
		"at a gateway":          {"", []*bellman.Task{watched(t, "", "C1")}, `{"ref_no":"R1"}`, "C1", ""},
		"by a gateway":          {here, []*bellman.Task{watched(t, "", "C1")}, `{"ref_no":"R1"}`, "C1", ""},
		"two numbers":           {here, []*bellman.Task{watched(t, here, "C2"), watched(t, here, "C1")}, `{"ref_no":"R1"}`, "", "channel_order_no: is missing: the channel knows this order under the numbers C1, C2"},
		"two, one payment":      {here, []*bellman.Task{watched(t, here, "C2", "42"), watched(t, here, "", "41")}, `{"ref_no":"R1","vars":{"transaction_id":"42"}}`, "C2", ""},
		"two, own number":       {here, []*bellman.Task{watched(t, here, "C2", "42"), watched(t, here, "", "41")}, `{"ref_no":"R1","vars":{"transaction_id":"41"}}`, "O1", ""},
		"two, a late payment":   {here, []*bellman.Task{watching(t, here, "C2", "42"), watched(t, here, "C1", "41")}, `{"ref_no":"R1","vars":{"transaction_id":"42"}}`, "C2", ""},
		"two, paid elsewhere":   {here, []*bellman.Task{watched(t, there, "C3", "42"), watched(t, here, "C2"), watched(t, here, "C1")}, `{"ref_no":"R1","vars":{"transaction_id":"42"}}`, "", "channel_order_no: is missing"},
		"two, unknown payment":  {here, []*bellman.Task{watched(t, here, "C2", "42"), watched(t, here, "", "41")}, `{"ref_no":"R1","vars":{"transaction_id":"43"}}`, "", "channel_order_no: is missing: the channel knows this order under the numbers C2, O1"},
		"of another account":    {here, []*bellman.Task{watched(t, there, "C1")}, `{"ref_no":"R1"}`, "", "account: the refund is asked of wechatpay:1, but the order is one of wechatpay:2"},
		"of another, as we say": {here, []*bellman.Task{watched(t, there, "C1")}, `{"ref_no":"R1","channel_order_no":"O1"}`, "O1", ""},
	} {
		h := newHouse(t, func(r *Rules) {
			r.Identity, r.Then = tt.account, order.Then{}
			r.Orders = func(_ context.Context, merchantNo, orderNo string) ([]*bellman.Task, error) {
				if merchantNo != "M1" || orderNo != "O1" {
					t.Errorf("%s: the order %s/%s is looked for", name, merchantNo, orderNo)
				}
				return tt.known, nil
			}
		})
		task := &bellman.Task{Queue: "refunds", MerchantNo: "M1", OrderNo: "O1", Body: []byte(tt.body)}
		err := h.handler.Check(task)
		if tt.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%s: %v; want %s", name, err, tt.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ask, err := ParseAsk(task.Body)
		if o := ask.order(task); err != nil || o.OrderNo != tt.want || o.OwnNo != "O1" {
			t.Errorf("%s: the channel is asked about the order %s, %v; want %s", name, o.OrderNo, err, tt.want)
		}
	}
}

// A refund that somebody adds without a number, and the one that bellman requests of the same
// payment, have one number. It stays the same when the order is not known any more.
func TestOneNumberOfARefund(t *testing.T) {
	const here = "wechatpay:1"
	automatic := func(account, decision, payment string) *bellman.Task {
		task := RequestRefund(false)("refunds", &order.News{
			Of: &bellman.Task{MerchantNo: "M1", OrderNo: "O1"}, Decision: decision, Order: order.Order{OrderNo: "C1", OwnNo: "O1"},
			Taken: []byte(`{"transaction_id":"` + payment + `","amount":100,"currency":"CNY"}`),
		})
		h := newHouse(t, requests, func(r *Rules) { r.Identity, r.Then = account, order.Then{} })
		if err := h.handler.Check(&task); err != nil {
			t.Fatal(err)
		}
		return &task
	}
	late, second := automatic(here, order.LatePayment, "41"), automatic(here, order.DuplicatePayment, "42")
	atGateway := automatic("", order.LatePayment, "41")
	twice := watched(t, here, "C1", "41", "42")
	for name, tt := range map[string]struct {
		account string
		known   []*bellman.Task
		body    string
		want    *bellman.Task // nil: it is refused
	}{
		"late":                       {here, []*bellman.Task{watched(t, here, "C1", "41")}, `{}`, late},
		"late, by its payment":       {here, []*bellman.Task{watched(t, here, "C1", "41")}, `{"vars":{"transaction_id":"41"}}`, late},
		"late, by its watch":         {here, []*bellman.Task{watched(t, here, "C1"), watching(t, here, "C1", "41")}, `{"vars":{"transaction_id":"41"}}`, late},
		"late, as said":              {here, nil, `{"channel_order_no":"C1"}`, late},
		"the order is deleted":       {here, []*bellman.Task{late}, `{}`, late},
		"the order is not paid here": {here, []*bellman.Task{watched(t, here, "C1")}, `{"vars":{"transaction_id":"7"}}`, late},
		"first of two":               {here, []*bellman.Task{twice}, `{"vars":{"transaction_id":"41"}}`, late},
		"second":                     {here, []*bellman.Task{twice}, `{"vars":{"transaction_id":"42"}}`, second},
		"second, as said":            {here, []*bellman.Task{twice, watched(t, here, "C2", "43")}, `{"channel_order_no":"C1","vars":{"transaction_id":"42"}}`, second},
		"at a gateway":               {"", []*bellman.Task{watched(t, "", "C1")}, `{}`, atGateway},
		"at a gateway, deleted":      {"", []*bellman.Task{atGateway}, `{}`, atGateway},
		"asked for before the order": {here, []*bellman.Task{watched(t, here, "C2"), late}, `{}`, nil},
		"at a gateway, before":       {"", []*bellman.Task{watched(t, "", "C2"), atGateway}, `{}`, nil},
	} {
		h := newHouse(t, requests, func(r *Rules) {
			r.Identity, r.Then = tt.account, order.Then{}
			r.Orders = func(context.Context, string, string) ([]*bellman.Task, error) { return tt.known, nil }
		})
		task := &bellman.Task{Queue: "refunds", MerchantNo: "M1", OrderNo: "O1", Body: []byte(tt.body)}
		switch err := h.handler.Check(task); {
		case tt.want == nil:
			if err == nil || !strings.Contains(err.Error(), "channel_order_no: is missing") {
				t.Errorf("%s: %s, %v; want channel_order_no asked for", name, task.Key, err)
			}
		case err != nil || task.Key != tt.want.Key || task.Alias() != tt.want.Alias():
			t.Errorf("%s: %s, %s, %v; want %s, %s", name, task.Key, task.Alias(), err, tt.want.Key, tt.want.Alias())
		}
	}
}

// A payment that is the second of one order at the channel and the first of another is refunded as
// what it is of the order that is said.
func TestSecondPaymentOfAnotherNumber(t *testing.T) {
	known := []*bellman.Task{watched(t, "wechatpay:1", "C1", "41", "42"), watched(t, "wechatpay:1", "C2", "42")}
	for number, want := range map[string]string{"C1": "M1/O1/C1-D" + hashed("42")[:8], "C2": "M1/O1/C2-R1"} {
		h := newHouse(t, requests, func(r *Rules) {
			r.Identity, r.Then = "wechatpay:1", order.Then{}
			r.Orders = func(context.Context, string, string) ([]*bellman.Task, error) { return known, nil }
		})
		task := &bellman.Task{Queue: "refunds", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"channel_order_no":"` + number + `","vars":{"transaction_id":"42"}}`)}
		if err := h.handler.Check(task); err != nil || task.Key != want {
			t.Errorf("%s: %s, %v; want %s", number, task.Key, err, want)
		}
	}
}

// Nobody refunds another merchant's order, under whatever number the channel knows it.
func TestOwnerOfARefund(t *testing.T) {
	const other = `{"ref_no":"R1"}`
	owner := &bellman.Task{MerchantNo: "M2"}
	away := errors.New("the store is away")
	for name, tt := range map[string]struct {
		of       order.NoticeOf
		identity string
		known    *bellman.Task
		fails    error
		merchant string
		body     string
		want     string // a part of the error; empty: it is accepted
	}{
		"another's":               {order.OfRefund, "wechatpay:1", owner, nil, "M1", other, "order_no: the order that the channel knows by this number is another merchant's"},
		"another's, as said":      {order.OfRefund, "wechatpay:1", owner, nil, "M1", `{"ref_no":"R1","channel_order_no":"C1"}`, "channel_order_no: the order that the channel knows"},
		"its own":                 {order.OfRefund, "wechatpay:1", owner, nil, "M2", other, ""},
		"nobody's":                {order.OfRefund, "wechatpay:1", nil, nil, "M1", other, ""},
		"a payment's":             {order.OfRefund, "wechatpay:1", owner, nil, "M1", `{"ref_no":"R1","vars":{"transaction_id":"42"}}`, ""},
		"a transfer":              {order.OfTransfer, "wechatpay:1", owner, nil, "M1", other, ""},
		"at a gateway":            {order.OfRefund, "", owner, nil, "M1", other, ""},
		"the store does not know": {order.OfRefund, "wechatpay:1", nil, away, "M1", other, "the store is away"},
	} {
		h := newHouse(t, func(r *Rules) {
			r.Of, r.Identity, r.Then = tt.of, tt.identity, order.Then{}
			r.Known = func(_ context.Context, account, number string) (*bellman.Task, error) {
				if want := map[bool]string{true: "C1", false: "O1"}[strings.Contains(tt.body, "C1")]; account != "wechatpay:1" || number != want {
					t.Errorf("%s: asked about %s at %s; want %s", name, number, account, want)
				}
				return tt.known, tt.fails
			}
		})
		err := h.handler.Check(&bellman.Task{Queue: "q", MerchantNo: tt.merchant, OrderNo: "O1", Body: []byte(tt.body)})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}
	}
}

// A store that does not answer accepts no refund: it would be asked for under a number that may be
// wrong. A transfer belongs to no order, and is accepted.
func TestOrderOfRefundNotFound(t *testing.T) {
	away := errors.New("the store is away")
	for of, want := range map[order.NoticeOf]error{order.OfRefund: away, order.OfTransfer: nil} {
		h := newHouse(t, func(r *Rules) {
			r.Of, r.Then = of, order.Then{}
			r.Orders = func(context.Context, string, string) ([]*bellman.Task, error) { return nil, away }
		})
		if err := h.handler.Check(&bellman.Task{Queue: "q", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"ref_no":"R1"}`)}); !errors.Is(err, want) {
			t.Errorf("a %s: %v; want %v", of, err, want)
		}
	}
}

// An amount without a currency gets that of the order, or else of the channel. Otherwise it would
// be shown as a bare number.
func TestCurrencyOfAnAmount(t *testing.T) {
	priced := watched(t, "wechatpay:1", "")
	ask, err := order.ParseAsk(priced.Body)
	if err != nil {
		t.Fatal(err)
	}
	ask.Amount, ask.Currency = 300, "HKD"
	if priced.Body, err = ask.Encode(); err != nil {
		t.Fatal(err)
	}
	other := watched(t, "wechatpay:1", "W2")
	ask.Currency = "JPY"
	if other.Body, err = ask.Encode(); err != nil {
		t.Fatal(err)
	}
	_, number, _ := order.KnownAs(priced)
	for name, tt := range map[string]struct {
		known   []*bellman.Task
		channel Channel
		vars    string
		want    string
	}{
		"that of the number's order": {[]*bellman.Task{other, priced}, inYuan{}, `{"amount":"300"},"channel_order_no":"` + number + `"`, "HKD"},
		"of an unknown number":       {[]*bellman.Task{priced}, neverQueried{}, `{"amount":"300"},"channel_order_no":"W9"`, ""},
		"the order's":                {[]*bellman.Task{priced}, inYuan{}, `{"amount":"300"}`, "HKD"},
		"the channel's":              {nil, inYuan{}, `{"amount":"300"}`, "CNY"},
		"nobody's":                   {nil, neverQueried{}, `{"amount":"300"}`, ""},
		"given":                      {[]*bellman.Task{priced}, inYuan{}, `{"amount":"300","currency":"USD"}`, "USD"},
		"no amount":                  {[]*bellman.Task{priced}, inYuan{}, `{"reason":"tea"}`, ""},
		"no variables":               {[]*bellman.Task{priced}, inYuan{}, `{}`, ""},
	} {
		h, err := New(tt.channel, Rules{Identity: "wechatpay:1", Log: slog.New(slog.DiscardHandler),
			Orders: func(context.Context, string, string) ([]*bellman.Task, error) { return tt.known, nil }})
		if err != nil {
			t.Fatal(err)
		}
		task := &bellman.Task{Queue: "refunds", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"ref_no":"R1","vars":` + tt.vars + `}`)}
		if err := h.Check(task); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if ask, err := ParseAsk(task.Body); err != nil || ask.Vars["currency"] != tt.want {
			t.Errorf("%s: currency %q, %v; want %q", name, ask.Vars["currency"], err, tt.want)
		}
	}
}

type neverQueried struct{ Channel }

type inYuan struct{ neverQueried }

func (inYuan) Currency() string { return "CNY" }
