package order

import (
	"bytes"
	"context"
	"testing"
	"unicode/utf8"

	"github.com/bellmanhq/bellman"
)

// Whatever a verified notice says, it can be held and recorded as encoding/json writes it, and is
// read back as it was. A repeat has the key of the first.
func FuzzHeld(f *testing.F) {
	f.Add("EV-1", "A1", "", `{"trade_state":"SUCCESS"}`, "42", uint8(3))
	f.Add("", "单\x00", "R1", "\xff", "", uint8(17))
	f.Add("n", "", "", "", "\u2028<", uint8(255))
	h := newHouse(f, func(r *Rules) {
		r.Tell = func(context.Context, string, *Told) (bool, error) { return false, nil }
	})
	f.Fuzz(func(t *testing.T, id, no, ref, content, transaction string, kind uint8) {
		n := &Notice{
			ID: id, Of: []NoticeOf{OfPayment, OfRefund, OfTransfer}[kind%3], OrderNo: no, RefNo: ref, Reading: Reading(kind/3) % (Failed + 1),
			Answer: Answer{Body: []byte(content)}, Taken: Taken{"transaction_id": transaction, "amount": int64(kind)},
		}
		told := NewTold(n, "queue:orders", created)
		if got, want := told.ask(), (&Ask{Notice: told}).encode(); !bytes.Equal(got, want) {
			t.Fatalf("ask() = %s; want %s", got, want)
		}
		held := told.Held("orders")
		if err := h.handler.Check(&held); err != nil || held.State.Ended() {
			t.Fatalf("%+v cannot be held: %v", n, err)
		}
		again := NewTold(n, "queue:orders", created.Add(1)).Held("orders")
		if back := ToldOf(&held); back == nil || held.Key != again.Key || utf8.ValidString(no+" "+ref+" "+id) &&
			(back.OrderNo != no || back.RefNo != ref || back.ID != id || back.Of != n.Of || back.Reading != told.Reading || back.Result != NoticeHeld) {
			t.Fatalf("%+v is held as %+v", told, back)
		}
		record := told.Record(&bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1"})
		made := record.Status
		if err := h.handler.Check(&record); err != nil || !record.State.Ended() || record.Reason != string(told.Result) || record.State != made.State || record.Reason != made.Reason {
			t.Fatalf("%+v cannot be recorded: %v", told, err)
		}
	})
}
