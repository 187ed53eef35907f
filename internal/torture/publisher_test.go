package torture

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	amqp "github.com/rabbitmq/amqp091-go"
)

// A publisher publishes messages one after the other. It waits for the broker's confirmation of
// each.
type publisher struct {
	name      string
	send      func(ctx context.Context, id string, body []byte) error // returns nil when the message is confirmed
	confirmed map[string]bool                                         // by body
	count     atomic.Int64                                            // length of confirmed, which is not safe for concurrent use
}

// publish publishes until ctx ends, with pauses.
func (p *publisher) publish(ctx context.Context, pace time.Duration) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for n := 0; ; n++ {
		id := fmt.Sprintf("%s-%d", p.name, n)
		body := fmt.Sprintf(`{"id":%q}`, id)
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			one, cancel := context.WithTimeout(ctx, patient/4) // a busy disk confirms late
			err := p.send(one, id, []byte(body))
			cancel()
			if err == nil {
				break
			}
		}
		p.confirmed[body] = true
		p.count.Add(1)
	}
}

// newRabbitPublisher returns a publisher to a queue.
func newRabbitPublisher(address, queue string) *publisher {
	var conn *amqp.Connection
	var ch *amqp.Channel
	open := func() (err error) {
		if conn, err = amqp.Dial(rabbitURL(address)); err != nil {
			return err
		}
		if ch, err = conn.Channel(); err == nil {
			err = ch.Confirm(false)
		}
		return err
	}
	send := func(ctx context.Context, id string, body []byte) error {
		if conn == nil || conn.IsClosed() {
			if err := open(); err != nil {
				return err
			}
		}
		confirm, err := ch.PublishWithDeferredConfirmWithContext(ctx, "", queue, true, false, amqp.Publishing{
			MessageId: id, DeliveryMode: amqp.Persistent, Body: body,
		})
		if err != nil {
			conn.Close()
			return err
		}
		acked, err := confirm.WaitContext(ctx)
		if err == nil && !acked {
			err = fmt.Errorf("not confirmed")
		}
		if err != nil {
			conn.Close()
		}
		return err
	}
	return &publisher{name: "rabbitmq", send: send, confirmed: map[string]bool{}}
}

// newBusPublisher returns a publisher to a subject of a stream.
func newBusPublisher(t testing.TB, address, subject string) *publisher {
	t.Helper()
	conn, err := nats.Connect("nats://"+address, nats.Timeout(patient), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	send := func(ctx context.Context, id string, body []byte) error {
		_, err := js.Publish(ctx, subject, body, jetstream.WithMsgID(id))
		return err
	}
	return &publisher{name: "nats", send: send, confirmed: map[string]bool{}}
}
