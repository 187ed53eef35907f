package order

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// A notice is kept by a task of a channel's order. A task of kind notify with the same event and
// body is its creator's own.
func TestToldOf(t *testing.T) {
	record := paidNotice().Record(&bellman.Task{Queue: "orders", OrderNo: "O1"})
	for kind, want := range map[bellman.Kind]bool{bellman.KindOrder: true, bellman.KindPoll: true, bellman.KindNotify: false} {
		if record.Kind = kind; (ToldOf(&record) != nil) != want {
			t.Errorf("a task of kind %s keeps a notice: %t; want %t", kind, !want, want)
		}
	}
	record.Event = "order.other"
	if record.Kind = bellman.KindOrder; ToldOf(&record) != nil {
		t.Error("a task of another event keeps a notice")
	}
}

// What a verified notice told: an item that cannot be used, or says no state, is refused.
func TestNewTold(t *testing.T) {
	at := time.Date(2026, 11, 20, 23, 4, 5, 123456789, time.FixedZone("", 8*60*60))
	for _, tt := range []struct {
		n                       Notice
		result                  NoticeResult
		why, reading, alias, of string
	}{
		{Notice{Of: OfPayment, OrderNo: "O1", Reading: Paid}, NoticeApplied, "", "PAID", "wx/payment:O1", "payment"},
		{Notice{Of: OfRefund, OrderNo: "O1", RefNo: "R1", Outcome: "DONE"}, NoticeApplied, "", "DONE", "wx/refund:R1", "refund"},
		{Notice{Of: OfTransfer, RefNo: "T1"}, NoticeApplied, "", "", "wx/transfer:T1", "transfer"},
		{Notice{Of: OfPayment, OrderNo: "O1"}, NoticeRefused, "it does not say the order's state", "", "wx/payment:O1", "payment"},
		{Notice{Of: OfPayment, OrderNo: "O1", Answer: Answer{Error: "odd"}}, NoticeRefused, "odd", "", "wx/payment:O1", "payment"},
		{Notice{Of: OfPayment, OrderNo: "O1", Reading: Paid, Err: errors.New("no number")}, NoticeRefused, "no number", "", "wx/payment:O1", "payment"},
	} {
		tt.n.Answer.Body = []byte(strings.Repeat("x", MaxContent+1))
		told := NewTold(&tt.n, "wx", at)
		if told.Result != tt.result || told.Why != tt.why || told.Reading != tt.reading || told.Alias() != tt.alias || string(told.Of) != tt.of || len(told.Content) != MaxContent {
			t.Errorf("%+v: %s %q, %q of %s, %d bytes; want %+v", tt.n, told.Result, told.Why, told.Reading, told.Alias(), len(told.Content), tt)
		}
		if want := "2026-11-20T15:04:05.123Z"; told.Came.Format(time.RFC3339Nano) != want {
			t.Errorf("it came at %v; want %s", told.Came, want)
		}
	}
}

// The record of a notice is where its order is found, and says by its state whether it was
// accepted.
func TestRecord(t *testing.T) {
	for _, tt := range []struct {
		kind  bellman.Kind
		told  Told
		queue string
		state bellman.State
	}{
		{bellman.KindOrder, Told{Result: NoticeApplied, Queue: "received"}, "its own", bellman.Succeeded},
		{bellman.KindPoll, Told{Result: NoticeDuplicate, Queue: "received"}, "received", bellman.Succeeded},
		{bellman.KindPoll, Told{Result: NoticeMismatch}, "its own", bellman.Failed},
		{bellman.KindOrder, Told{Result: NoticeRefused}, "its own", bellman.Failed},
	} {
		of := bellman.Task{Kind: tt.kind, Queue: "its own", MerchantNo: "M1", OrderNo: "O1"}
		got := tt.told.Record(&of)
		if got.Queue != tt.queue || got.State != tt.state || got.Reason != string(tt.told.Result) || got.Event != EventNotice || got.MerchantNo != "M1" || got.OrderNo != "O1" {
			t.Errorf("%+v of kind %v: %+v; want queue %q, %v", tt.told, tt.kind, got, tt.queue, tt.state)
		}
	}
}
