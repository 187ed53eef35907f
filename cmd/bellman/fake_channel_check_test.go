package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// check compares an order's page with the requests that the till has seen for it.
func (l *till) check(t *testing.T, to *client.Client, b *bill) *client.Order {
	t.Helper()
	page, err := to.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: b.no}, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, s := range b.visits {
		if s.what != "close" {
			continue
		}
		if i == 0 || b.visits[i-1].run != s.run || !strings.Contains(b.visits[i-1].body, `"NOTPAY"`) {
			t.Errorf("order %s: closed without an answer just before that said it is not paid: %s", b.no, brief(b.visits))
		}
	}

	// One notification of the decision, and one for a payment that came late.
	events := map[string]int{}
	for id, event := range b.events {
		if events[event]++; b.states[id] != page.OrderState {
			t.Errorf("order %s: the merchant was notified of %s; want %s, the state of the order", b.no, b.states[id], page.OrderState)
		}
	}
	late := 0
	if page.LatePayment != "" {
		late = 1
	}
	if events["decided"] != 1 || events["late_payment"] != late {
		t.Errorf("order %s, %s, late payment %q: the merchant was notified by the tasks %v", b.no, page.OrderState, page.LatePayment, b.events)
	}

	// The logs must agree with the requests.
	logs := map[string][]client.Attempt{}
	var watch []client.Attempt
	for _, a := range page.Attempts {
		if a.Queue == b.queue {
			watch = append(watch, a.Attempt)
		} else {
			logs[a.Task] = append(logs[a.Task], a.Attempt)
		}
	}
	if !agree(b.visits, watch) {
		t.Errorf("order %s: the channel saw %s; the log has %s", b.no, brief(b.visits), logged(watch))
	}
	for _, task := range page.Tasks {
		if task.Queue == "tell" && !agree(b.told[task.ID], logs[task.ID]) {
			t.Errorf("order %s: the merchant saw %s; the log has %s", b.no, brief(b.told[task.ID]), logged(logs[task.ID]))
		}
	}
	return page
}

// agree reports whether a log has all requests that were seen, in order. Only the last request of
// each run may be missing, because it was in flight when the run ended.
func agree(seen []*visit, log []client.Attempt) bool {
	for len(log) > 0 && log[0].Result == "unknown" { // announced before the server died: it may or may not have been sent
		log = log[1:]
	}
	if len(log) > 0 && log[0].Result == "timeout" && log[0].TookMS >= hurried.Milliseconds() && agree(seen, log[1:]) {
		return true // on a busy machine the time may be over before the request arrives
	}
	if len(seen) == 0 {
		return len(log) == 0
	}
	s := seen[0]
	if len(log) > 0 && s.is(&log[0]) && agree(seen[1:], log[1:]) {
		return true
	}
	last := len(seen) == 1 || seen[1].run != s.run
	return last && agree(seen[1:], log)
}

// hurried is the time limit of an attempt in these tests. It is short, so that some attempts exceed
// it.
const hurried = 250 * time.Millisecond

// is reports whether a visit matches an entry of the attempt log.
func (s *visit) is(a *client.Attempt) bool {
	action := a.Action
	if action == "" {
		action = "tell"
	}
	if s.what != action || s.number != "" && s.number != fmt.Sprint(a.Number) {
		return false
	}
	// On a busy machine an answer may arrive after the time limit.
	return s.status == a.Status && s.body == a.Response || a.Result == "timeout" && a.TookMS >= hurried.Milliseconds()
}

func brief(seen []*visit) string {
	var b strings.Builder
	for _, s := range seen {
		fmt.Fprintf(&b, "\n  run %d: %s %s %d %s", s.run, s.what, s.number, s.status, s.body)
	}
	return b.String()
}

func logged(log []client.Attempt) string {
	var b strings.Builder
	for _, a := range log {
		fmt.Fprintf(&b, "\n  %d by %s at %s: %s %s %d %s", a.Number, a.Trigger, a.Started, a.Action, a.Result, a.Status, a.Response)
	}
	return b.String()
}
