package poll

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// After an answer that does not say what became of the request, the number is queried. The request
// is sent again only if the channel knows no such refund, and later than the gap; never after a
// day.
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
	// The gaps are 10m, 20m, 40m, …, each after the request before it, and at the first query after
	// them.
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

// A repeat is announced in time, and its turn comes when the channel may have forgotten the number:
// it is not sent. The first request is sent however late.
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

func TestRequest(t *testing.T) {
	h := newHouse(t, requests)
	task := h.add(bellman.Task{MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"notify":{"url":"https://m.example"}}`)})
	v := h.attempt(task)
	if v.Action != "announce" || !v.Unsent || v.Next != bellman.Again || !v.Due.Equal(created) || len(h.channel.asked) > 0 {
		t.Errorf("%+v, asked %v; want nothing sent, and no answer of the channel's", v, h.channel.asked)
	}
	got := strings.Join(h.gaps(task, 1), ", ")
	if want := "0s request"; got != want || StandingOf(task).RefNo != "O1-R1" || task.Key != "M1/O1/O1-R1" {
		t.Fatalf("%s of %s, key %s; want %s of O1-R1", got, StandingOf(task).RefNo, task.Key, want)
	}
	if l := h.life(task); l.Requests != 1 || l.Request != "accepted" || l.Stage != Polling {
		t.Errorf("life %+v", l)
	}
	got = strings.Join(h.gaps(task, 6), ", ")
	if want := "1m0s query, 2m0s query, 3m0s query, 4m0s query, 5m0s query, 10m0s query"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	h.channel.query = reads(Done)
	if h.attempt(task); task.Reason != "done" || h.tells != 1 || len(h.alerts) > 0 {
		t.Errorf("%s, told %d times, alerts %q", task.Reason, h.tells, h.alerts)
	}
	if n := count(h.channel.asked, "request O1-R1"); n != 1 {
		t.Errorf("asked %v; want one request", h.channel.asked)
	}
}

// A crash between announcement and answer: nobody knows whether the request was sent, so it is not
// sent, but queried.
func TestCrash(t *testing.T) {
	tests := []struct {
		name string
		bend func(*bellman.Task)
		want string
	}{
		{"none", func(*bellman.Task) {}, "request"},
		{"the node died while the request was in flight", func(t *bellman.Task) { t.Phase = bellman.Announced }, "query"},
		{"the shard was handed over in flight", func(t *bellman.Task) { t.Phase = bellman.HandedOver }, "query"},
		{"the node stopped and cut it off", func(t *bellman.Task) { t.Attempts++ }, "query"},
		{"the task was restarted", func(t *bellman.Task) { t.Began = t.Began.Add(time.Minute) }, "query"},
	}
	for _, tt := range tests {
		h := newHouse(t, requests)
		h.channel.query = reads(NotFound)
		task := h.refund("")
		h.attempt(task)
		tt.bend(task)
		if v := h.attempt(task); v.Action != tt.want {
			t.Errorf("%s: %s; want %s", tt.name, v.Action, tt.want)
		}
		if tt.want == "request" {
			continue
		}
		log := strings.Join(h.gaps(task, 7), ", ")
		if n := count(h.channel.asked, "request R1"); n != 1 || !strings.HasSuffix(log, "10m5s query, 10m5s request") {
			t.Errorf("%s: %s; want one request, after the gap", tt.name, log)
		}
	}
}

// A refund that is to be requested tomorrow is not requested today because somebody asks how it
// stands.
func TestOutOfTurnBeforeTheRequest(t *testing.T) {
	for _, tt := range []struct {
		reading Reading
		want    string
	}{
		{NotFound, "0s query, 24h0m0s announce, 24h0m0s request"},
		{QueryError, "0s query, 24h0m0s announce, 24h0m0s request"},
		{Waiting, "0s query, 1m0s query, 2m0s query"}, // somebody else has requested it
		{Done, "0s query"},
	} {
		h := newHouse(t, requests)
		h.channel.query = reads(tt.reading)
		task := h.refund("")
		task.Trigger, task.Before = bellman.ByHand, &bellman.Before{Due: created.Add(24 * time.Hour)}
		if got := strings.Join(h.gaps(task, 3), ", "); got != tt.want {
			t.Errorf("%v: %s; want %s", tt.reading, got, tt.want)
		}
	}
}

// A request does not wait for the first gap of the schedule, unless the caller says when it begins.
func TestRequestBegins(t *testing.T) {
	h := newHouse(t, requests)
	later := bellman.Task{MerchantNo: "M1", OrderNo: "O1", StartAt: created.Add(time.Hour), Body: []byte(`{"notify":{"url":"https://m.example"}}`)}
	if err := h.handler.Check(&later); err != nil || !later.Due.IsZero() {
		t.Errorf("due %v, %v; want none", later.Due, err)
	}
}
