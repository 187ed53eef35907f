package rabbitmq

import (
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/internal/brokers/source/sourcetest"
)

// channelTo connects to a RabbitMQ for a test. name is for a queue of the test's own.
func channelTo(t *testing.T) (at, name string, ch *amqp.Channel) {
	t.Helper()
	at, name = sourcetest.RabbitMQ(t), sourcetest.Name(t)
	conn, err := amqp.Dial(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if ch, err = conn.Channel(); err != nil {
		t.Fatal(err)
	}
	return at, name, ch
}

// The queue or exchange is to be used as it is, and does not exist. The error names it and says
// what to do.
func TestMissingWithoutDeclare(t *testing.T) {
	at, name, ch := channelTo(t)
	q := &Queue{URL: at, Name: name, DeadLetter: name + ".dead", AsItIs: true}
	open := func() string {
		t.Helper()
		s, err := q.Open(t.Context())
		if err != nil {
			return err.Error()
		}
		s.Close()
		return ""
	}
	if got := open(); !strings.Contains(got, `queue "`+name+`": 404 `) || !strings.HasSuffix(got, "make it, or leave declare out") {
		t.Errorf("error without the queue: %q; want it to say what to create", got)
	}
	if _, err := ch.QueueDeclare(name, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	defer ch.QueueDelete(name, false, false, false)
	if got := open(); !strings.Contains(got, `dead-letter exchange "`+name+`.dead": 404 `) || !strings.HasSuffix(got, "make an exchange of that name, with a queue bound to it, or name one of yours as dead_letter, or set declare: dead_letter") {
		t.Errorf("error without the exchange: %q; want it to say what to create", got)
	}
	q.MakeDead = true
	if got := open(); got != "" {
		t.Errorf("error with the permission to create the place of dead letters: %q; want none", got)
	}
	if d, err := ch.QueueDeclarePassive(name+".dead", true, false, false, false, nil); err != nil || d.Messages != 0 {
		t.Fatalf("the dead-letter queue: %v, %v; want it created", d, err)
	}
	if err := ch.Confirm(false); err != nil {
		t.Fatal(err)
	}
	returned := ch.NotifyReturn(make(chan amqp.Return, 1))
	if c, err := ch.PublishWithDeferredConfirm(name+".dead", "", true, false, amqp.Publishing{Body: []byte("dead")}); err != nil || !c.Wait() || len(returned) > 0 {
		t.Errorf("publish to the dead-letter exchange: %v, %d returned; want the queue bound to it", err, len(returned))
	}
	if _, err := ch.QueueDelete(name+".dead", false, false, false); err != nil {
		t.Fatal(err)
	}
	if err := ch.ExchangeDelete(name+".dead", false, false); err != nil {
		t.Fatal(err)
	}
	q.MakeDead = false
	if err := ch.ExchangeDeclare(name+".dead", amqp.ExchangeFanout, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	defer ch.ExchangeDelete(name+".dead", false, false)
	if got := open(); got != "" {
		t.Errorf("error with queue and exchange: %q; want none", got)
	}
}
