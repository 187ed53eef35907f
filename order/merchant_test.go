package order

import (
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// An order without an address is notified at its merchant's address. The notification is added
// whatever happened to the merchant meanwhile.
func TestTellsAtTheMerchantsAddress(t *testing.T) {
	asked := 0
	h := newHouse(t, func(r *Rules) {
		r.Then.Default[0].Merchants = true
		r.Then.Default[0].Check = func(sample *bellman.Task) error {
			if asked++; sample.Endpoint != "" || sample.URL != "" || sample.MerchantNo != "M1" {
				t.Errorf("asked about %+v; want no address, so that it says whether the merchant has one", sample)
			}
			return nil
		}
	})
	task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: "3s"})
	h.channel.query = func(*Order) QueryAnswer { return QueryAnswer{Reading: Paid, Answer: said("paid")} }
	h.now = h.now.Add(3 * time.Second)
	v := h.attempt(task)
	if asked == 0 || len(v.Follow) != 1 || v.Follow[0].Endpoint != bellman.MerchantEndpoint("M1") || v.Follow[0].URL != "" {
		t.Errorf("asked %d times; told %+v", asked, v.Follow)
	}
}
