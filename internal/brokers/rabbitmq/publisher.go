package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"
)

// errUnroutable says that no queue takes a message: it was not kept.
var errUnroutable = errors.New("unroutable: the exchange has no queue for this routing key")

// errRefused says that the broker could not keep a message.
var errRefused = errors.New("the broker refused the message")

// errBroken says that a channel ended before the broker answered.
var errBroken = errors.New("the channel broke before the broker answered")

// A publisher publishes over a channel of its own, and learns of each message
// whether the broker has it in safety.
type publisher struct {
	ch *amqp.Channel

	// returns has messages that no queue takes. One comes back before it is confirmed,
	// and the library hands both over one after the other: who was told of the confirm
	// finds it here, or in returned.
	returns chan amqp.Return

	mu       sync.Mutex
	returned map[string]int // by what names them

	closed chan struct{} // closed at the end; then err says why, nil: we closed it
	err    *amqp.Error
}

// maxReturned bounds what is remembered of messages that nobody waits for any more.
const maxReturned = 4096

func newPublisher(conn *amqp.Connection) (*publisher, error) {
	ch, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", said(err))
	}
	if err := ch.Confirm(false); err != nil {
		return nil, fmt.Errorf("ask for confirms: %w", said(err))
	}
	p := &publisher{
		ch:       ch,
		returns:  ch.NotifyReturn(make(chan amqp.Return, maxReturned)),
		returned: make(map[string]int),
		closed:   make(chan struct{}),
	}
	closes := ch.NotifyClose(make(chan *amqp.Error, 1))
	go func() {
		p.err = <-closes
		close(p.closed)
	}()
	return p, nil
}

// cameBack reports whether a message that was confirmed came back.
func (p *publisher) cameBack(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		select {
		case r, ok := <-p.returns:
			if ok {
				if len(p.returned) >= maxReturned {
					clear(p.returned)
				}
				p.returned[named(r.Exchange, r.RoutingKey, r.MessageId)]++
				continue
			}
		default:
		}
		break
	}
	n := p.returned[name]
	if n > 1 {
		p.returned[name]--
	} else {
		delete(p.returned, name)
	}
	return n > 0
}

func named(exchange, key, id string) string { return exchange + "\x00" + key + "\x00" + id }

// A publishing is a message on its way.
type publishing struct {
	publisher *publisher
	name      string
	confirm   *amqp.DeferredConfirmation
}

// publish sends a message that must come to a queue. Messages that are on their
// way at the same time have ids of their own, or are equals.
func (p *publisher) publish(ctx context.Context, exchange, key string, m amqp.Publishing) (*publishing, error) {
	confirm, err := p.ch.PublishWithDeferredConfirmWithContext(ctx, exchange, key, true, false, m)
	if err != nil {
		return nil, err
	}
	return &publishing{p, named(exchange, key, m.MessageId), confirm}, nil
}

// wait returns nil when the broker has the message in safety.
func (p *publishing) wait(ctx context.Context) error {
	select {
	case <-p.confirm.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	if !p.confirm.Acked() {
		if !p.publisher.ch.IsClosed() {
			return errRefused
		}
		<-p.publisher.closed
		return p.publisher.why()
	}
	if p.publisher.cameBack(p.name) {
		return errUnroutable
	}
	return nil
}

// why is why the channel ended.
func (p *publisher) why() error {
	if p.err == nil {
		return errBroken
	}
	return fmt.Errorf("%w: %w", errBroken, p.err)
}
