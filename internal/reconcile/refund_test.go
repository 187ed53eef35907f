package reconcile_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/store"
)

// What bellman knows of refunds explains lines of the bill.
func TestRefunds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		back := func(no, refundNo string, amount int64) {
			w.line(no, 100)
			*w.line(no, 0) = bill.Line{ChannelOrderNo: no, RefundNo: refundNo, Kind: bill.Refund, RefundAmount: amount, Currency: "CNY", State: "SUCCESS", Time: noon.UTC(), Number: len(w.lines)}
		}
		noticed := func(result order.NoticeResult, no, refundNo, content string) {
			told, err := json.Marshal(map[string]any{"notice": order.Told{Result: result, Of: order.OfRefund, OrderNo: no, RefNo: refundNo, Content: content}})
			if err != nil {
				t.Fatal(err)
			}
			w.add(&bellman.Task{MerchantNo: "M1", OrderNo: no, Event: order.EventNotice, Body: told})
		}
		notice := func(no, refundNo, content string) { noticed(order.NoticeApplied, no, refundNo, content) }
		w.order("A1", "PAID_REFUNDED")
		back("A1", "R1", 100)
		w.order("A2", "PAID")
		back("A2", "R2", 30)
		notice("A2", "R2", `{"refund_status":"SUCCESS","amount":{"refund":30}}`)
		w.order("B1", "PAID")
		back("B1", "R3", 30)
		notice("B1", "R3", `{"refund_status":"SUCCESS","amount":{"refund":20}}`)
		w.order("B2", "PAID")
		back("B2", "R4", 30)
		notice("B2", "R4", `{"refund_status":"CLOSED","amount":{"refund":30}}`)
		w.order("B3", "PAID")
		back("B3", "R5", 30)
		w.order("B4", "PAID") // its channel says in the notice only that the refund failed, as Stripe does
		back("B4", "R6", 30)
		failed, err := json.Marshal(map[string]any{"notice": order.Told{Result: order.NoticeApplied, Of: order.OfRefund, OrderNo: "B4", RefNo: "R6", Reading: poll.StateFailedThere, Content: `{"status":"failed"}`}})
		if err != nil {
			t.Fatal(err)
		}
		w.add(&bellman.Task{MerchantNo: "M1", OrderNo: "B4", Event: order.EventNotice, Body: failed})
		w.order("B5", "PAID") // its notice is not the channel's
		back("B5", "R7", 30)
		noticed(order.NoticeRefused, "B5", "R7", `{"refund_status":"SUCCESS","amount":{"refund":30}}`)
		r := w.runs()
		for no, want := range map[bool][]string{false: {"refund B1", "refund B2", "refund B3", "refund B4", "refund B5"}, true: nil} {
			run := compared(t, r, reconcile.Request{Queue: "pay", Date: date, NoRefunds: no}, 1)
			if found, _ := differences(t, r, run.ID); !sameSet(found, want) {
				t.Errorf("without refunds %t: %q; want %q", no, found, want)
			}
		}
	})
}

// A refund that bellman asks about is compared, also if a notice told of it. Of one that is still
// open a query settles the difference.
func TestPolledRefunds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		w.queue.Refunds = []string{"refunds"}
		polled := func(no, refundNo, life string) bellman.ID {
			return w.add(&bellman.Task{Queue: "refunds", Kind: bellman.KindPoll, Key: "M1/" + refundNo, MerchantNo: "M1", OrderNo: no, Event: poll.EventPoll,
				Body: fmt.Appendf(nil, `{"ref_no":%q,"vars":{"amount":"30"}}`, refundNo), Status: bellman.Status{Data: []byte(life)}})
		}
		done := fmt.Sprintf(`{"stage":"decided","poll_state":"DONE","decided_at":1,"requests":1,"first_at":%d,"request_at":%[1]d}`, noon.UnixMilli())
		paid := func(no string) {
			w.order(no, "PAID")
			w.line(no, 100)
		}
		back := func(no, refundNo string, amount int64) {
			*w.line(no, 0) = bill.Line{ChannelOrderNo: no, RefundNo: refundNo, Kind: bill.Refund, RefundAmount: amount, Currency: "CNY", State: "SUCCESS", Time: noon.UTC(), Number: len(w.lines)}
		}
		for _, no := range []string{"A1", "A2", "A3", "B1", "B2", "B3", "B4"} {
			paid(no)
		}
		polled("A1", "R1", done)
		back("A1", "R1", 30)
		told, err := json.Marshal(map[string]any{"notice": order.Told{Result: order.NoticeApplied, Of: order.OfRefund, OrderNo: "A1", RefNo: "R1", Content: `{"refund_status":"SUCCESS","amount":{"refund":30}}`}})
		if err != nil {
			t.Fatal(err)
		}
		w.add(&bellman.Task{MerchantNo: "M1", OrderNo: "A1", Event: order.EventNotice, Body: told})
		polled("A2", "R2", `{"stage":"polling","poll_state":"PENDING","reading":"PENDING"}`)
		back("A2", "R2", 30)
		elsewhere := `{"stage":"decided","poll_state":"DONE","decided_at":1,"taken":{"finished_at":"2000-01-0%dT04:01:00Z"}}`
		polled("A3", "R6", fmt.Sprintf(elsewhere, 3)) // somebody else asked for it, on one of two days
		polled("B4", "R7", fmt.Sprintf(elsewhere, 2)) // on the day on which it finished
		polled("B1", "R3", done)                      // missing there
		polled("B2", "R4", done)                      // another amount
		back("B2", "R4", 20)
		open := polled("B3", "R5", `{"stage":"polling","poll_state":"PENDING"}`)
		back("B3", "R5", 30)
		w.paid[open] = true
		r := w.runs()
		run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, 1)
		if found, _ := differences(t, r, run.ID); !sameSet(found, []string{"refund B1", "refund B2", "refund B3", "refund B4"}) {
			t.Errorf("%q; want those of B1 and B4, which the bill lacks, of B2, by its amount, and of B3, which is open here", found)
		}
		if _, err := r.Settle(t.Context(), run.ID, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		work(t, r, 1)
		_, items := differences(t, r, run.ID)
		for _, item := range items {
			if item.Asked == nil || item.Asked.Settled != (item.ChannelOrderNo == "B3") {
				t.Errorf("%s: asked %+v; want only B3 settled", item.ChannelOrderNo, item.Asked)
			}
		}
	})
}

// The bill has a refund under the channel's number of the order, which may be another than the
// merchant's. One that was asked for long before is looked up with its order.
func TestRefundsByTheChannelsNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		w.queue.Refunds = []string{"refunds"}
		for i, created := range []time.Time{noon.Add(-time.Minute), noon.AddDate(0, 0, -10), noon.AddDate(0, 0, -10)} {
			own, no, refundNo := fmt.Sprint("O", i), fmt.Sprint("C", i), fmt.Sprint("R", i)
			w.add(&bellman.Task{
				Key: "M1/" + own, Origin: &bellman.Origin{Alias: order.Alias(account, order.OfPayment, no)}, MerchantNo: "M1", OrderNo: own, Event: order.EventWatch,
				Body:   fmt.Appendf(nil, `{"channel_order_no":%q,"amount":100,"currency":"CNY"}`, no),
				Status: bellman.Status{Data: fmt.Appendf(nil, `{"stage":"decided","order_state":"PAID","decided_at":%d}`, noon.UnixMilli())},
			})
			ask, of := fmt.Sprintf(`{"ref_no":%q,"channel_order_no":%q,"vars":{"amount":"30"}}`, refundNo, no), own
			if i == 2 { // asked for by the channel's number alone
				ask, of = fmt.Sprintf(`{"ref_no":%q,"vars":{"amount":"30"}}`, refundNo), no
			}
			b := &store.Batch{Adds: []store.Add{{Task: &bellman.Task{
				ID: bellman.FirstID(created.Add(time.Duration(i) * time.Second)), Queue: "refunds", Kind: bellman.KindPoll, Key: "M1/" + refundNo, MerchantNo: "M1", OrderNo: of, Event: poll.EventPoll,
				Origin: &bellman.Origin{Alias: order.Alias(account, order.OfRefund, refundNo)}, Body: []byte(ask),
				Status: bellman.Status{State: bellman.Succeeded, Version: 1, Data: fmt.Appendf(nil, `{"stage":"decided","poll_state":"DONE","decided_at":1,"requests":1,"first_at":%d,"request_at":%[1]d}`, noon.UnixMilli())},
			}}}}
			if err := w.Store.Commit(t.Context(), b); err != nil || b.Adds[0].Err != nil {
				t.Fatal(err, b.Adds[0].Err)
			}
			w.line(no, 100)
			*w.line(no, 0) = bill.Line{ChannelOrderNo: no, RefundNo: refundNo, Kind: bill.Refund, RefundAmount: 30, Currency: "CNY", State: "SUCCESS", Time: noon.UTC(), Number: len(w.lines)}
		}
		r := w.runs()
		run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, 1)
		if run.Counts.Matched != 6 {
			t.Errorf("%+v; want the three payments and refunds matched", run.Counts)
		}
		if found, _ := differences(t, r, run.ID); len(found) != 0 {
			t.Errorf("differences %q; want none", found)
		}
	})
}
