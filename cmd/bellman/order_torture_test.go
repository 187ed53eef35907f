package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"
)

// fault is how many of a hundred requests the channel answers with an error, by
// hanging, or by asking for fewer.
const fault = 6

// chance is the channel's and the merchant's part: orders are paid at any moment,
// and some answers are none.
func chance(l *till) {
	l.answer = func(b *bill, _ *http.Request, s *visit) {
		before, n := rand.IntN(2) == 0, rand.IntN(100)
		if n < fault && before { // nothing happens but the error
			b.fault(s, n)
			return
		}
		now := time.Now()
		due := !b.payAt.IsZero() && now.After(b.payAt)
		switch {
		case due && (b.state == "NOTPAY" || b.fate == "paid late"),
			b.fate == "paid at the close" && s.what == "close" && b.state == "NOTPAY",
			b.fate == "paid after the close" && s.what == "query" && b.closes > 0:
			b.state = "SUCCESS"
		}
		switch {
		case s.what == "close":
			b.shut(s)
		case b.fate == "sluggish" && b.state == "CLOSED":
			b.says(s, "NOTPAY")
		default:
			b.says(s, b.state)
		}
		if n < fault {
			b.fault(s, n)
		}
	}
	l.tell = func(_ *bill, _ *http.Request, s *visit, _ notice) {
		if rand.IntN(10) == 0 {
			s.body = "busy"
		}
	}
}

// fault is an answer that says nothing, of one kind or another.
func (b *bill) fault(s *visit, n int) {
	switch n {
	case 0:
		b.fails(s, http.StatusTooManyRequests, "FREQUENCY_LIMITED")
	case 1:
		s.status, s.body = 0, "" // hangs
	case 2:
		s.status, s.body = http.StatusOK, fmt.Sprintf("<html>%d", len(b.visits))
	default:
		b.fails(s, http.StatusInternalServerError, "SYSTEM_ERROR")
	}
}

// TestOrderTorture kills the server while it watches orders, again and again:
// BELLMAN_TORTURE rounds, 5 by default, of 60 orders each. Whatever was paid at
// the channel is PAID or has a late payment, whatever was not is CLOSED there and
// here; the merchant is told once of each.
func TestOrderTorture(t *testing.T) {
	rounds, each := 5, 60
	if text := os.Getenv("BELLMAN_TORTURE"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil || rounds < 1 {
			t.Fatalf("BELLMAN_TORTURE=%q: want a number of rounds", text)
		}
	}
	var l till
	chance(&l)
	l.start(t)
	settings := l.settings(t, []string{"orders"}, "schedule: 50ms, 200ms*", "confirm: 0s, 100ms", "late_watch: 300ms", "timeout: 250ms")
	dir := t.TempDir() + "/data"
	fates := []string{"unpaid", "sluggish", "paid", "paid", "paid at the close", "paid after the close", "paid late"}
	for round := range rounds {
		p := serveStore(t, dir, "--config", settings)
		open := l.pending(t, p)
		var bills []*bill
		for i := range each {
			b := &bill{no: fmt.Sprintf("%d-%d", round, i), queue: "orders", fate: fates[rand.IntN(len(fates))]}
			switch b.fate {
			case "paid":
				b.payAt = time.Now().Add(rand.N(time.Second))
			case "paid late": // at the channel it is closed first, as a rule
				b.payAt = time.Now().Add(800*time.Millisecond + rand.N(800*time.Millisecond))
			}
			bills = append(bills, b)
		}
		before := l.count()
		l.place(t, p.client(), 200*time.Millisecond+rand.N(600*time.Millisecond), bills...)
		// What was in flight at the last kill has its turn first: a task that is in
		// flight at each of several deaths is suspected to be their cause.
		l.await(t, before+open+20+rand.IntN(2*each))
		p.kill()
		l.killed(t)
		t.Logf("round %d: %d open from before, %d requests until the kill", round+1, open, l.count()-before)
	}

	p := serveStore(t, dir, "--config", settings)
	l.finish(t, p)
	ended, late := map[string]int{}, 0
	for _, b := range l.bills {
		page := l.check(t, p.client(), b)
		want := []string{"CLOSED", ""}
		if b.state == "SUCCESS" {
			want[0] = "PAID"
			if page.LatePayment != "" {
				want = []string{"CLOSED", "PAID"}
				late++
			}
		}
		if page.OrderState != want[0] || page.LatePayment != want[1] || b.state == "NOTPAY" {
			t.Errorf("order %s, %s: %s at the channel, here %s, late payment %q; the channel saw %s",
				b.no, b.fate, b.state, page.OrderState, page.LatePayment, brief(b.visits))
		}
		ended[page.OrderState]++
	}
	p.stop()
	t.Logf("%v, %d late payments; %s", ended, late, must(t, "check", "--store", "pebble:"+dir))
}
