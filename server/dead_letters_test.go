package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
)

// poisons are messages that can never be tasks, each with the reason that its dead letter gives.
// The first of the valid messages has the key of the last poison.
var poisons = []struct{ id, body, reason string }{
	{"p1", `{"url":`, "malformed JSON: "},
	{"p2", `{"queue":"nobody","url":"http://127.0.0.1:9/"}`, `there is no queue "nobody"`},
	{"p3", `{"urll":"http://127.0.0.1:9/"}`, "body.urll: there is no such field: want url?"},
	{"p4", `{"url":"http://127.0.0.1:9/","body":"` + strings.Repeat("x", 300<<10) + `"}`, "is larger than 262144 bytes"},
	{"p5", strings.Repeat("x", 900<<10), "malformed JSON: "},
	{"m0", `{"url":"http://127.0.0.1:9/","body":"other"}`, "key exists with other content"},
}

// TestPoisonOfRabbitMQ: each poison becomes a dead letter with its reason, and the others become
// tasks.
func TestPoisonOfRabbitMQ(t *testing.T) {
	ch, url, name := rabbit(t)
	to, _, stop := serve(t, t.TempDir(), func(c *config.Config) {
		configure(t, c, fmt.Sprintf("connections: {main: {url: %q}}\nsources: [{connection: main, queue: %s, into: default}]", url, name))
	})
	defer stop()
	passes(t, "the queue is consumed", func() bool { return inspect(t, url, name).Consumers == 1 })
	publish := func(id, body string) {
		if err := ch.PublishWithContext(t.Context(), "", name, true, false, amqp.Publishing{MessageId: id, Body: []byte(body), Headers: amqp.Table{"shop": "12"}}); err != nil {
			t.Fatal(err)
		}
	}
	publish("m0", `{"url":"http://127.0.0.1:9/","delay":"1h"}`)
	passes(t, "the first is a task", func() bool { return stored(t, to) == 1 })
	for _, p := range poisons {
		publish(p.id, p.body)
	}
	publish("big", strings.Repeat("x", 10<<20))
	for i := range 100 {
		publish(fmt.Sprint("m", i+1), `{"url":"http://127.0.0.1:9/","delay":"1h"}`)
	}
	passes(t, "the others are tasks", func() bool { return stored(t, to) == 101 })
	passes(t, "the poison is with the dead letters", func() bool { return inspect(t, url, name+".dead").Messages == len(poisons)+1 })
	reasons := map[string]string{}
	for range len(poisons) + 1 {
		d, ok, err := ch.Get(name+".dead", true)
		if err != nil || !ok {
			t.Fatalf("dead letters: %t, %v", ok, err)
		}
		reasons[d.MessageId] = fmt.Sprint(d.Headers["Bellman-Reason"])
		if d.Headers["shop"] != "12" || d.Headers["Bellman-Source"] != name || d.RoutingKey != name {
			t.Errorf("dead letter %s has %v, key %q", d.MessageId, d.Headers, d.RoutingKey)
		}
	}
	for _, p := range poisons {
		if !strings.Contains(reasons[p.id], p.reason) {
			t.Errorf("the reason of %s is %q; want %q", p.id, reasons[p.id], p.reason)
		}
	}
	if !strings.Contains(reasons["big"], "the message is larger than") {
		t.Errorf("the reason of 10 MiB is %q", reasons["big"])
	}
	passes(t, "all is acknowledged", func() bool { return inspect(t, url, name).Messages == 0 })
}

// TestPoisonOfNATS is the same of a stream.
func TestPoisonOfNATS(t *testing.T) {
	js, url, name := bus(t)
	to, _, stop := serve(t, t.TempDir(), func(c *config.Config) {
		configure(t, c, fmt.Sprintf("connections: {bus: {url: %q}}\nsources: [{connection: bus, stream: %s, durable: bellman, subjects: [%s.>], into: default}]", url, name, name))
	})
	defer stop()
	passes(t, "the stream is consumed", func() bool { return sourceOf(t, to).State == "consuming" })
	publish := func(id, subject, body string) {
		if _, err := js.Publish(t.Context(), name+subject, []byte(body), jetstream.WithMsgID(id)); err != nil {
			t.Fatal(err)
		}
	}
	publish("m0", ".good", `{"url":"http://127.0.0.1:9/","delay":"1h"}`)
	passes(t, "the first is a task", func() bool { return stored(t, to) == 1 })
	for _, p := range poisons[:5] {
		publish(p.id, ".bad", p.body)
	}
	for i := range 100 {
		publish(fmt.Sprint("m", i+1), ".good", `{"url":"http://127.0.0.1:9/","delay":"1h"}`)
	}
	passes(t, "the others are tasks", func() bool { return stored(t, to) == 101 })
	passes(t, "the poison is with the dead letters", func() bool { return sourceOf(t, to).Dead == 5 })
	dead, err := js.Stream(t.Context(), "dead-"+name+"-bellman")
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for i := range 5 {
		m, err := dead.GetMsg(t.Context(), uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		reasons[m.Header.Get("Bellman-Nats-Msg-Id")] = m.Header.Get("Bellman-Reason")
		if m.Header.Get("Bellman-Source") != name+" "+name+".bad" {
			t.Errorf("dead letter %d has %v", i+1, m.Header)
		}
	}
	for _, p := range poisons[:5] {
		if !strings.Contains(reasons[p.id], p.reason) {
			t.Errorf("the reason of %s is %q; want %q", p.id, reasons[p.id], p.reason)
		}
	}
}

// TestOtherArguments: if a queue or consumer exists with other arguments, the error names it and
// the arguments. Messages are received as soon as somebody has corrected it. If it is deleted, it
// is made again.
func TestOtherArguments(t *testing.T) {
	ch, rabbitURL, queue := rabbit(t)
	js, natsURL, stream := bus(t)
	if _, err := ch.QueueDeclare(queue, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	made, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: stream, Subjects: []string{stream + ".>"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := made.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "bellman", AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 5}); err != nil {
		t.Fatal(err)
	}
	to, _, stop := serve(t, t.TempDir(), func(c *config.Config) {
		configure(t, c, fmt.Sprintf(`
connections: {main: {url: %q}, bus: {url: %q}}
sources: [{connection: main, queue: %s, into: default}, {connection: bus, stream: %s, durable: bellman, into: default}]`, rabbitURL, natsURL, queue, stream))
	})
	defer stop()
	why := func(i int) string {
		all, err := to.Sources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all.Sources[i].State + ": " + all.Sources[i].Why
	}
	passes(t, "what is wrong with the queue is told", func() bool {
		return strings.Contains(why(0), fmt.Sprintf(`connecting: queue %q is there with other arguments: 406 PRECONDITION_FAILED - inequivalent arg 'x-queue-type'`, queue)) ||
			strings.Contains(why(0), fmt.Sprintf(`connecting: queue %q is there with other arguments: 406 PRECONDITION_FAILED - inequivalent arg 'x-dead-letter-exchange'`, queue))
	})
	passes(t, "what is wrong with the consumer is told", func() bool {
		return strings.Contains(why(1), fmt.Sprintf(`connecting: consumer "bellman" of stream %q is there with other arguments: max_deliver is 5`, stream))
	})
	if _, err := ch.QueueDelete(queue, false, false, false); err != nil {
		t.Fatal(err)
	}
	if err := made.DeleteConsumer(t.Context(), "bellman"); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		passes(t, "it is taken from", func() bool { return strings.HasPrefix(why(i), "consuming") })
	}
	if _, err := ch.QueueDelete(queue, false, false, false); err != nil { // while it is consumed
		t.Fatal(err)
	}
	if err := made.DeleteConsumer(context.WithoutCancel(t.Context()), "bellman"); err != nil {
		t.Fatal(err)
	}
	passes(t, "the queue is there again", func() bool { return inspect(t, rabbitURL, queue).Consumers == 1 })
	passes(t, "the consumer is there again", func() bool {
		_, err := made.Consumer(t.Context(), "bellman")
		return err == nil && strings.HasPrefix(why(1), "consuming")
	})
}

func sourceOf(t *testing.T, to *client.Client) client.Source {
	t.Helper()
	all, err := to.Sources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all.Sources[0]
}

func stored(t *testing.T, to *client.Client) int64 { return sourceOf(t, to).Stored }

// TestDeadLettersArePutBack: what the pages of brokers say about dead letters works. The cause is
// mended, the messages are moved to where they came from, headers and all, and each becomes one
// task.
func TestDeadLettersArePutBack(t *testing.T) {
	const early = `{"queue":"late","key":"%d","url":"http://127.0.0.1:9/","delay":"1h"}` // before there is such a queue
	again := func(t *testing.T, sources string, poison func(), back func()) {
		dir := t.TempDir()
		to, _, stop := serve(t, dir, func(c *config.Config) { configure(t, c, sources) })
		passes(t, "the source is consumed", func() bool { return sourceOf(t, to).State == "consuming" })
		poison()
		passes(t, "the messages are with the dead letters", func() bool { return sourceOf(t, to).Dead == 3 })
		stop()
		to, _, stop = serve(t, dir, func(c *config.Config) {
			c.Queues = append(c.Queues, c.Queues[0])
			c.Queues[1].Name = "late"
			configure(t, c, sources)
		})
		defer stop()
		back()
		for i := range 3 {
			passes(t, "each is a task", func() bool {
				_, err := to.Task(t.Context(), client.ByKey("late", fmt.Sprint(i)))
				return err == nil
			})
		}
		if s := sourceOf(t, to); s.Dead != 0 {
			t.Errorf("%d are dead letters again", s.Dead)
		}
	}
	t.Run("RabbitMQ", func(t *testing.T) {
		ch, url, name := rabbit(t)
		publish := func(to string, m amqp.Publishing) {
			if err := ch.PublishWithContext(t.Context(), "", to, true, false, m); err != nil {
				t.Fatal(err)
			}
		}
		again(t, fmt.Sprintf("connections: {main: {url: %q}}\nsources: [{connection: main, queue: %s, into: default}]", url, name), func() {
			for i := range 3 {
				publish(name, amqp.Publishing{MessageId: fmt.Sprint("m", i), Body: fmt.Appendf(nil, early, i)})
			}
		}, func() { // as a shovel does it
			for range 3 {
				var d amqp.Delivery
				passes(t, "there is a dead letter", func() (ok bool) {
					var err error
					if d, ok, err = ch.Get(name+".dead", true); err != nil {
						t.Fatal(err)
					}
					return ok
				})
				publish(name, amqp.Publishing{MessageId: d.MessageId, Headers: d.Headers, ContentType: d.ContentType, Body: d.Body})
			}
		})
	})
	t.Run("NATS", func(t *testing.T) {
		js, url, name := bus(t)
		again(t, fmt.Sprintf("connections: {bus: {url: %q}}\nsources: [{connection: bus, stream: %s, durable: bellman, subjects: [%s.>], into: default}]", url, name, name), func() {
			for i := range 3 {
				if _, err := js.Publish(t.Context(), name+".early", fmt.Appendf(nil, early, i), jetstream.WithMsgID(fmt.Sprint("m", i))); err != nil {
					t.Fatal(err)
				}
			}
		}, func() {
			dead, err := js.Stream(t.Context(), "dead-"+name+"-bellman")
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				m, err := dead.GetMsg(t.Context(), uint64(i+1))
				if err != nil {
					t.Fatal(err)
				}
				_, subject, _ := strings.Cut(m.Header.Get("Bellman-Source"), " ")
				if _, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Header: m.Header, Data: m.Data}); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}
