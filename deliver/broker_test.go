package deliver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
)

// schemes are the schemes of the brokers in these tests.
var schemes = Schemes{
	{Name: "amqp", Form: "amqp://CONNECTION/EXCHANGE/ROUTINGKEY", Check: func(path string) error {
		if !strings.Contains(path, "/") {
			return errors.New("names no routing key")
		}
		return nil
	}},
	{Name: "nats", Form: "nats://CONNECTION/SUBJECT", Check: func(string) error { return nil }, Reserved: "Nats-"},
}

// A function is a broker whose Send is a function.
type function struct {
	scheme *Scheme
	send   func(ctx context.Context, path string, m *Message) (string, error)
}

func (f function) Scheme() *Scheme { return f.scheme }

func (f function) Send(ctx context.Context, path string, m *Message) (string, error) {
	return f.send(ctx, path, m)
}

func brokerHandler(t *testing.T, url string, c sign.Config, send func(context.Context, string, *Message) (string, error)) *Handler {
	t.Helper()
	return newHandler(t, Options{}, Rules{
		URL: url, Sign: c, Schemes: schemes, Own: []string{"main", "gone", "mian", "bus"},
		Connections: map[string]Connection{"main": function{schemes[0], send}, "bus": function{schemes[1], send}},
	})
}

func TestBrokerResults(t *testing.T) {
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
		h := brokerHandler(t, "", sign.Config{}, func(context.Context, string, *Message) (string, error) { return "confirmed", tt.err })
		v := h.Attempt(t.Context(), &bellman.Task{URL: "amqp://main/x/y"}, 1)
		if v.Result != tt.result || v.Next != tt.next || v.Error != tt.text {
			t.Errorf("%v: %+v; want %v, %v, %q", tt.err, v, tt.result, tt.next, tt.text)
		}
	}
	h := brokerHandler(t, "", sign.Config{}, nil)
	if v := h.Attempt(t.Context(), &bellman.Task{URL: "amqp://gone/x/y"}, 1); v.Result != bellman.Unreachable || v.Error != `not sent: url: there is no connection "gone": want bus, main` {
		t.Errorf("an attempt over a removed connection: %+v; want unreachable, and an error that lists the connections", v)
	}
}

func TestBrokerMessage(t *testing.T) {
	var got *Message
	var to string
	h := brokerHandler(t, "nats://bus/home", sign.Config{Scheme: sign.StandardWebhooks, Secrets: []sign.Secret{sign.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}},
		func(_ context.Context, path string, m *Message) (string, error) {
			got, to = m, path
			return "", nil
		})
	id := bellman.NewID()
	task := &bellman.Task{ID: id, Event: "paid", Header: map[string]string{"shop": "12"}, Body: []byte(`{"n":1}`)}
	h.Attempt(t.Context(), task, 3)
	if to != "home" || got.ID != id.String() || got.Event != "paid" || string(got.Body) != `{"n":1}` {
		t.Errorf("message %+v to %s; want the task as a message to home", got, to)
	}
	for name, want := range map[string]string{"Shop": "12", "Bellman-Task": id.String(), "Bellman-Attempt": "3", "Content-Type": "application/json", "Webhook-Id": id.String()} {
		if got.Header.Get(name) != want {
			t.Errorf("header %s is %q; want %q", name, got.Header.Get(name), want)
		}
	}
	if !strings.HasPrefix(got.Header.Get("Webhook-Signature"), "v1,") {
		t.Errorf("the message is not signed: %v", got.Header)
	}
	task.Trigger, task.Before = bellman.ByHand, &bellman.Before{}
	if h.Attempt(t.Context(), task, 4); got.ID != id.String()+"/4" {
		t.Errorf("the message of attempt 4, by hand, has the id %s; want %s/4", got.ID, id)
	}
	task.Trigger, task.Before, task.Repeat, task.Began = bellman.BySchedule, nil, "10m", time.UnixMilli(7)
	if h.Attempt(t.Context(), task, 5); got.ID != id.String()+"@7" {
		t.Errorf("the message of a round has the id %s; want %s@7", got.ID, id)
	}
}

// A schedule that a person restarted sends another message than the one before. Its retries are the
// same message, also if a death lost an attempt.
func TestMessageOfARestart(t *testing.T) {
	var ids []string
	failing := errors.New("connection refused")
	h := brokerHandler(t, "nats://bus/home", sign.Config{}, func(_ context.Context, _ string, m *Message) (string, error) {
		ids = append(ids, m.ID)
		return "", failing
	})
	task := &bellman.Task{ID: bellman.NewID()}
	task.Began = time.UnixMilli(5)
	attempt := func(number int, recorded bool) {
		v := h.Attempt(t.Context(), task, number)
		if !recorded {
			return
		}
		if v.Data != nil {
			task.Data = v.Data
		}
		task.Trigger, task.Before = bellman.BySchedule, nil
	}
	restart := func(began int64) { task.Trigger, task.Before, task.Began = bellman.ByHand, nil, time.UnixMilli(began) }
	attempt(1, true)
	attempt(2, true)
	restart(70)
	attempt(3, false)
	attempt(4, true)
	attempt(5, true)
	task.Trigger, task.Before = bellman.ByHand, &bellman.Before{} // a resend in between
	attempt(6, true)
	attempt(7, true)
	restart(90)
	attempt(8, true)
	attempt(9, true)
	id := task.ID.String()
	want := []string{id, id, id + "@70", id + "@70", id + "@70", id + "/6", id + "@70", id + "@90", id + "@90"}
	if !slices.Equal(ids, want) {
		t.Errorf("the messages have the ids %q; want %q", ids, want)
	}
	failing = nil
	if v := h.Attempt(t.Context(), task, 10); v.Result != bellman.Accepted || v.Data != nil {
		t.Errorf("an accepted attempt: %+v; want no data", v)
	}
}

func TestBrokerCheck(t *testing.T) {
	h := brokerHandler(t, "", sign.Config{}, nil)
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
			t.Errorf("Check(%+v) = %v; want endpoint amqp://main and method POST", tt.task, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v; want %q", tt.task.URL, err, tt.want)
		}
	}
	if _, err := newClient(t, Options{}).Handler(Rules{URL: "amqp://gone/x/y", Schemes: schemes}); err == nil || !strings.Contains(err.Error(), `url: there is no connection "gone": the configuration has none`) {
		t.Errorf("Handler with an unknown connection in the queue's URL: %v", err)
	}
}

// A task's address may name a broker only if its queue permits the connection, or if it equals the
// queue's own address. Anybody who can add tasks can write an address.
func TestOwnBroker(t *testing.T) {
	sent := 0
	p := function{schemes[0], func(context.Context, string, *Message) (string, error) { sent++; return "", nil }}
	connections := map[string]Connection{"main": p, "other": p}
	tests := []struct {
		home string
		own  []string
		url  string
		want string // what the error says
	}{
		{"", nil, "amqp://main/orders/paid", "the queue has no connections"},
		{"amqp://main/orders/paid", nil, "amqp://main/orders/refunded", "the queue has no connections"},
		{"amqp://main/orders/paid", nil, "amqp://main/orders/paid", ""},
		{"amqp://main/orders/paid", nil, "", ""},
		{"", []string{"main"}, "amqp://main/orders/paid", ""},
		{"", []string{"main"}, "amqp://other/orders/paid", `connection "other" is not for tasks of this queue: want main`},
		{"", []string{"main"}, "amqp://MAIN/orders/paid", `connection "MAIN" is not for tasks of this queue: want main`},
		{"", []string{"main"}, "AMQP://other/orders/paid", "is not for tasks of this queue"},
	}
	for _, tt := range tests {
		h := newHandler(t, Options{}, Rules{URL: tt.home, Own: tt.own, Schemes: schemes, Connections: connections})
		task, before := &bellman.Task{URL: tt.url}, sent
		err := h.Check(task)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s in a queue with %q and connections %q: %v; want %q", tt.url, tt.home, tt.own, err, tt.want)
		}
		// A task that was accepted under another configuration is not sent either.
		v := h.Attempt(t.Context(), task, 1)
		if (v.Result == bellman.Accepted) != (tt.want == "") || (sent > before) != (tt.want == "") {
			t.Errorf("an attempt to %s in a queue with %q and connections %q: %+v; want the same decision as Check", tt.url, tt.home, tt.own, v)
		}
	}
}
