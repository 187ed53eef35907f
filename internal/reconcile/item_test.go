package reconcile

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

// A query settles a difference only if the state was what differed, and agrees with the bill now.
func TestAgrees(t *testing.T) {
	paid, failed, back := &bill.Line{}, &bill.Line{Failed: true}, &bill.Line{Kind: bill.Refund, RefundAmount: 40}
	failedBack := &bill.Line{Kind: bill.Refund, RefundAmount: 40, Failed: true}
	of := func(refund string, amount int64) *bill.Decided {
		return &bill.Decided{RefundNo: refund, Amount: amount}
	}
	for _, tt := range []struct {
		kind  bill.DifferenceKind
		there *bill.Line
		here  *bill.Decided
		state string
		want  bool
	}{
		{bill.StateDiffers, paid, of("", 0), "PAID", true}, {bill.StateDiffers, paid, of("", 0), "PAID_REFUNDED", true}, {bill.StateDiffers, paid, of("", 0), "CLOSED", false},
		{bill.StateDiffers, failed, of("", 0), "PAID", false}, {bill.StateDiffers, failed, of("", 0), "CLOSED", true}, {bill.StateDiffers, paid, of("", 0), "", false}, {bill.StateDiffers, failed, of("", 0), "gone", false},
		{bill.AmountDiffers, paid, of("", 0), "PAID", false}, {bill.RefundDiffers, back, of("", 0), "PAID", false}, {bill.MissingThere, nil, of("", 0), "CLOSED", false}, {bill.MissingHere, paid, nil, "PAID", false},
		{bill.RefundDiffers, back, of("R1", 40), poll.StateDone, true}, {bill.RefundDiffers, back, of("R1", 0), poll.StateDone, true}, {bill.RefundDiffers, back, of("R1", 41), poll.StateDone, false},
		{bill.RefundDiffers, back, of("R1", 40), poll.StateFailedThere, false}, {bill.RefundDiffers, failedBack, of("R1", 40), poll.StateFailedThere, true}, {bill.RefundDiffers, failedBack, of("R1", 40), poll.StateDone, false},
	} {
		item := Item{Difference: bill.Difference{Kind: tt.kind, There: tt.there, Here: tt.here}}
		if got := agrees(&item, &Asked{State: tt.state}); got != tt.want {
			t.Errorf("%s, %+v, %+v, then %s: %t; want %t", tt.kind, tt.there, tt.here, tt.state, got, tt.want)
		}
	}
}

// What a query found, or why it found nothing.
func TestAsked(t *testing.T) {
	late := (&order.Life{Stage: order.Decided, State: "CLOSED", Late: "PAID"})
	data, err := json.Marshal(late)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		settled engine.Settled
		want    Asked
	}{
		"no answer in time": {engine.Settled{Err: bellman.ErrWaiting}, Asked{Error: "there was no answer in time; the query is still made"}},
		"an error":          {engine.Settled{Err: errors.New("boom")}, Asked{Error: "boom"}},
		"no task":           {engine.Settled{}, Asked{Error: "the order cannot be read"}},
		"a late payment":    {engine.Settled{Task: &bellman.Task{Kind: bellman.KindOrder, Status: bellman.Status{Data: data}}}, Asked{State: "PAID"}},
		"an answer": {engine.Settled{Task: &bellman.Task{Kind: bellman.KindOrder, Last: &bellman.Attempt{Reading: "PENDING", Error: "x"}}},
			Asked{State: order.StatePending, Reading: "PENDING", Error: "x"}},
		"a refund": {engine.Settled{Task: &bellman.Task{Kind: bellman.KindPoll, Status: bellman.Status{Data: []byte(`{"stage":"decided","poll_state":"DONE"}`)}}}, Asked{State: poll.StateDone}},
	} {
		got := asked(&tt.settled)
		if got.At.IsZero() {
			t.Errorf("%s: asked at no time", name)
		}
		if got.At = (time.Time{}); *got != tt.want {
			t.Errorf("%s: %+v; want %+v", name, *got, tt.want)
		}
	}
}

// What a notice told of a refund.
func TestRefundOfANotice(t *testing.T) {
	for name, tt := range map[string]struct {
		told order.Told
		want bill.Decided
		ok   bool
	}{
		"made":            {order.Told{Of: order.OfRefund, RefNo: "R1", OrderNo: "O1"}, bill.Decided{State: "refunded", Paid: true}, true},
		"failed":          {order.Told{Of: order.OfRefund, RefNo: "R1", OrderNo: "O1", Reading: "FAILED_THERE"}, bill.Decided{State: "FAILED_THERE"}, true},
		"WeChat Pay's":    {order.Told{Of: order.OfRefund, RefNo: "R1", OrderNo: "O1", Content: `{"refund_status":"SUCCESS","amount":{"refund":40}}`}, bill.Decided{State: "SUCCESS", Paid: true, Amount: 40}, true},
		"on its way":      {order.Told{Of: order.OfRefund, RefNo: "R1", OrderNo: "O1", Content: `{"refund_status":"PROCESSING","amount":{"refund":-1}}`}, bill.Decided{State: "PROCESSING", Paid: true}, true},
		"closed":          {order.Told{Of: order.OfRefund, RefNo: "R1", OrderNo: "O1", Content: `{"refund_status":"CLOSED","amount":{"refund":40}}`}, bill.Decided{State: "CLOSED", Amount: 40}, true},
		"without a state": {order.Told{Of: order.OfRefund, RefNo: "R1", OrderNo: "O1", Content: `{"amount":{"refund":40}}`}, bill.Decided{State: "refunded", Paid: true}, true},
		"of a form":       {order.Told{Of: order.OfRefund, RefNo: "R1", OrderNo: "O1", Content: "a=b"}, bill.Decided{State: "refunded", Paid: true}, true},
		"refused":         {order.Told{Of: order.OfRefund, RefNo: "R1", Result: order.NoticeRefused}, bill.Decided{}, false},
		"a payment":       {order.Told{Of: order.OfPayment, RefNo: "R1"}, bill.Decided{}, false},
		"no number":       {order.Told{Of: order.OfRefund}, bill.Decided{}, false},
	} {
		if tt.ok {
			tt.want.ChannelOrderNo, tt.want.MerchantNo, tt.want.OrderNo, tt.want.RefundNo = "O1", "M1", "o1", "R1"
		}
		if got, ok := refund(&bellman.Task{MerchantNo: "M1", OrderNo: "o1"}, &tt.told); ok != tt.ok || got != tt.want {
			t.Errorf("%s: %+v, %t; want %+v, %t", name, got, ok, tt.want, tt.ok)
		}
	}
}

// The day on which a bill has a refund is known if bellman requested it, or if it was added and
// finished on one day in UTC+8.
func TestAccepted(t *testing.T) {
	night := time.Date(2026, 11, 20, 16, 30, 0, 0, time.UTC) // half past midnight on the 21st in UTC+8
	for name, tt := range map[string]struct {
		ask      poll.Ask
		life     poll.Life
		added    time.Time
		finished time.Time
		want     time.Time
	}{
		"requested":              {poll.Ask{}, poll.Life{Requests: 1, FirstAt: night.UnixMilli(), RequestAt: night.UnixMilli()}, night.Add(-time.Hour), night.AddDate(0, 0, 3), night},
		"requested until night":  {poll.Ask{}, poll.Life{Requests: 2, FirstAt: night.Add(-24 * time.Hour).UnixMilli(), RequestAt: night.UnixMilli()}, night, time.Time{}, night},
		"in doubt for days":      {poll.Ask{}, poll.Life{Requests: 1, FirstAt: night.Add(-25 * time.Hour).UnixMilli(), RequestAt: night.UnixMilli()}, night, time.Time{}, time.Time{}},
		"one day":                {poll.Ask{Created: night}, poll.Life{}, night, night.Add(23 * time.Hour), night},
		"one day, as added":      {poll.Ask{}, poll.Life{}, night, night.Add(time.Hour), night},
		"the next day":           {poll.Ask{Created: night}, poll.Life{}, night, night.Add(24 * time.Hour), time.Time{}},
		"one day in UTC alone":   {poll.Ask{Created: night.Add(-time.Hour)}, poll.Life{}, night, night, time.Time{}},
		"nobody knows when":      {poll.Ask{Created: night}, poll.Life{}, night, time.Time{}, time.Time{}},
		"requested, not created": {poll.Ask{Created: night.AddDate(0, 0, -9)}, poll.Life{Requests: 2, FirstAt: night.UnixMilli(), RequestAt: night.UnixMilli()}, night, time.Time{}, night},
	} {
		task := &bellman.Task{ID: bellman.FirstID(tt.added)}
		if got := accepted(task, &tt.ask, &tt.life, tt.finished); !got.Equal(tt.want) {
			t.Errorf("%s: %v; want %v", name, got, tt.want)
		}
	}
}

// What an order says about its payment.
func TestPay(t *testing.T) {
	noon := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC) // on the 21st in UTC+8
	taken := json.RawMessage(`{"transaction_id":"T1","amount":90,"currency":"cny","paid_at":"2026-11-21T12:00:00+08:00"}`)
	for name, tt := range map[string]struct {
		life    order.Life
		created time.Time
		want    bill.Decided
	}{
		"paid":               {order.Life{State: "PAID", Taken: taken}, noon, bill.Decided{State: "PAID", Paid: true, Amount: 90, Currency: "CNY", TransactionID: "T1", PaidAt: noon}},
		"refunded since":     {order.Life{State: "PAID_REFUNDED", Taken: taken}, noon, bill.Decided{State: "PAID_REFUNDED", Paid: true, Amount: 90, Currency: "CNY", TransactionID: "T1", PaidAt: noon, Refunded: 90}},
		"late":               {order.Life{State: "CLOSED", Late: "PAID", Taken: taken}, noon, bill.Decided{State: "PAID", Paid: true, Amount: 90, Currency: "CNY", TransactionID: "T1", PaidAt: noon}},
		"closed":             {order.Life{State: "CLOSED", Taken: taken}, noon, bill.Decided{State: "CLOSED", Amount: 100, Currency: "CNY"}},
		"unknown":            {order.Life{State: "UNKNOWN"}, noon, bill.Decided{State: "UNKNOWN", Amount: 100, Currency: "CNY"}},
		"reversed, and back": {order.Life{State: "REVOKED", Close: "refunded", DecidedAt: noon.UnixMilli()}, noon, bill.Decided{State: "REVOKED", Paid: true, Amount: 100, Currency: "CNY", Refunded: 100}},
		"reversed, unpaid":   {order.Life{State: "REVOKED", Close: "closed"}, noon, bill.Decided{State: "REVOKED", Amount: 100, Currency: "CNY"}},
		"no time":            {order.Life{State: "PAID", DecidedAt: noon.UnixMilli()}, noon.AddDate(0, 0, -1), bill.Decided{State: "PAID", Paid: true, Amount: 100, Currency: "CNY", PaidAt: noon}},
		"no time, created long before": {order.Life{State: "PAID", DecidedAt: noon.UnixMilli()}, time.Date(2026, 11, 19, 15, 59, 59, 0, time.UTC),
			bill.Decided{State: "PAID", Paid: true, Amount: 100, Currency: "CNY"}},
		"no time, created just then": {order.Life{State: "PAID", DecidedAt: noon.UnixMilli()}, time.Date(2026, 11, 19, 16, 0, 0, 0, time.UTC),
			bill.Decided{State: "PAID", Paid: true, Amount: 100, Currency: "CNY", PaidAt: noon}},
		"late, no time": {order.Life{State: "CLOSED", Late: "PAID", DecidedAt: noon.UnixMilli(), Taken: json.RawMessage(`{"transaction_id":"T1","amount":90,"currency":"CNY"}`)}, noon,
			bill.Decided{State: "PAID", Paid: true, Amount: 90, Currency: "CNY", TransactionID: "T1"}},
		"no time at all": {order.Life{State: "PAID"}, noon, bill.Decided{State: "PAID", Paid: true, Amount: 100, Currency: "CNY"}},
		"no amount, another currency": {order.Life{State: "PAID", Taken: json.RawMessage(`{"amount":0,"currency":"USD","transaction_id":1}`)}, noon,
			bill.Decided{State: "PAID", Paid: true, Amount: 100, Currency: "CNY"}},
		"an amount without a currency": {order.Life{State: "PAID", Taken: json.RawMessage(`{"amount":90}`)}, noon, bill.Decided{State: "PAID", Paid: true, Amount: 90, Currency: "CNY"}},
		"a currency of nobody":         {order.Life{State: "PAID", Taken: json.RawMessage(`{"amount":90,"currency":"RMB"}`)}, noon, bill.Decided{State: "PAID", Paid: true, Amount: 90, Currency: "RMB"}},
	} {
		d := bill.Decided{State: tt.life.State, Amount: 100, Currency: "CNY"}
		if pay(&d, &tt.life, tt.created); d != tt.want {
			t.Errorf("%s: %+v; want %+v", name, d, tt.want)
		}
	}
	free := bill.Decided{}
	if pay(&free, &order.Life{State: "PAID_REFUNDED"}, noon); free.Refunded != math.MaxInt64 {
		t.Errorf("an unknown amount was refunded: %d; want all of it", free.Refunded)
	}
}

// The bill of a day has the orders that were created within the queue's window before it, and the
// refunds of a week.
func TestAround(t *testing.T) {
	q := &Queue{Name: "orders", Window: 2 * time.Hour}
	from := time.Date(2026, 11, 21, 0, 0, 0, 0, bill.Zone)
	for queue, before := range map[string]time.Duration{"orders": 3 * time.Hour, "refunds": refundWindow + time.Hour} {
		f := q.around(queue, from, from.AddDate(0, 0, 1))
		if f.Queue != queue || !f.CreatedFrom.Equal(from.Add(-before)) || !f.CreatedTo.Equal(from.AddDate(0, 0, 1).Add(After)) {
			t.Errorf("%s: %+v; want the tasks from %v before the day", queue, f, before)
		}
	}
}

// What the task of an order says of it, whatever became of the task.
func TestItem(t *testing.T) {
	r, q := &Runs{log: slog.New(slog.DiscardHandler)}, &Queue{Name: "orders", Account: Account{Identity: "wx"}}
	body := []byte(`{"channel_order_no":"C1","amount":100,"currency":"CNY"}`)
	for name, tt := range map[string]struct {
		task  bellman.Task
		state string // empty: it says nothing
		no    string
	}{
		"open":            {bellman.Task{Kind: bellman.KindOrder, Body: body}, order.StatePending, "C1"},
		"cancelled":       {bellman.Task{Kind: bellman.KindOrder, Body: body, Status: bellman.Status{State: bellman.Cancelled}}, order.StateUnknown, "C1"},
		"unreadable":      {bellman.Task{Kind: bellman.KindOrder, Body: body, Status: bellman.Status{Data: []byte("{")}}, order.StateUnknown, "C1"},
		"without a body":  {bellman.Task{Kind: bellman.KindOrder, OrderNo: "O1"}, order.StatePending, "O1"},
		"unreadable body": {bellman.Task{Kind: bellman.KindOrder, Body: []byte("{")}, "", ""},
		"a notification":  {bellman.Task{Kind: bellman.KindNotify, Body: body}, "", ""},
		"a watch": {bellman.Task{Kind: bellman.KindOrder, Body: []byte(`{"watch":{"of":"k","order_state":"CLOSED","alias":"wx/payment:C1"}}`),
			Status: bellman.Status{Data: []byte(`{"stage":"watching","order_state":"CLOSED"}`)}}, "", ""},
	} {
		d, ok, err := r.item(t.Context(), q, &tt.task)
		if err != nil || ok != (tt.state != "") || d.State != tt.state && ok || d.ChannelOrderNo != tt.no && ok || ok && d.Account != "wx" {
			t.Errorf("%s: %+v, %t, %v; want %s", name, d, ok, err, tt.state)
		}
	}
}
