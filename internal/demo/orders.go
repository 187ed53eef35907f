package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/order"
)

// The orders of the order scenes.
const (
	polled   = "20261120000002"
	unpaid   = "20261120000003"
	contests = "20261120000004"
)

func orderScenes() []scene {
	return []scene{
		{"An order is paid while the channel is asked about it.", paidWhilePolled},
		{"Nobody pays: the order is closed, and watched a little longer.", nobodyPays},
		{"The payment arrives in the same second as the close.", paidAtClose},
	}
}

func paidWhilePolled(ctx context.Context, s *stage) error {
	s.channel.place(polled, placed{paysAfter: 2})
	return s.watch(ctx, polled, "30m", "PAID", "query PENDING", "query PENDING", "query PAID")
}

func nobodyPays(ctx context.Context, s *stage) error {
	s.channel.place(unpaid, placed{})
	if err := s.watch(ctx, unpaid, "", "CLOSED", "query PENDING", "query PENDING", "query PENDING", "close closed", "query CLOSED"); err != nil {
		return err
	}
	// The late watch queries once more; nobody has paid.
	page, err := s.client.Order(ctx, client.OrderRef{MerchantNo: "M1001", OrderNo: unpaid}, 0)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(page.Tasks, func(t client.Task) bool { return t.Event == order.EventLateWatch })
	if i < 0 {
		return fmt.Errorf("order %s is closed, and no watch for a late payment follows", unpaid)
	}
	id := page.Tasks[i].ID
	s.made = append(s.made, id)
	for s.ended[id] == "" { // it may have ended while the notification was awaited
		if _, err := s.attempted(ctx, id); err != nil {
			return err
		}
	}
	watched, err := s.client.Task(ctx, client.ByID(id))
	if err != nil {
		return err
	}
	s.say("bellman", "ends the watch for a late payment", watched.Reason)
	return nil
}

func paidAtClose(ctx context.Context, s *stage) error {
	s.channel.place(contests, placed{paysAtClose: true})
	err := s.watch(ctx, contests, "", "PAID", "query PENDING", "query PENDING", "query PENDING", "close paid_hint", "query PAID")
	if err != nil {
		return err
	}
	if at, _ := s.channel.standing(contests); at != "SUCCESS" {
		return fmt.Errorf("order %s is %s at the channel: want SUCCESS", contests, at)
	}
	return nil
}

// watch adds an order, prints queries and answers until the order is decided and the merchant
// notified, and compares both with what they should be. It expires as the queue says if expires is
// empty. The number of polls before the order expires may differ.
func (s *stage) watch(ctx context.Context, no, expires, state string, want ...string) error {
	task, err := s.add(ctx, "places order …"+tail(no)+", and has it watched", client.CreateTask{
		Queue: "orders", MerchantNo: "M1001", OrderNo: no, Expires: expires,
		Notify: &client.Notify{URL: s.merchant.url, JSON: json.RawMessage(`{"shop":"demo"}`)},
	})
	if err != nil {
		return err
	}
	var got []string
	for {
		e, err := s.attempted(ctx, task.ID)
		if err != nil {
			return err
		}
		got = append(got, stepOf(e.Attempt))
		if !e.Task.State.Ended() {
			continue
		}
		if now := order.StateOf(e.Task); now != state || !slices.Equal(slices.Compact(slices.Clone(got)), slices.Compact(slices.Clone(want))) {
			return fmt.Errorf("order %s is %s after %s: want %s after %s", no, now, strings.Join(got, ", "), state, strings.Join(want, ", "))
		}
		return s.told(ctx, no, state)
	}
}

// told prints the notification of an order's end, and reads the order's page.
func (s *stage) told(ctx context.Context, no, state string) error {
	if _, err := s.follow(ctx, no, "order."+strings.ToLower(state)); err != nil {
		return err
	}
	page, err := s.client.Order(ctx, client.OrderRef{MerchantNo: "M1001", OrderNo: no}, 0)
	if err != nil {
		return err
	}
	if times := s.merchant.times(no); page.OrderState != state || times != 1 {
		return fmt.Errorf("the page says %s, the merchant was told %d times: want %s, once", page.OrderState, times, state)
	}
	s.say("shop", "reads the order: "+page.OrderState, "GET /v1/orders/M1001/"+no)
	return nil
}

// follow prints the attempts of the task with an event of an order until it ends, and returns its
// state.
func (s *stage) follow(ctx context.Context, no, event string) (state string, err error) {
	page, err := s.client.Order(ctx, client.OrderRef{MerchantNo: "M1001", OrderNo: no}, 0)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(page.Tasks, func(t client.Task) bool { return t.Event == event })
	if i < 0 {
		return "", fmt.Errorf("order %s has no task with the event %s", no, event)
	}
	id := page.Tasks[i].ID
	s.made = append(s.made, id)
	for s.ended[id] == "" {
		if _, err := s.attempted(ctx, id); err != nil {
			return "", err
		}
	}
	return s.ended[id], nil
}

// stepOf describes the action of an attempt and how its answer was read.
func stepOf(a *bellman.Attempt) string { return a.Action + " " + a.Reading }
