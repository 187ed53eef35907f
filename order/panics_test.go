package order

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
)

// Code of the program that panics costs what it would have returned. The order is decided, and the
// merchant is notified.
func TestPanicsOfRules(t *testing.T) {
	for name, rule := range map[string]func(*Rules){
		"taken": func(r *Rules) {
			r.Then.Taken = func(*Order, *QueryAnswer, string) (map[string]any, error) { panic("no fields") }
		},
		"life": func(r *Rules) {
			r.Life = func(context.Context, string, string) (Life, error) { panic("no life") }
		},
	} {
		h := newHouse(t, rule)
		h.channel.query = func(*Order) QueryAnswer {
			return QueryAnswer{Reading: Paid, Answer: said("paid"), Taken: Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "T1"}}
		}
		task := h.priced()
		v := h.attempt(task)
		var body map[string]any
		if v.Next != bellman.Succeed || v.Reason != "paid" || len(v.Follow) != 1 {
			t.Errorf("%s: %+v; want that the order is PAID, and that the merchant is notified", name, v)
		} else if err := json.Unmarshal(v.Follow[0].Body, &body); err != nil || body["order_state"] != "PAID" {
			t.Errorf("%s: told %s", name, v.Follow[0].Body)
		}
	}
}

// An Alert that panics adds no task, and its alert is in the log.
func TestPanicOfAlert(t *testing.T) {
	var log bytes.Buffer
	h := newHouse(t, func(r *Rules) {
		r.Log = slog.New(slog.NewTextHandler(&log, nil))
		r.Alert = func(*bellman.Task, Alert) []bellman.Task { panic("nobody to call") }
	})
	task := h.priced()
	h.channel.query = func(*Order) QueryAnswer {
		return QueryAnswer{Reading: Paid, Answer: said("paid"), Taken: Taken{"amount": int64(1), "currency": "CNY"}}
	}
	if v := h.attempt(task); v.Next != bellman.GiveUp || v.Reason != "amount_mismatch" || StateOf(task) != StateUnknown {
		t.Errorf("%+v; want that the order is UNKNOWN", v)
	}
	for _, want := range []string{"handler panicked", "nobody to call", "an order needs manual action", "another amount was paid"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, &log)
		}
	}
}

// A recipient whose task cannot be made is an alert. The others are notified.
func TestPanicOfRecipient(t *testing.T) {
	for name, bad := range map[string]Recipient{
		"refund": {Queue: "refunds", Refund: func(string, *News) bellman.Task { panic("no refund") }},
		"check": {Queue: "refunds", Refund: func(queue string, _ *News) bellman.Task { return bellman.Task{Queue: queue} },
			Check: func(*bellman.Task) error { panic("no check") }},
	} {
		fails := false
		h := newHouse(t, func(r *Rules) {
			good := Recipient{Queue: "refunds", Refund: func(queue string, n *News) bellman.Task {
				if fails {
					return bad.Refund(queue, n)
				}
				return bellman.Task{Queue: queue}
			}, Check: func(task *bellman.Task) error {
				if fails && bad.Check != nil {
					return bad.Check(task)
				}
				return nil
			}}
			r.Then.For = map[string][]Recipient{"PAID": {good, {Queue: "merchant-notify"}}}
		})
		task := h.priced()
		fails = true
		if err := h.handler.Check(&bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O2", Body: task.Body}); !strings.Contains(fmt.Sprint(err), "panicked: no "+name) {
			t.Errorf("%s: Check returned %v", name, err)
		}
		h.channel.query = func(*Order) QueryAnswer {
			return QueryAnswer{Reading: Paid, Answer: said("paid"), Taken: Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "T1"}}
		}
		if v := h.attempt(task); v.Reason != "paid" || len(v.Follow) != 1 || v.Follow[0].Queue != "merchant-notify" || len(h.alerts) != 1 {
			t.Errorf("%s: %+v, alerts %q", name, v, h.alerts)
		}
	}
}

// An account that cannot be looked up is not asked, and the order goes on.
func TestPanicOfAccounts(t *testing.T) {
	ready := true
	h := newHouse(t)
	h.channel.query = reads(Pending)
	own := h.channel
	var err error
	rules := h.handler.rules
	rules.Default = "wx1"
	rules.Accounts = func(context.Context, string) (Account[Channel], error) {
		if !ready {
			panic("no account")
		}
		return Account[Channel]{Channel: own, Identity: "wechatpay:1"}, nil
	}
	if h.handler, err = New(nil, rules); err != nil {
		t.Fatal(err)
	}
	task := h.order()
	ready = false
	if v := h.attempt(task); v.Next != bellman.Again || v.Due.IsZero() || !strings.Contains(v.Error, "no account") {
		t.Errorf("%+v; want another attempt", v)
	}
}
