package order

import (
	"context"
	"errors"
	"testing"

	"github.com/bellmanhq/bellman"
)

// A late payment that the order's own task has, such as by the channel's notice, ends the watch without a query or an
// alert. If nobody can say whether it has one, the watch queries.
func TestWatchOfKnownLatePayment(t *testing.T) {
	late, broken := "", error(nil)
	h := newHouse(t, func(r *Rules) {
		r.Late = func(_ context.Context, queue, key string) (string, error) {
			if queue != "orders" || key != "M1/O1" {
				t.Errorf("asked about the task %s %s; want the order's own", queue, key)
			}
			return late, broken
		}
	})
	h.until(h.order())
	watch := h.tasks["orders M1/O1/late_watch"]
	asked := len(h.channel.asked)
	h.attempt(watch)
	broken = errors.New("the store does not answer")
	if h.attempt(watch); len(h.channel.asked) != asked+2 || watch.State.Ended() {
		t.Fatalf("%d queries, %s; want one for each attempt", len(h.channel.asked)-asked, watch.State)
	}
	late, broken = "PAID", nil
	v := h.attempt(watch)
	if len(h.channel.asked) != asked+2 || v.Next != bellman.Succeed || v.Reason != "late_payment" || !v.Unsent || len(v.Follow) > 0 || len(h.alerts) > 0 {
		t.Errorf("%d queries, %+v, alerts %q; want the watch ended, and nobody told", len(h.channel.asked)-asked, v, h.alerts)
	}
	if s := StandingOf(watch); s.State != "CLOSED" || s.Late != "PAID" {
		t.Errorf("the watch stands as %+v", s)
	}
}
