package rabbitmq

import (
	"cmp"
	"context"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/internal/brokers/source"
)

// A Queue is a queue of a broker that tasks are taken from. URL, Name and
// DeadLetter are required.
type Queue struct {
	URL  string // amqp://USER:PASSWORD@HOST:PORT/VHOST
	Name string

	// DeadLetter is the exchange that takes what can be no task, and the queue that is
	// bound to it.
	DeadLetter string

	// Bind are the exchanges that the queue gets its messages from, beside the default
	// one.
	Bind []Binding

	// AsItIs declares nothing: the queue, and what DeadLetter names, must be there.
	AsItIs bool

	// MakeDead declares what DeadLetter names, where AsItIs declares nothing else.
	MakeDead bool

	Prefetch int    // messages that may be handed over and not acknowledged; default 2048
	Client   string // what the broker's operator sees; default bellman
}

// A Binding lets an exchange route to a queue.
type Binding struct {
	Exchange string // must be there
	Key      string
}

var _ source.Broker = (*Queue)(nil)

// manyDeliveries is how often a quorum queue hands a message over before it gives
// up on it. Newer brokers do so after 20 times, and a restart of bellman is one.
const manyDeliveries = 1_000_000

// Open connects, declares queue and dead-letter place, and returns a session.
func (q *Queue) Open(ctx context.Context) (source.Session, error) {
	conn, err := dial(ctx, q.URL, cmp.Or(q.Client, "bellman")+" takes "+q.Name)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	s, err := q.session(conn)
	if !stop() && err == nil { // ctx ended meanwhile
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func (q *Queue) session(conn *amqp.Connection) (*session, error) {
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
	dead, err := newPublisher(conn)
	if err != nil {
		return nil, err
	}
	return newSession(q, conn, ch, dead, prefetch), nil
}

// declare makes what must be there, or looks whether it is.
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

// missing says why something cannot be taken as it is, and what to do where it is not
// there.
func missing(what, name string, err error, do string) error {
	if code(err) == amqp.NotFound {
		return fmt.Errorf("%s %q: %w: %s", what, name, said(err), do)
	}
	return fmt.Errorf("%s %q: %w", what, name, said(err))
}

// declared says why something cannot be declared, and what to do.
func declared(what, name string, err error) error {
	if code(err) == amqp.PreconditionFailed {
		return fmt.Errorf("%s %q is there with other arguments: %w: delete it, or set declare: false, which takes the queue and the exchange of its dead letters as they are", what, name, said(err))
	}
	return fmt.Errorf("declare %s %q: %w", what, name, said(err))
}
