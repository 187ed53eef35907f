package order

import (
	"context"
	"errors"
	"testing"

	"github.com/bellmanhq/bellman"
)

// A late payment that the order's own task has, such as by the channel's notice, ends the watch
// without a query or an alert. If nobody can say whether it has one, the watch queries.
func TestWatchOfKnownLatePayment(t *testing.T) {
	late, broken := "", error(nil)
	h := newHouse(t, func(r *Rules) {
		r.Life = func(_ context.Context, queue, key string) (Life, error) {
			if queue != "orders" || key != "M1/O1" {
				t.Errorf("asked about the task %s %s; want the order's own", queue, key)
			}
			return Life{Late: late}, broken
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

// After the close an order can be paid twice, and one payment be found by the watch and the other
// by the order's own task. The first is a late payment and the second a duplicate, whoever finds
// which; the same payment is told once.
func TestTwoPaymentsAfterTheClose(t *testing.T) {
	const first, second = "T1", "T2"
	paid := func(number string) func(*Order) QueryAnswer {
		return func(*Order) QueryAnswer {
			return QueryAnswer{Reading: Paid, Answer: said("x"), Taken: takenOf(number)}
		}
	}
	notice := func(number string) *Told {
		return &Told{Result: NoticeApplied, Of: OfPayment, Reading: "PAID", Taken: takenOf(number)}
	}
	during := func(first, second string) func(h *house, own, watch *bellman.Task) {
		return func(h *house, own, watch *bellman.Task) {
			h.channel.query = func(o *Order) QueryAnswer {
				h.tell(own, notice(first))
				return paid(second)(o)
			}
			h.until(watch)
		}
	}
	then := func(do func(h *house, own *bellman.Task)) func(h *house, own, watch *bellman.Task) {
		return func(h *house, own, watch *bellman.Task) {
			h.channel.query = paid(first)
			h.until(watch)
			do(h, own)
		}
	}
	late, duplicate := "orders/M1/O1/late_payment", "orders/M1/O1/duplicate_payment/"+hashed(second)
	for _, tt := range []struct {
		name string
		do   func(h *house, own, watch *bellman.Task)
		dup  bool // whether the second payment was made
	}{
		{"the watch, then a notice", then(func(h *house, own *bellman.Task) { h.tell(own, notice(second)) }), true},
		{"the watch, then two notices of the same", then(func(h *house, own *bellman.Task) {
			h.tell(own, notice(first))
			h.tell(own, notice(first))
		}), false},
		{"the watch, then two notices of another", then(func(h *house, own *bellman.Task) {
			h.tell(own, notice(second))
			h.tell(own, notice(second))
			h.tell(own, notice(first))
		}), true},
		{"the watch, then a person's query", then(func(h *house, own *bellman.Task) {
			h.channel.query = paid(second)
			h.byHand(own)
		}), true},
		{"a notice during the watch's query", during(first, second), true},
		{"a notice of the same during the watch's query", during(first, first), false},
		{"a notice, then a person's query by the watch", func(h *house, own, watch *bellman.Task) {
			h.tell(own, notice(first))
			h.until(watch)
			h.channel.query = paid(second)
			h.byHand(watch)
		}, true},
	} {
		h := newHouse(t, func(r *Rules) { r.Then.For = map[string][]Recipient{DuplicatePayment: r.Then.Default} })
		h.handler.rules.Life = h.lifeOf
		own := h.priced()
		h.until(own)
		tt.do(h, own, h.tasks["orders M1/O1/late_watch"])
		if got := h.told(late)["transaction_id"]; got != first {
			t.Errorf("%s: the late payment that was told is %v; want %s", tt.name, got, first)
		}
		task := h.tasks["merchant-notify "+duplicate]
		if (task != nil) != tt.dup {
			t.Errorf("%s: told of a second payment: %t; want %t", tt.name, task != nil, tt.dup)
		}
		if task != nil && h.told(duplicate)["transaction_id"] != second {
			t.Errorf("%s: the duplicate payment that was told is %v", tt.name, h.told(duplicate))
		}
		if want := map[bool]int{false: 1, true: 2}[tt.dup]; len(h.alerts) != want {
			t.Errorf("%s: alerts %q; want %d", tt.name, h.alerts, want)
		}
	}
}

// A watch that is restarted after it found a late payment still knows which one: another payment is
// a duplicate, although the restarted watch gets no answer.
func TestRestartedWatchKnowsItsPayment(t *testing.T) {
	h := newHouse(t, func(r *Rules) { r.Then.For = map[string][]Recipient{DuplicatePayment: r.Then.Default} })
	h.handler.rules.Life = h.lifeOf
	own := h.priced()
	h.until(own)
	watch := h.tasks["orders M1/O1/late_watch"]
	h.channel.query = pays(takenOf("T1"))
	h.until(watch)
	h.restart(watch)
	h.channel.query = reads(QueryError)
	h.attempt(watch)
	h.tell(own, &Told{Result: NoticeApplied, Of: OfPayment, Reading: "PAID", Taken: takenOf("T2")})
	if task := h.tasks["merchant-notify orders/M1/O1/duplicate_payment/"+hashed("T2")]; task == nil || len(h.alerts) != 2 {
		t.Errorf("told of the second payment: %t, alerts %q; want it told, and two alerts", task != nil, h.alerts)
	}
}

func takenOf(number string) Taken {
	return Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": number}
}

// A notice is not answered as accepted while nobody can say whether the watch knows a payment: the
// channel repeats it.
func TestNoticeWhileTheWatchCannotBeRead(t *testing.T) {
	h := newHouse(t)
	own := h.priced()
	h.until(own)
	broken := errors.New("the store does not answer")
	h.handler.rules.Life = func(context.Context, string, string) (Life, error) { return Life{}, broken }
	told := &Told{Result: NoticeApplied, Of: OfPayment, Reading: "PAID", Taken: takenOf("T1")}
	if _, err := h.handler.Complete(own, bellman.Completion{Detail: told}, h.now); !errors.Is(err, broken) {
		t.Errorf("%v; want the error of the store", err)
	}
}

// However notices, queries and people find the payments after a close: each is told once, the first
// as the late payment and each other as a duplicate.
func TestEachPaymentAfterTheCloseIsToldOnce(t *testing.T) {
	for seed := range uint64(2000) {
		d := dice(newDice(seed))
		h := newHouse(t, func(r *Rules) { r.Then.For = map[string][]Recipient{DuplicatePayment: r.Then.Default} })
		h.handler.rules.Life = h.lifeOf
		own := h.priced()
		h.until(own)
		watch := h.tasks["orders M1/O1/late_watch"]
		asked := own // whose query is in flight; a change of the same task is the engine's to merge
		seen := make(map[string]bool)
		var log []string
		notice := func(during string) {
			number := pick(d, "T1", "T2", "T3")
			seen[number], log = true, append(log, during+"notice "+number)
			h.tell(own, &Told{Result: NoticeApplied, Of: OfPayment, Reading: "PAID", Taken: takenOf(number)})
		}
		h.channel.query = func(*Order) QueryAnswer {
			if asked == watch && d.percent(30) {
				notice("meanwhile a ")
			}
			number := pick(d, "", "T1", "T2", "T3")
			if number == "" {
				return QueryAnswer{Reading: Closed, Answer: said("x")}
			}
			seen[number], log = true, append(log, "answer "+number)
			return QueryAnswer{Reading: Paid, Answer: said("x"), Taken: takenOf(number)}
		}
		for range 1 + d(6) {
			switch pick(d, 0, 1, 1, 2, 3) {
			case 0:
				notice("")
			case 1:
				if asked = watch; !watch.State.Ended() {
					log = append(log, "the watch's attempt")
					h.attempt(watch)
				}
			case 2:
				asked, log = watch, append(log, "somebody resends the watch")
				h.byHand(watch)
			case 3:
				asked, log = own, append(log, "somebody resends the order")
				h.byHand(own)
			}
		}
		told := make(map[string]int)
		late := 0
		for _, task := range h.tasks {
			if task.Event == EventLatePayment {
				late++
			}
			if task.Event == EventLatePayment || task.Event == EventDuplicatePayment {
				told[h.told(task.Key)["transaction_id"].(string)]++
			}
		}
		for number := range seen {
			if told[number] != 1 {
				t.Errorf("seed %d: payment %s was told %d times: %q", seed, number, told[number], log)
			}
		}
		if len(told) != len(seen) || late != min(1, len(seen)) || len(h.alerts) != len(seen) {
			t.Errorf("seed %d: told %v, of which %d late, alerts %q; want %v: %q", seed, told, late, h.alerts, seen, log)
		}
		if t.Failed() {
			return
		}
	}
}
