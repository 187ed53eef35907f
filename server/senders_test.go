package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
)

// TestSenders: tasks with the address of a broker are published, with the same results as attempts
// over HTTP.
func TestSenders(t *testing.T) {
	ch, rabbitURL, queue := rabbit(t)
	js, natsURL, stream := bus(t)
	if _, err := ch.QueueDeclare(queue, true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
		t.Fatal(err)
	}
	if err := ch.QueueBind(queue, "paid/x", "amq.direct", false, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: stream, Subjects: []string{stream + ".>"}}); err != nil {
		t.Fatal(err)
	}
	to, _, stop := serve(t, t.TempDir(), func(c *config.Config) {
		configure(t, c, fmt.Sprintf("connections: {main: {url: %q}, bus: {url: %q}}", rabbitURL, natsURL))
		home := config.DefaultQueue("home")
		home.URL = "nats://bus/" + stream + ".home"
		c.Queues[0].Connections = []string{"main", "bus"}
		c.Queues = append(c.Queues, home)
	})
	defer stop()
	tests := []struct {
		name string
		in   client.CreateTask
		want string // of the newest attempt: result, response, error
	}{
		{"to an exchange", client.CreateTask{URL: "amqp://main/amq.direct/paid%2Fx", Body: "1"}, "accepted confirmed"},
		{"to a queue", client.CreateTask{URL: "amqp://main//" + queue, Body: "2"}, "accepted confirmed"},
		{"to no queue", client.CreateTask{URL: "amqp://main/amq.direct/nobody", Body: "3"}, "refused  unroutable"},
		{"to no exchange", client.CreateTask{URL: "amqp://main/" + queue + "-none/x", Body: "4"}, "refused  exchange \"" + queue + "-none\": 404"},
		{"to a stream", client.CreateTask{URL: "nats://bus/" + stream + ".paid", Body: "5"}, "accepted stream " + stream + " has it as number"},
		{"to no stream", client.CreateTask{URL: "nats://bus/nobody." + stream, Body: "6"}, "refused  unroutable"},
		{"to the queue's own", client.CreateTask{Queue: "home", Body: "7"}, "accepted stream " + stream},
	}
	for _, tt := range tests {
		if tt.in.Queue == "" {
			tt.in.Queue = "default"
		}
		tt.in.Event = "payment.succeeded"
		tt.in.Headers = map[string]string{"shop": "12"}
		task := create(t, to, tt.in)
		done := until(t, to, task.ID, func(d *client.TaskDetail) bool { return d.Attempts > 0 })
		a := done.AttemptLog[0]
		if got := a.Result + " " + a.Response + " " + a.Error; !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s; want %s", tt.name, got, tt.want)
		}
		if accepted := a.Result == "accepted"; accepted != (done.State == "succeeded") {
			t.Errorf("%s: the task is %s", tt.name, done.State)
		}
	}
	for _, body := range []string{"1", "2"} {
		d, ok, err := ch.Get(queue, true)
		if err != nil || !ok {
			t.Fatalf("message %s: %t, %v", body, ok, err)
		}
		if string(d.Body) != body || d.DeliveryMode != amqp.Persistent || d.Type != "payment.succeeded" || d.Headers["Shop"] != "12" ||
			d.MessageId == "" || d.Headers["Bellman-Task"] != d.MessageId || d.Headers["Bellman-Attempt"] != "1" || time.Since(d.Timestamp) > time.Hour {
			t.Errorf("message %s is %+v", body, d)
		}
	}
	m, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	first, err := m.GetMsg(t.Context(), 1)
	if err != nil || string(first.Data) != "5" || first.Header.Get("Nats-Msg-Id") == "" || first.Header.Get("Bellman-Task") != first.Header.Get("Nats-Msg-Id") ||
		first.Header.Get("Bellman-Event") != "payment.succeeded" {
		t.Errorf("the first message of the stream is %+v, %v", first, err)
	}
	// The key of a limit is the connection; an unknown one is told at once.
	_, _, err = to.Create(t.Context(), client.CreateTask{Queue: "default", URL: "amqp://mian/x/y"})
	if err == nil || !strings.Contains(err.Error(), `422`) || !strings.Contains(err.Error(), `body.url: connection "mian" is not for tasks of this queue: want main, bus`) {
		t.Errorf("an unknown connection: %v", err)
	}
	endpoints, err := to.Endpoints(t.Context())
	if err != nil || len(endpoints.Endpoints) != 2 || endpoints.Endpoints[0].Endpoint != "amqp://main" || endpoints.Endpoints[1].Endpoint != "nats://bus" {
		t.Errorf("endpoints: %+v, %v", endpoints, err)
	}
}

// TestRestartToAStream: a restart soon after a success is another message for the stream, although
// it is not its first attempt that succeeds.
func TestRestartToAStream(t *testing.T) {
	js, url, name := bus(t)
	full := jetstream.StreamConfig{Name: name, Subjects: []string{name}, MaxMsgs: 1, Discard: jetstream.DiscardNew}
	if _, err := js.CreateStream(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	to, _, stop := serve(t, t.TempDir(), func(c *config.Config) {
		configure(t, c, fmt.Sprintf("connections: {bus: {url: %q}}", url))
		c.Queues[0].Connections = []string{"bus"}
	})
	defer stop()
	task := create(t, to, client.CreateTask{Queue: "default", URL: "nats://bus/" + name, Body: "1", Schedule: "0s, 1s*"})
	until(t, to, task.ID, func(d *client.TaskDetail) bool { return d.State == "succeeded" })
	if _, err := to.Resend(t.Context(), client.ByID(task.ID), client.ResendTask{Mode: "restart"}); err != nil {
		t.Fatal(err)
	}
	if refused := until(t, to, task.ID, func(d *client.TaskDetail) bool { return d.Attempts > 1 }).AttemptLog[1]; refused.Result != "refused" || !strings.Contains(refused.Error, "maximum messages exceeded") {
		t.Errorf("the attempt to a full stream is %+v; want it refused", refused)
	}
	full.MaxMsgs = 10
	if _, err := js.UpdateStream(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	until(t, to, task.ID, func(d *client.TaskDetail) bool { return d.State == "succeeded" })
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().State.Msgs; got != 2 {
		t.Errorf("the stream has %d messages; want that of the task and that of its restart", got)
	}
}
