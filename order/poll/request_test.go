package poll

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// After an answer that does not say what became of the request, the number is queried. The request is
// sent again only if the channel knows no such refund, and later than the gap; never after a day.
func TestUnknownRequest(t *testing.T) {
	h := newHouse(t, requests)
	h.channel.request = func(*order.Order) RequestAnswer {
		return RequestAnswer{Answer: order.Answer{Result: bellman.TimedOut}}
	}
	h.channel.query = reads(NotFound)
	task := h.refund("")
	var at []string
	for range 400 {
		if v := h.attempt(task); v.Action == "request" {
			at = append(at, h.now.Sub(created).Round(time.Minute).String())
		}
	}
	// The gaps are 10m, 20m, 40m, …, each after the request before it, and at the first query after them.
	if got, want := strings.Join(at, " "), "0s 10m0s 30m0s 1h10m0s 2h30m0s 5h10m0s 10h31m0s 16h31m0s 22h31m0s"; got != want {
		t.Errorf("requested at %s; want %s", got, want)
	}
	if slices.ContainsFunc(h.channel.asked, func(s string) bool { return !strings.HasSuffix(s, " R1") }) {
		t.Errorf("asked %v; want one number", h.channel.asked)
	}
	if len(h.alerts) != 2 || !strings.Contains(h.alerts[0], "too late to request") || !strings.Contains(h.alerts[1], "used up") || task.State.Ended() {
		t.Errorf("alerts %q, %v", h.alerts, task.State)
	}
}

// Without an explicit answer that there is no such refund, nothing is requested again.
func TestNeverAgainInDoubt(t *testing.T) {
	for _, r := range []Reading{QueryError, Waiting} {
		h := newHouse(t, requests)
		h.channel.request = func(*order.Order) RequestAnswer { return RequestAnswer{} }
		h.channel.query = reads(r)
		task := h.refund("")
		h.gaps(task, 300)
		if n := count(h.channel.asked, "request R1"); n != 1 {
			t.Errorf("%v: %d requests; want 1", r, n)
		}
	}
}

// A repeat is announced in time, and its turn comes when the channel may have forgotten the number: it is not sent. The first
// request is sent however late.
func TestRepeatTooLate(t *testing.T) {
	h := newHouse(t, requests)
	h.channel.request = func(*order.Order) RequestAnswer {
		return RequestAnswer{Answer: order.Answer{Result: bellman.TimedOut}}
	}
	h.channel.query = reads(NotFound)
	task := h.refund("")
	h.attempt(task)
	h.now = h.now.Add(2 * RequestFor) // nobody was there
	if v := h.attempt(task); v.Action != "request" {
		t.Fatalf("%+v; want the first request", v)
	}

	task = h.refund("")
	for l := h.life(task); l.Stage != Requesting || l.Requests < 2; l = h.life(task) {
		h.attempt(task)
	}
	h.channel.asked, h.now = nil, h.now.Add(RequestFor)
	h.gaps(task, 10)
	if n := count(h.channel.asked, "query R1"); n != 10 || len(h.alerts) == 0 || !strings.Contains(h.alerts[0], "too late to request") {
		t.Errorf("asked %v, alerts %q; want queries alone, and an alert", h.channel.asked, h.alerts)
	}
}

func TestRefusedRequest(t *testing.T) {
	h := newHouse(t, requests)
	h.channel.request = func(*order.Order) RequestAnswer {
		return RequestAnswer{Answer: order.Answer{Result: bellman.ErrorStatus, Status: 403, Body: []byte("NOT_ENOUGH")}, Reading: RequestRefused}
	}
	h.channel.query = reads(NotFound)
	task := h.refund("")
	h.gaps(task, 40)
	if len(h.alerts) != 1 || h.alerts[0] != "PENDING: the channel refused the request" {
		t.Errorf("alerts %q; want one", h.alerts)
	}
}
