package sender

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
)

// publish is a broker as a function.
type publish func(ctx context.Context, to Address, m *Message) (string, error)

func (p publish) Publish(ctx context.Context, to Address, m *Message) (string, error) {
	return p(ctx, to, m)
}

// elsewhere makes the attempts that go to no broker.
type elsewhere struct{}

func (elsewhere) Attempt(context.Context, *bellman.Task, int) bellman.Verdict {
	return bellman.Verdict{Response: "elsewhere"}
}

func (elsewhere) Check(task *bellman.Task) error {
	task.Endpoint = "elsewhere"
	return nil
}

func handlerOf(t *testing.T, url string, c sign.Config, p publish) Handler {
	t.Helper()
	h, err := New(Rules{URL: url, Sign: c, Connections: map[string]Connection{"main": {AMQP, p}, "bus": {NATS, p}}, Own: []string{"main", "gone", "mian", "bus"}, Else: elsewhere{}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestResults(t *testing.T) {
	tests := []struct {
		err    error
		result bellman.Result
		next   bellman.Next
		text   string
	}{
		{nil, bellman.Accepted, bellman.Succeed, ""},
		{&Refusal{"no\nqueue"}, bellman.Refused, bellman.Again, "no queue"},
		{context.DeadlineExceeded, bellman.TimedOut, bellman.Again, "the broker did not confirm in time"},
		{errors.New("connection refused"), bellman.Unreachable, bellman.Again, "connection refused"},
	}
	for _, tt := range tests {
		h := handlerOf(t, "", sign.Config{}, func(context.Context, Address, *Message) (string, error) { return "confirmed", tt.err })
		v := h.Attempt(t.Context(), &bellman.Task{URL: "amqp://main/x/y"}, 1)
		if v.Result != tt.result || v.Next != tt.next || v.Error != tt.text {
			t.Errorf("%v: %+v; want %v, %v, %q", tt.err, v, tt.result, tt.next, tt.text)
		}
	}
	h := handlerOf(t, "", sign.Config{}, nil)
	if v := h.Attempt(t.Context(), &bellman.Task{URL: "amqp://gone/x/y"}, 1); v.Result != bellman.Unreachable || v.Error != `not sent: url: there is no connection "gone": want bus, main` {
		t.Errorf("a connection that is gone: %+v", v)
	}
	if v := h.Attempt(t.Context(), &bellman.Task{URL: "https://m/"}, 1); v.Response != "elsewhere" {
		t.Errorf("no broker's: %+v", v)
	}
}

func TestMessage(t *testing.T) {
	var got *Message
	var to Address
	h := handlerOf(t, "nats://bus/home", sign.Config{Scheme: sign.StandardWebhooks, Secrets: []sign.Secret{sign.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}},
		func(_ context.Context, a Address, m *Message) (string, error) {
			got, to = m, a
			return "", nil
		})
	id := bellman.NewID()
	task := &bellman.Task{ID: id, Event: "paid", Header: map[string]string{"shop": "12"}, Body: []byte(`{"n":1}`)}
	h.Attempt(t.Context(), task, 3)
	if to != (Address{NATS, "bus", "", "home"}) || got.ID != id.String() || got.Event != "paid" || string(got.Body) != `{"n":1}` {
		t.Errorf("%+v is sent to %+v", got, to)
	}
	for name, want := range map[string]string{"Shop": "12", "Bellman-Task": id.String(), "Bellman-Attempt": "3", "Content-Type": "application/json", "Webhook-Id": id.String()} {
		if got.Header.Get(name) != want {
			t.Errorf("header %s is %q; want %q", name, got.Header.Get(name), want)
		}
	}
	if !strings.HasPrefix(got.Header.Get("Webhook-Signature"), "v1,") {
		t.Errorf("the message is not signed: %v", got.Header)
	}
	task.Trigger = bellman.ByHand
	if h.Attempt(t.Context(), task, 4); got.ID != id.String()+"/4" {
		t.Errorf("a resend by hand has the id %s", got.ID)
	}
	task.Trigger, task.Repeat, task.Began = bellman.BySchedule, "10m", time.UnixMilli(7)
	if h.Attempt(t.Context(), task, 5); got.ID != id.String()+"@7" {
		t.Errorf("a round has the id %s", got.ID)
	}
}

func TestCheck(t *testing.T) {
	h := handlerOf(t, "", sign.Config{}, nil)
	tests := []struct {
		task bellman.Task
		want string
	}{
		{bellman.Task{URL: "amqp://main/x/y", Header: map[string]string{"shop": "12"}}, ""},
		{bellman.Task{URL: "amqp://mian/x/y"}, `url: there is no connection "mian": want bus, main`},
		{bellman.Task{URL: "nats://main/x"}, `url: connection "main" is of another kind: want amqp://main/`},
		{bellman.Task{URL: "amqp://main"}, "url: names no routing key"},
		{bellman.Task{URL: "amqp://main/x/y", Method: "GET"}, "method: a message to a broker has none"},
		{bellman.Task{URL: "amqp://main/x/y", Header: map[string]string{"bellman-task": "1"}}, "headers.bellman-task: names that begin with Bellman-"},
		{bellman.Task{URL: "nats://bus/x", Header: map[string]string{"Nats-Msg-Id": "1"}}, "headers.Nats-Msg-Id: would tell the broker something"},
	}
	for _, tt := range tests {
		err := h.Check(&tt.task)
		switch {
		case tt.want == "" && (err != nil || tt.task.Endpoint != "amqp://main" || tt.task.Method != http.MethodPost):
			t.Errorf("%+v: %v", tt.task, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v; want %q", tt.task.URL, err, tt.want)
		}
	}
	task := bellman.Task{URL: "https://m/"}
	if err := h.Check(&task); err != nil || task.Endpoint != "elsewhere" {
		t.Errorf("no broker's: %v, %q", err, task.Endpoint)
	}
	if _, err := New(Rules{URL: "amqp://gone/x/y", Else: elsewhere{}}); err == nil || !strings.Contains(err.Error(), `url: there is no connection "gone": the configuration has none`) {
		t.Errorf("a queue's own address: %v", err)
	}
}

// A task names a broker in an address of its own where its queue says so, and
// otherwise none but the queue's own address: an address may come from anybody.
func TestOwnAddress(t *testing.T) {
	sent := 0
	p := publish(func(context.Context, Address, *Message) (string, error) { sent++; return "", nil })
	connections := map[string]Connection{"main": {AMQP, p}, "other": {AMQP, p}}
	tests := []struct {
		home string
		own  []string
		url  string
		want string // what is wrong
	}{
		{"", nil, "amqp://main/orders/paid", "tasks of this queue may name none"},
		{"amqp://main/orders/paid", nil, "amqp://main/orders/refunded", "tasks of this queue may name none"},
		{"amqp://main/orders/paid", nil, "amqp://main/orders/paid", ""},
		{"amqp://main/orders/paid", nil, "", ""},
		{"", []string{"main"}, "amqp://main/orders/paid", ""},
		{"", []string{"main"}, "amqp://other/orders/paid", `connection "other" is not for tasks of this queue: want main`},
		{"", []string{"main"}, "amqp://MAIN/orders/paid", `connection "MAIN" is not for tasks of this queue: want main`},
		{"", []string{"main"}, "AMQP://other/orders/paid", "is not for tasks of this queue"},
	}
	for _, tt := range tests {
		h, err := New(Rules{URL: tt.home, Own: tt.own, Connections: connections, Else: elsewhere{}})
		if err != nil {
			t.Fatal(err)
		}
		task, before := &bellman.Task{URL: tt.url}, sent
		err = h.Check(task)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s in a queue with %q and connections %q: %v; want %q", tt.url, tt.home, tt.own, err, tt.want)
		}
		// One that was accepted under another configuration is not sent either.
		v := h.Attempt(t.Context(), task, 1)
		if (v.Result == bellman.Accepted) != (tt.want == "") || (sent > before) != (tt.want == "") {
			t.Errorf("an attempt of %s in a queue with %q and connections %q: %+v", tt.url, tt.home, tt.own, v)
		}
	}
}

// TestLink: a broker that is away is dialled seldom, however many ask; one that is
// back is found, and one that broke is dialled anew.
func TestLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials, away := 0, true
		var alive atomic.Bool
		alive.Store(true)
		l := Link[int]{
			Dial: func(context.Context) (int, error) {
				dials++
				time.Sleep(time.Second)
				if away {
					return 0, errors.New("refused")
				}
				return dials, nil
			},
			Alive: func(int) bool { return alive.Load() },
			Close: func(int) {},
		}
		for range 100_000 { // 100 s
			if _, err := l.Get(t.Context()); err == nil || err.Error() != "refused" {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if dials > 100 {
			t.Errorf("%d dials of 100,000 that asked", dials)
		}
		away = false
		time.Sleep(longestWait)
		first, err := l.Get(t.Context())
		if again, _ := l.Get(t.Context()); err != nil || again != first {
			t.Errorf("connections %d and %d, %v; want one", first, again, err)
		}
		alive.Store(false)
		go func() {
			time.Sleep(500 * time.Millisecond)
			alive.Store(true)
		}()
		if next, err := l.Get(t.Context()); err != nil || next == first {
			t.Errorf("after it broke: connection %d, %v; want another than %d", next, err, first)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		alive.Store(false)
		if _, err := l.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while it is dialled: %v; want to wait no longer than allowed", err)
		}
		alive.Store(true)
		l.End()
		if _, err := l.Get(t.Context()); err == nil {
			t.Error("a link that ended has a connection")
		}
	})
}
