package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"
)

var (
	errUnroutable = errors.New("unroutable: the exchange has no queue for this routing key") // the broker did not keep the message
	errRefused    = errors.New("the broker refused the message")                             // the broker could not keep it
	errBroken     = errors.New("the channel broke before the broker answered")
)

// A publisher publishes over a channel of its own, and learns of each message whether the broker
// keeps it.
type publisher struct {
	ch *amqp.Channel

	// The broker returns a message that no queue takes before it confirms it, and the library hands
	// over both in that order. So once sorted was received after a confirmation, or is closed, a
	// message that was returned is in returned.
	sorted chan struct{}

	mu       sync.Mutex
	waiting  map[string]int // messages whose confirmation a caller waits for, by route
	returned map[string]int // messages of waiting that the broker returned

	closed chan struct{} // closed when the channel ends; then err is the reason, nil if we closed it
	err    *amqp.Error
}

func newPublisher(conn *transport) (*publisher, error) {
	ch, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", said(err))
	}
	if err := ch.Confirm(false); err != nil {
		return nil, fmt.Errorf("ask for confirms: %w", said(err))
	}
	p := &publisher{ch: ch, sorted: make(chan struct{}), waiting: map[string]int{}, returned: map[string]int{}, closed: make(chan struct{})}
	go p.sort(ch.NotifyReturn(make(chan amqp.Return)))
	closes := ch.NotifyClose(make(chan *amqp.Error, 1))
	go func() {
		p.err = <-closes
		close(p.closed)
	}()
	return p, nil
}

// sort notes returned messages until the library closes the channel.
func (p *publisher) sort(returns <-chan amqp.Return) {
	defer close(p.sorted)
	for {
		select {
		case r, ok := <-returns:
			if !ok {
				return
			}
			name := route(r.Exchange, r.RoutingKey, r.MessageId)
			p.mu.Lock()
			if p.waiting[name] > p.returned[name] {
				p.returned[name]++
			}
			p.mu.Unlock()
		case p.sorted <- struct{}{}:
		}
	}
}

// forget ends the wait for a message, and reports whether it was returned.
func (p *publisher) forget(name string) (returned bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if returned = p.returned[name] > 0; returned {
		p.returned[name]--
	}
	if p.waiting[name]--; p.waiting[name] == 0 {
		delete(p.waiting, name)
		delete(p.returned, name)
	}
	return returned
}

// route identifies a message among those on their way. Two messages of one route are equal.
func route(exchange, key, id string) string { return exchange + "\x00" + key + "\x00" + id }

// A publishing is a message on its way. Its publisher remembers it until wait has returned.
type publishing struct {
	publisher *publisher
	name      string
	confirm   *amqp.DeferredConfirmation
}

// publish sends a message that a queue must take. Call wait on the result.
func (p *publisher) publish(ctx context.Context, exchange, key string, m amqp.Publishing) (*publishing, error) {
	name := route(exchange, key, m.MessageId)
	p.mu.Lock()
	p.waiting[name]++
	p.mu.Unlock()
	confirm, err := p.ch.PublishWithDeferredConfirmWithContext(ctx, exchange, key, true, false, m)
	if err != nil {
		p.forget(name)
		return nil, err
	}
	return &publishing{p, name, confirm}, nil
}

// wait returns nil when the broker keeps the message.
func (p *publishing) wait(ctx context.Context) error {
	select {
	case <-p.confirm.Done():
		<-p.publisher.sorted
	case <-ctx.Done():
		p.publisher.forget(p.name)
		return ctx.Err()
	}
	returned := p.publisher.forget(p.name)
	switch {
	case !p.confirm.Acked() && p.publisher.ch.IsClosed():
		<-p.publisher.closed
		return p.publisher.why()
	case !p.confirm.Acked():
		return errRefused
	case returned:
		return errUnroutable
	}
	return nil
}

// why returns the reason why the channel ended.
func (p *publisher) why() error {
	if p.err == nil {
		return errBroken
	}
	return fmt.Errorf("%w: %w", errBroken, p.err)
}
