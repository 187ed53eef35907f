package rabbitmq

import (
	"cmp"
	"context"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/internal/brokers/source"
)

// A Queue is a queue from which tasks are received. URL, Name and DeadLetter are required.
type Queue struct {
	URL  string // amqp://USER:PASSWORD@HOST:PORT/VHOST
	Name string

	// DeadLetter is the name of the exchange for messages that cannot become a task, and of the
	// queue bound to it.
	DeadLetter string

	// Bind are exchanges that route to the queue, besides the default exchange.
	Bind []Binding

	// AsItIs: nothing is declared; the queue and the dead-letter exchange must exist.
	AsItIs bool

	// MakeDead: with AsItIs, the dead-letter exchange and queue are declared nevertheless.
	MakeDead bool

	Prefetch int    // most messages without acknowledgement; default 2048
	Client   string // shown to the broker's operator; default bellman
}

// A Binding makes an exchange route to a queue.
type Binding struct {
	Exchange string // must exist
	Key      string
}

var _ source.Broker = (*Queue)(nil)

// manyDeliveries is the delivery limit of a quorum queue. The default of newer brokers is 20, and
// each restart of bellman counts as one delivery.
const manyDeliveries = 1_000_000

// Open connects, declares the queue and the dead-letter exchange, and returns a session.
func (q *Queue) Open(ctx context.Context) (source.Session, error) {
	conn, err := dial(ctx, q.URL, cmp.Or(q.Client, "bellman")+" takes "+q.Name)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	s, err := q.session(conn)
	if !stop() && err == nil { // ctx ended during the connect
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func (q *Queue) session(conn *transport) (*session, error) {
	ch, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", said(err))
	}
	if err := q.declare(ch); err != nil {
		return nil, err
	}
	prefetch := cmp.Or(q.Prefetch, 2048)
	if err := ch.Qos(prefetch, 0, false); err != nil {
		return nil, fmt.Errorf("set prefetch: %w", said(err))
	}
	return newSession(q, conn, ch, prefetch), nil
}

// declare creates what is missing, or checks that it exists.
func (q *Queue) declare(ch *amqp.Channel) error {
	if q.AsItIs {
		if _, err := ch.QueueDeclarePassive(q.Name, true, false, false, false, nil); err != nil {
			return missing("queue", q.Name, err, "make it, or leave declare out")
		}
	}
	if q.AsItIs && !q.MakeDead {
		if err := ch.ExchangeDeclarePassive(q.DeadLetter, amqp.ExchangeFanout, true, false, false, false, nil); err != nil {
			return missing("dead-letter exchange", q.DeadLetter, err, "with declare: false it is to be yours too: make an exchange of that name, with a queue bound to it, or name one of yours as dead_letter, or set declare: dead_letter")
		}
		return nil
	}
	if err := ch.ExchangeDeclare(q.DeadLetter, amqp.ExchangeFanout, true, false, false, false, nil); err != nil {
		return declared("dead-letter exchange", q.DeadLetter, err)
	}
	if _, err := ch.QueueDeclare(q.DeadLetter, true, false, false, false, amqp.Table{amqp.QueueTypeArg: amqp.QueueTypeQuorum}); err != nil {
		return declared("dead-letter queue", q.DeadLetter, err)
	}
	if err := ch.QueueBind(q.DeadLetter, "", q.DeadLetter, false, nil); err != nil {
		return fmt.Errorf("bind the dead-letter queue %q: %w", q.DeadLetter, said(err))
	}
	if q.AsItIs {
		return nil
	}
	_, err := ch.QueueDeclare(q.Name, true, false, false, false, amqp.Table{
		amqp.QueueTypeArg:        amqp.QueueTypeQuorum,
		"x-dead-letter-exchange": q.DeadLetter,
		"x-delivery-limit":       int64(manyDeliveries),
	})
	if err != nil {
		return declared("queue", q.Name, err)
	}
	for _, b := range q.Bind {
		if err := ch.QueueBind(q.Name, b.Key, b.Exchange, false, nil); err != nil {
			return fmt.Errorf("bind queue %q to exchange %q: %w", q.Name, b.Exchange, said(err))
		}
	}
	return nil
}

// missing explains that something does not exist, and what to do.
func missing(what, name string, err error, do string) error {
	if code(err) == amqp.NotFound {
		return fmt.Errorf("%s %q: %w: %s", what, name, said(err), do)
	}
	return fmt.Errorf("%s %q: %w", what, name, said(err))
}

// declared explains that something cannot be declared, and what to do.
func declared(what, name string, err error) error {
	if code(err) == amqp.PreconditionFailed {
		return fmt.Errorf("%s %q is there with other arguments: %w: delete it, or set declare: false, which takes the queue and the exchange of its dead letters as they are", what, name, said(err))
	}
	return fmt.Errorf("declare %s %q: %w", what, name, said(err))
}
