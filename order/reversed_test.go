package order

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// paidNotice returns the notice of a payment of 88.00 CNY.
func paidNotice() *Told {
	return &Told{Result: NoticeApplied, Of: OfPayment, Reading: "PAID", Taken: Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "42"}}
}

// onlyAQueryDecides tells an order twice that it is paid. Both notices are refused, and the answer
// to the query that follows, read as then, decides want.
func (h *house) onlyAQueryDecides(t *testing.T, task *bellman.Task, name string, then Reading, want string) {
	t.Helper()
	for range 2 {
		if got := h.tell(task, paidNotice()); !slices.Equal(got, []string{"order.notice refused"}) || StateOf(task) != StatePending {
			t.Errorf("%s: the notice: %q, %s; want it refused, and PENDING", name, got, StateOf(task))
		}
	}
	h.channel.query = func(*Order) QueryAnswer {
		return QueryAnswer{Reading: then, Answer: said("x"), Taken: paidNotice().Taken}
	}
	v := h.attempt(task)
	if v.Action != askQuery || StateOf(task) != want || h.told("orders/M1/O1/decided")["order_state"] != want {
		t.Errorf("%s: %s, %s; want the query to decide %s", name, v.Action, StateOf(task), want)
	}
}

// A reverse gives the money of a payment back. A notice of that payment that comes while the answer
// to the reverse is on its way, or after it was lost, does not decide: the channel is queried.
func TestNoticeAfterAReverse(t *testing.T) {
	for _, tt := range []struct {
		name string
		lost bool // the answer to the reverse; else the notice comes before it
		then Reading
		want string
	}{
		{"lost, and done", true, PaidRefunded, "PAID_REFUNDED"}, {"lost, and not done", true, Paid, "PAID"},
		{"on its way, and done", false, PaidRefunded, "PAID_REFUNDED"}, {"on its way, and not done", false, Paid, "PAID"},
	} {
		h := newHouse(t, func(r *Rules) { r.OnExhausted = OnExhaustedReverse })
		h.channel.reverse = closes(CloseUnknown)
		task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: "3s", Body: []byte(`{"amount":8800,"currency":"CNY","notify":{"url":"https://m.example/n"}}`)})
		for h.life(task).Stage != Reverse {
			h.attempt(task)
		}
		if tt.lost {
			if v := h.attempt(task); v.Action != askReverse {
				t.Fatalf("%s: %s; want a reverse", tt.name, v.Action)
			}
		}
		h.onlyAQueryDecides(t, task, tt.name, tt.then, tt.want)
	}

	// It is refused too after somebody restarted the order, or a reload made the queue close orders
	// instead.
	for _, change := range []func(*house, *bellman.Task){
		func(h *house, task *bellman.Task) { h.restart(task) },
		func(h *house, _ *bellman.Task) {
			h.handler.rules.OnExhausted, h.handler.reverses = OnExhaustedClose, false
		},
	} {
		h := newHouse(t, func(r *Rules) { r.OnExhausted = OnExhaustedReverse })
		h.channel.reverse = closes(CloseUnknown)
		task := h.scheduled("3s")
		for h.life(task).Reverses < quickReverses {
			h.attempt(task)
		}
		change(h, task)
		h.channel.query = reads(QueryError)
		h.attempt(task)
		if got := h.tell(task, paidNotice()); !slices.Equal(got, []string{"order.notice refused"}) || StateOf(task) != StatePending {
			t.Errorf("after a restart or reload: the notice: %q, %s; want it refused, and PENDING", got, StateOf(task))
		}
	}

	h := newHouse(t, func(r *Rules) { r.OnExhausted = OnExhaustedReverse })
	h.channel.reverse = closes(CloseRefunded)
	task := h.scheduled("3s")
	h.until(task)
	if got := h.tell(task, paidNotice()); !slices.Equal(got, []string{"order.notice duplicate"}) || StateOf(task) != "REVOKED" || len(h.alerts) > 0 {
		t.Errorf("after the channel gave the money back: %q, %s, alerts %q; want nothing new", got, StateOf(task), h.alerts)
	}
	h.channel.query = reads(Paid) // it did not after all
	h.until(h.tasks["orders M1/O1/late_watch"])
	if h.tasks["merchant-notify orders/M1/O1/late_payment"] == nil {
		t.Error("the watch found the payment, and nobody was told")
	}
}

// A cancel gives the money of a payment back that it meets. A notice of that payment does not
// decide from when the cancel is due: the channel is queried.
func TestNoticeAfterACancel(t *testing.T) {
	for _, tt := range []struct {
		name   string
		closes int // cancels that are answered before the notice
		answer CloseReading
		then   Reading
		want   string
	}{
		{"on its way, and done", 0, CloseDone, PaidRefunded, "PAID_REFUNDED"},
		{"on its way, and not done", 0, CloseDone, Paid, "PAID"},
		{"its answer is lost", 1, CloseUnknown, PaidRefunded, "PAID_REFUNDED"},
		{"done", 1, CloseDone, Closed, "CLOSED"},
	} {
		h := newHouse(t)
		h.channel.cancels, h.channel.close = true, closes(tt.answer)
		task := h.priced()
		for h.life(task).Stage != Close {
			h.attempt(task)
		}
		for range tt.closes {
			if v := h.attempt(task); v.Action != askClose {
				t.Fatalf("%s: %s; want a close", tt.name, v.Action)
			}
		}
		h.onlyAQueryDecides(t, task, tt.name, tt.then, tt.want)
	}

	// It is refused too after a reload made the channel close orders instead.
	h := newHouse(t)
	h.channel.cancels, h.channel.close = true, closes(CloseUnknown)
	task := h.priced()
	for h.life(task).Closes == 0 {
		h.attempt(task)
	}
	for h.channel.cancels = false; h.life(task).Stage != Close; {
		h.attempt(task)
	}
	if got := h.tell(task, paidNotice()); !slices.Equal(got, []string{"order.notice refused"}) || StateOf(task) != StatePending {
		t.Errorf("after a reload: the notice: %q, %s; want it refused, and PENDING", got, StateOf(task))
	}

	h = newHouse(t)
	h.channel.cancels = true
	task = h.priced()
	if got := h.tell(task, paidNotice()); StateOf(task) != "PAID" {
		t.Errorf("before a cancel is due: %q, %s; want PAID", got, StateOf(task))
	}
}

// A person or a service says that an order is paid while its reverse or cancel is in flight, or
// after its answer was lost. It gives the money back, so somebody must look.
func TestCompletedWhileReversed(t *testing.T) {
	for _, stage := range []Stage{Reverse, Close} {
		for _, when := range []string{"in flight", "its answer lost", "given up"} {
			h := newHouse(t, func(r *Rules) {
				if r.GiveUp = time.Hour; stage == Reverse {
					r.OnExhausted = OnExhaustedReverse
				}
			})
			h.channel.close, h.channel.reverse, h.channel.cancels = closes(CloseUnknown), closes(CloseUnknown), true
			task := h.scheduled("3s")
			for h.life(task).Stage != stage {
				h.attempt(task)
			}
			flying := *task
			switch when {
			case "its answer lost":
				h.attempt(task)
			case "given up":
				h.until(task)
			}
			h.alerts = nil
			done, err := h.handler.Complete(task, bellman.Completion{Outcome: "PAID"}, h.now)
			if err != nil {
				t.Fatal(err)
			}
			task.Data = done.Data
			if when == "in flight" {
				h.channel.close, h.channel.reverse = closes(CloseDone), closes(CloseRefunded)
				if v := h.handler.Attempt(t.Context(), &flying, int(flying.Attempts)+1); v.Action == askQuery || len(h.handler.Late(task, v, h.now).Follow) > 0 {
					t.Errorf("%s: the attempt in flight: %+v", stage, v)
				}
			}
			if StateOf(task) != "PAID" || len(h.alerts) != 1 || !strings.Contains(h.alerts[0], "given the money back") {
				t.Errorf("%s, %s: %s, alerts %q; want PAID, and one alert", stage, when, StateOf(task), h.alerts)
			}
		}
	}

	h := newHouse(t, func(r *Rules) { r.OnExhausted = OnExhaustedReverse })
	task := h.scheduled("3s*20")
	h.attempt(task)
	if _, err := h.handler.Complete(task, bellman.Completion{Outcome: "PAID"}, h.now); err != nil || len(h.alerts) > 0 {
		t.Errorf("before a reverse is due: %v, alerts %q; want none", err, h.alerts)
	}
}

// A reverse without success is retried for seven days. A person is alerted after the third, and the
// merchant is notified when the order is decided.
func TestReverseGoesOn(t *testing.T) {
	for r := CloseUnknown; r <= CloseNotExist; r++ {
		if r == CloseDone || r == CloseAlready {
			continue
		}
		h := newHouse(t, func(r *Rules) { r.OnExhausted = OnExhaustedReverse })
		h.channel.reverse = closes(r)
		task := h.scheduled("20s")
		reverses := 0
		for reverses < 12 { // an outage of minutes
			if v := h.attempt(task); v.Next != bellman.Again || len(v.Follow) > 0 {
				t.Fatalf("%s: %+v", r, v)
			} else if v.Action == askReverse {
				reverses++
			}
		}
		if at := h.now.Sub(created); at < 5*time.Minute || at > 30*time.Minute {
			t.Errorf("%s: twelve reverses in %v", r, at)
		}
		if want := []string{"PENDING: the payment could not be reversed so far: this is tried until give_up is over"}; !slices.Equal(h.alerts, want) {
			t.Errorf("%s: alerts %q; want %q", r, h.alerts, want)
		}
		h.channel.reverse = closes(CloseDone)
		h.until(task)
		if StateOf(task) != "REVOKED" || h.told("orders/M1/O1/decided")["order_state"] != "REVOKED" || len(h.alerts) != 1 {
			t.Errorf("%s: %s, alerts %q", r, StateOf(task), h.alerts)
		}
	}

	for _, giveUp := range []time.Duration{0, time.Hour} {
		h := newHouse(t, func(r *Rules) { r.OnExhausted, r.GiveUp = OnExhaustedReverse, giveUp })
		h.channel.reverse = closes(CloseUnknown)
		task := h.scheduled("20s")
		var log []string
		for !task.State.Ended() {
			log = append(log, fmt.Sprintf("%v %s", h.attempt(task).Action, h.now.Sub(created)))
		}
		if got := strings.Join(log[:6], ", "); got != "query 20s, reverse 20s, reverse 22s, reverse 24s, query 26s, reverse 26s" {
			t.Errorf("begins with %s", got)
		}
		want := cmp.Or(giveUp, 7*24*time.Hour)
		if at := h.now.Sub(created) - 30*time.Minute; at < want || at > want+time.Minute || len(log) > 4500 ||
			StateOf(task) != "UNKNOWN" || task.Reason != "reverse_failed" || task.State != bellman.Failed || len(h.alerts) != 2 {
			t.Errorf("give_up %v: %s %s %s %v after expiry, %d attempts, alerts %q", giveUp, StateOf(task), task.State, task.Reason, at, len(log), h.alerts)
		}
	}
}

// What a reverse gave back is told: never paid and paid and refunded are not the same in a bill. A
// payment that failed is reversed all the same, so that nothing is paid after.
func TestReverse(t *testing.T) {
	for _, tt := range []struct {
		query    Reading
		reverse  CloseReading
		state    string
		refunded any
		log      string
	}{
		{Pending, CloseRefunded, "REVOKED", true, "30m0s query, 30m0s reverse"},
		{Pending, CloseDone, "REVOKED", nil, "30m0s query, 30m0s reverse"},
		{Pending, CloseAlready, "REVOKED", nil, "30m0s query, 30m0s reverse"},
		{Failed, CloseDone, "FAILED", nil, "3s query, 15s query, 15s reverse"},
	} {
		h := newHouse(t, func(r *Rules) { r.OnExhausted = OnExhaustedReverse })
		h.channel.query, h.channel.reverse = reads(tt.query), closes(tt.reverse)
		task := h.order()
		log := strings.Join(h.until(task), ", ")
		if told := h.told("orders/M1/O1/decided"); StateOf(task) != tt.state || told["order_state"] != tt.state || told["refunded"] != tt.refunded ||
			h.life(task).Close != tt.reverse.String() || !strings.HasSuffix(log, tt.log) {
			t.Errorf("%+v: %s, told %v, %s", tt, StateOf(task), told, log)
		}
	}
}
