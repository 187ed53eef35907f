package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// fault is the percentage of requests that the channel answers with an error, with throttling, or
// not at all.
const fault = 4

// chance plays the channel and the merchant: orders are paid at any moment, and some requests get
// errors.
func chance(l *till) {
	l.answer = func(b *bill, _ *http.Request, s *visit) {
		before, n := rand.IntN(2) == 0, rand.IntN(100)
		if n < fault && before { // only the error happens
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

// fault returns an error answer of a random kind.
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

// notify sends bellman the channel's notices of payments, each repeatedly until it is answered, as
// channels do. It returns when no notice is left or the server is gone.
func (l *till) notify(ctx context.Context, to *client.Client) (refused error) {
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for ctx.Err() == nil {
		b, more := l.unnoticed()
		if b == nil && !more {
			return nil
		}
		if b == nil {
			<-look.C
			continue
		}
		_, err := to.CompleteOrder(ctx, client.OrderRef{MerchantNo: "M1", OrderNo: b.no}, client.CompleteTask{Outcome: "PAID"})
		if err != nil && client.StatusOf(err) != 0 {
			return fmt.Errorf("notice of order %s: %w", b.no, err)
		}
		if err != nil {
			return nil // the server was killed
		}
		l.mu.Lock()
		b.noticed = true
		l.mu.Unlock()
	}
	return nil
}

// unnoticed returns an order with a payment of which no notice has reached bellman. It pays the
// order first if it is time. nil: there is none at the moment; more may come.
func (l *till) unnoticed() (b *bill, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.bills {
		if b.fate != "noticed" || b.noticed || b.state == "CLOSED" {
			continue
		}
		if more = true; time.Now().After(b.payAt) {
			b.state = "SUCCESS"
			return b, true
		}
	}
	return nil, more
}

// TestOrderTorture kills the server repeatedly while it watches orders: BELLMAN_TORTURE rounds, 5
// by default, of 60 orders each. Every order paid at the channel is PAID or has a late payment.
// Every other order is CLOSED at the channel and here. The merchant is notified once of each.
func TestOrderTorture(t *testing.T) {
	t.Parallel()
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
	settings := l.settings(t, []string{"orders"}, "schedule: 50ms, 200ms*", "confirm: 0s, 100ms", "late_watch: 300ms", "timeout: "+hurried.String())
	dir := t.TempDir() + "/data"
	fates := []string{"unpaid", "sluggish", "paid", "paid", "paid at the close", "paid after the close", "paid late", "noticed"}
	for round := range rounds {
		p := serveStore(t, dir, "--config", settings)
		open := l.pending(t, p)
		var bills []*bill
		for i := range each {
			b := &bill{no: fmt.Sprintf("%d-%d", round, i), queue: "orders", fate: fates[rand.IntN(len(fates))]}
			switch b.fate {
			case "paid", "noticed":
				b.payAt = time.Now().Add(rand.N(time.Second))
			case "paid late": // usually the channel closes the order first
				b.payAt = time.Now().Add(800*time.Millisecond + rand.N(800*time.Millisecond))
			}
			bills = append(bills, b)
		}
		before := l.count()
		l.place(t, p.client(), 200*time.Millisecond+rand.N(600*time.Millisecond), bills...)
		ctx, stop := context.WithCancel(t.Context())
		notices := make(chan error, 1)
		go func() { notices <- l.notify(ctx, p.client()) }()
		// Tasks in flight at the last kill go first. A task in flight at several deaths is
		// suspected to be their cause.
		l.await(t, before+open+20+rand.IntN(2*each))
		p.kill()
		stop()
		if err := <-notices; err != nil {
			t.Fatalf("round %d: %v", round+1, err)
		}
		l.killed(t)
		t.Logf("round %d: %d open from before, %d requests until the kill", round+1, open, l.count()-before)
	}

	p := serveStore(t, dir, "--config", settings)
	if err := l.notify(t.Context(), p.client()); err != nil {
		t.Fatal(err)
	}
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
