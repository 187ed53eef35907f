package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/bellmanhq/bellman/client"
)

// The order of the notice scenes, and its refund.
const (
	noticed  = "20261120000005"
	refunded = noticed + "-R1"
)

func noticeScenes() []scene {
	return []scene{
		{"The channel's own notice decides an order, before the first query.", paidByNotice},
		{"The order is refunded: the channel is asked until the money has arrived.", refundPolled},
	}
}

func paidByNotice(ctx context.Context, s *stage) error {
	s.channel.place(noticed, placed{})
	_, err := s.add(ctx, "places order …0005, first query in 1m", client.CreateTask{
		Queue: "orders", MerchantNo: "M1001", OrderNo: noticed, Amount: 9900, Currency: "CNY",
		Schedule: "1m*", Expires: "30m",
		Notify: &client.Notify{URL: s.merchant.url, JSON: json.RawMessage(`{"shop":"demo"}`)},
	})
	if err != nil {
		return err
	}
	s.say("channel", "tells that order …0005 is paid", "POST /notices/orders, signed")
	status, answer, err := s.channel.pay(ctx, noticed, s.notices)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("the notice was answered %d %q: want 200", status, answer)
	}
	s.say("bellman", "has decided the order", fmt.Sprintf("answers %d %q", status, answer))
	if err := s.told(ctx, noticed, "PAID"); err != nil {
		return err
	}
	_, queries := s.channel.standing(noticed)
	if queries > 0 {
		return fmt.Errorf("order %s was queried %d times: want never", noticed, queries)
	}
	s.say("channel", "was never asked about order …0005", "")
	s.look(noticed)
	return nil
}

func refundPolled(ctx context.Context, s *stage) error {
	before := s.merchant.times(noticed)
	task, err := s.add(ctx, "has refund …"+tail(refunded)+" of order …0005 watched", client.CreateTask{
		Queue: "refunds", MerchantNo: "M1001", OrderNo: noticed, RefNo: refunded,
		Notify: &client.Notify{URL: s.merchant.url, JSON: json.RawMessage(`{"shop":"demo"}`)},
	})
	if err != nil {
		return err
	}
	for over := false; !over; {
		e, err := s.attempted(ctx, task.ID)
		if err != nil {
			return err
		}
		over = e.Task.State.Ended()
	}
	told, err := s.follow(ctx, noticed, "poll.done")
	if err != nil {
		return err
	}
	now, err := s.client.Task(ctx, client.ByID(task.ID))
	if err != nil {
		return err
	}
	if times := s.merchant.times(noticed) - before; now.PollState != "DONE" || told != "succeeded" || times != 1 {
		return fmt.Errorf("the refund is %s, its notification %s, and the merchant was told %d times: want DONE, succeeded, once", now.PollState, told, times)
	}
	s.say("shop", "reads the refund: "+now.PollState, "GET /v1/tasks/{id}")
	s.look(noticed)
	return nil
}

// look prints the console's page of an order.
func (s *stage) look(no string) {
	s.say("operator", "sees all of it in the console", s.api+"/orders?"+url.Values{"merchant_no": {"M1001"}, "order_no": {no}}.Encode())
}
