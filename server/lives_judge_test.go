package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/order"
)

// judge says how a life ended, and what the truth does not allow of it.
func (l *life) judge() (end string, wrong []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, line := range l.log {
		if _, text, is := strings.Cut(line, "WRONG: "); is {
			bad("%s", text)
		}
	}
	decided, late := l.tells(bad)
	task := l.task()
	if task == nil {
		if l.added >= 0 {
			bad("the order is not there")
		}
		if len(l.told) > 0 {
			bad("the merchant was told of an order that does not exist")
		}
		return "never added", wrong
	}
	life, err := order.ParseLife(task.Data)
	if err != nil {
		bad("%v", err)
	}
	state := order.StateOf(task)
	if !task.State.Ended() {
		bad("the order has not ended: %s", state)
	}
	if want := state != order.StateUnknown; (decided == 1) != want || decided > 1 {
		bad("%s, and told %d times", state, decided)
	}
	if late > 1 || late > 0 && (state == "PAID" || state == "PAID_REFUNDED") {
		bad("%s, and %d late payments told", state, late)
	}
	if state == order.StateUnknown && len(l.alerts) == 0 {
		bad("UNKNOWN, and nobody was alerted")
	}
	l.judgeMoney(state, &life, late, bad)
	l.judgeNumbers(task.Reason, bad)

	if end = state; late > 0 {
		end += " late_payment"
	}
	if task.Reason == "amount_mismatch" {
		end += " amount_mismatch"
	}
	return end, wrong
}

// tells counts what the merchant was told. Each key is told once, and says what is so.
func (l *life) tells(bad func(string, ...any)) (decided, late int) {
	seen := map[string]bool{}
	l.numbers = map[string]int{}
	for _, h := range l.told {
		if seen[h.key] {
			bad("the merchant accepted %s twice", h.key)
		}
		seen[h.key] = true
		state, _ := h.fields["order_state"].(string)
		amount, _ := h.fields["amount"].(float64)
		if number, paid := h.fields["transaction_id"].(string); paid {
			l.numbers[number]++
			if strings.HasPrefix(state, "PAID") && h.event != order.EventDuplicatePayment {
				l.decider = number
			}
		}
		claims := strings.HasPrefix(state, "PAID") || h.event == order.EventLatePayment
		switch {
		case claims && (l.paid.IsZero() || h.at.Before(l.paid)):
			bad("the merchant was told %s %v, and nobody had paid", h.event, h.fields)
		case claims && !l.confused && int64(amount) != l.pay:
			bad("the merchant was told of %v, and %d was paid", h.fields["amount"], l.pay)
		}
		switch h.event {
		case order.EventLatePayment:
			late++
		case order.EventDuplicatePayment:
		default:
			decided++
		}
	}
	return decided, late
}

// judgeMoney holds the state of an order against what really happened.
func (l *life) judgeMoney(state string, life *order.Life, late int, bad func(string, ...any)) {
	paid, at := !l.paid.IsZero(), time.UnixMilli(life.DecidedAt)
	isPaid := state == "PAID" || state == "PAID_REFUNDED"
	right := l.amount == 0 || l.pay == l.amount
	switch {
	case isPaid && !paid:
		bad("an unpaid order was completed: %s", state)
	case isPaid && at.Before(l.paid):
		bad("%s at %v, before the payment at %v", state, at, l.paid)
	case isPaid && !right && !l.confused:
		bad("%s, and %d was paid instead of %d", state, l.pay, l.amount)
	case state == "PAID_REFUNDED" && l.refunded.IsZero():
		bad("PAID_REFUNDED, and nothing was refunded")
	case state == "CLOSED" && paid && l.paid.Before(at) && !l.stubborn && !l.late(at):
		bad("a paid order was closed: paid at %v, closed here at %v", l.paid.Sub(l.world.start), at.Sub(l.world.start))
	case state == "CLOSED" && l.closed.IsZero() && !l.unborn:
		bad("CLOSED, and open at the channel")
	case state == "REVOKED", state == "FAILED":
		bad("%s, which the channel never said", state)
	}
	if late > 0 && !paid {
		bad("a late payment was told, and nobody paid")
	}
	if !paid || isPaid {
		return
	}
	// The payment is told, if anything showed it, and somebody is alerted.
	switch visible := l.accepted || l.errors == 0; {
	case state == "CLOSED" && late == 0 && l.accepted:
		bad("paid, CLOSED, its notice was accepted, and no late payment was told")
	case state == "CLOSED" && late == 0 && visible && l.paid.Add(l.lag).Before(at.Add(14*time.Minute)):
		bad("paid at %v, CLOSED at %v, no late payment told, and no query failed", l.paid.Sub(l.world.start), at.Sub(l.world.start))
	case state == order.StateUnknown && right && late == 0 && l.accepted:
		bad("paid, UNKNOWN, its notice was accepted, and no late payment was told")
	case state == order.StateUnknown && right && !l.confused && l.errors == 0:
		bad("paid, UNKNOWN, and no query failed")
	case state == order.StateUnknown && !right && !l.confused && late > 0:
		bad("another amount was paid, and a late payment was told")
	}
}

// judgeNumbers holds what was told and refunded against the numbers of the payments: each is told
// once if its notice was accepted, and none is refunded twice, nor the one that decided the order.
func (l *life) judgeNumbers(reason string, bad func(string, ...any)) {
	for number, times := range l.numbers {
		if times > 1 {
			bad("payment %s was told %d times", number, times)
		}
	}
	for i, number := range l.returned {
		switch {
		case number == l.decider:
			bad("the payment that decided the order was refunded: %s", number)
		case l.numbers[number] == 0:
			bad("a payment was refunded, and nobody told: %q", number)
		case slices.Contains(l.returned[:i], number):
			bad("payment %s was refunded twice", number)
		}
	}
	if reason == "amount_mismatch" || l.confused {
		return
	}
	if n := l.numbers["T"+l.no]; l.accepted && n == 0 {
		bad("the notice of the first payment was accepted, and it was not told")
	}
	if n := l.numbers["U"+l.no]; l.second && n == 0 {
		bad("the notice of the second payment was accepted, and it was not told")
	}
}

// late reports whether a payment came so shortly before a decision that no query could see it: a
// channel that does not know an order takes its payment after the last query, and a notice that it
// is closed is older.
func (l *life) late(decided time.Time) bool {
	return l.unborn && decided.Sub(l.paid) <= 5*time.Second
}
