package console

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// An order that was given up is of nobody's concern any more when its payment was found.
func TestALatePaymentSettlesAnOrderThatWasGivenUp(t *testing.T) {
	s := open(t)
	for late, want := range map[string]string{"": "somebody has to look at it", "PAID": "a payment was found later"} {
		kept, err := json.Marshal(Order{State: "UNKNOWN", Late: late})
		if err != nil {
			t.Fatal(err)
		}
		no := "given-up" + late
		s.fake.add(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: no, Body: kept, Status: bellman.Status{State: bellman.Failed, Finished: t0}}, t0, bellman.Attempt{Started: t0})
		if got := s.get(t, orderAddress("M1", no), "Accept-Language: en").body; !strings.Contains(got, want) || late != "" && strings.Contains(got, "somebody has to look") {
			t.Errorf("the page of one with the late payment %q does not say %q, or says more", late, want)
		}
	}
}

// The page of the orders has the newest, each with the way to its page.
func TestTheNewestOrders(t *testing.T) {
	s := open(t)
	if got := s.get(t, "/orders").body; !strings.Contains(got, "There are no orders among the newest tasks.") {
		t.Error("without orders the page does not say so")
	}
	s.story(t)
	watch, err := json.Marshal(Order{State: "CLOSED", Watch: true})
	if err != nil {
		t.Fatal(err)
	}
	s.fake.add(t, &bellman.Task{Queue: "orders", Key: "w", MerchantNo: "M1001", OrderNo: "B-1", Body: watch}, t0.Add(time.Hour))
	got := s.get(t, "/orders").body
	if n := strings.Count(got, `href="/orders?merchant_no=M1001&amp;order_no=B-1"`); n != 1 || strings.Contains(got, "A-1") {
		t.Errorf("the order is listed %d times, or a notice is; want it once, and no notice", n)
	}
}
