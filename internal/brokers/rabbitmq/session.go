package rabbitmq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/rule"
)

// A session is a connection that receives messages of one queue.
type session struct {
	queue    *Queue
	conn     *transport
	ch       *amqp.Channel
	acks     *acks
	prefetch int

	deliveries chan *amqp.Delivery // deliveries gather here while batches are stored
	paused     atomic.Bool

	// Dead letters have a connection of their own, made at the first one. A broker that is short of
	// memory or disk reads nothing more from a connection that publishes, so it would not see
	// acknowledgements either.
	deadConn *transport
	dead     *publisher

	*source.Break
}

// consumer is the tag of a channel's only consumer.
const consumer = "bellman"

func newSession(q *Queue, conn *transport, ch *amqp.Channel, prefetch int) *session {
	s := &session{queue: q, conn: conn, ch: ch, prefetch: prefetch, Break: source.NewBreak()}
	s.acks = newAcks(ch, prefetch/4)
	go s.watch(
		conn.NotifyClose(make(chan *amqp.Error, 1)),
		ch.NotifyClose(make(chan *amqp.Error, 1)),
		ch.NotifyCancel(make(chan string, 1)),
	)
	return s
}

// watch waits for the end of the session. The library closes all three channels at the end.
func (s *session) watch(conn, ch <-chan *amqp.Error, cancels <-chan string) {
	var why error
	select {
	case err := <-conn:
		why = closed("connection", err)
	case err := <-ch:
		why = closed("channel", err)
	case tag, ok := <-cancels:
		why = errors.New("the connection was closed")
		if ok {
			why = fmt.Errorf("the broker cancelled consumer %q: the queue was deleted, or its leader is gone", tag)
		}
	}
	s.End(why)
}

// closed returns why something of the session ended; err is nil if it was closed here.
func closed(what string, err *amqp.Error) error {
	if err == nil {
		return fmt.Errorf("the %s was closed", what)
	}
	return fmt.Errorf("the %s broke: %w", what, said(err))
}

func (s *session) Resume(context.Context) error {
	deliveries, err := s.ch.Consume(s.queue.Name, consumer, false, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("consume queue %q: %w", s.queue.Name, said(err))
	}
	s.deliveries = make(chan *amqp.Delivery, s.prefetch)
	s.paused.Store(false)
	go s.gather(deliveries, s.deliveries)
	return nil
}

// gather forwards deliveries until the channel or the session ends. The library delivers one at a
// time; a batch is what has gathered.
func (s *session) gather(from <-chan amqp.Delivery, to chan<- *amqp.Delivery) {
	defer close(to)
	for d := range from {
		s.acks.deliver(d.DeliveryTag)
		select {
		case to <- &d:
		case <-s.Done():
			return
		}
	}
}

func (s *session) Pause() error {
	s.paused.Store(true)
	if err := s.ch.Cancel(consumer, false); err != nil {
		return fmt.Errorf("cancel the consumer: %w", said(err))
	}
	return nil
}

func (s *session) Take(ctx context.Context, buf []source.Message, most int) ([]source.Message, error) {
	buf, err := source.Gather(ctx, s.Break, s.deliveries, buf, most, message)
	if err == io.EOF {
		err = s.over(ctx)
	}
	return buf, err
}

// over returns why no more deliveries come.
func (s *session) over(ctx context.Context) error {
	if s.paused.Load() {
		return io.EOF
	}
	select {
	case <-s.Done():
		return s.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// message converts a delivery. Headers are converted to text; properties are added under their
// names.
func message(d *amqp.Delivery) source.Message {
	var header map[string]string // most messages have none
	set := func(name, value string) {
		if header == nil {
			header = make(map[string]string, len(d.Headers)+2)
		}
		header[name] = value
	}
	for _, p := range [...]struct{ name, value string }{
		{"content-type", d.ContentType}, {"content-encoding", d.ContentEncoding}, {"correlation-id", d.CorrelationId},
		{"reply-to", d.ReplyTo}, {"type", d.Type}, {"app-id", d.AppId}, {"user-id", d.UserId}, {"expiration", d.Expiration},
	} {
		if p.value != "" {
			set(p.name, p.value)
		}
	}
	if !d.Timestamp.IsZero() {
		set("timestamp", d.Timestamp.UTC().Format(time.RFC3339))
	}
	for name, value := range d.Headers {
		switch value.(type) {
		case amqp.Table, []any: // x-death and the like
		default:
			set(strings.ToLower(name), text(value))
		}
	}
	return source.Message{
		Message:  rule.Message{ID: d.MessageId, Subject: d.RoutingKey, Header: header, Body: d.Body},
		Delivery: d,
	}
}

func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	}
	return fmt.Sprint(value)
}

func (s *session) Ack(messages []source.Message) error {
	tags := make([]uint64, len(messages))
	for i, m := range messages {
		tags[i] = m.Delivery.(*amqp.Delivery).DeliveryTag
	}
	if err := s.acks.settle(tags); err != nil {
		return fmt.Errorf("acknowledge: %w", said(err))
	}
	return nil
}

// StoreDead publishes messages to the dead-letter exchange, unchanged except for the headers that
// letter adds. It waits for the broker's answer to every message.
func (s *session) StoreDead(ctx context.Context, dead []source.Dead) []error {
	if s.dead == nil {
		if err := s.openDead(ctx); err != nil {
			return slices.Repeat([]error{fmt.Errorf("publish to %q: %w", s.queue.DeadLetter, err)}, len(dead))
		}
	}
	defer context.AfterFunc(ctx, s.deadConn.Close)() // publish may wait for a broker that reads nothing
	waits := make([]*publishing, len(dead))
	var broken error
	for i, one := range dead {
		if broken != nil {
			break
		}
		d := one.Delivery.(*amqp.Delivery)
		waits[i], broken = s.dead.publish(ctx, s.queue.DeadLetter, d.RoutingKey, letter(d, one.Reason, s.queue.Name, s.deadConn.Config.FrameSize))
	}
	errs := make([]error, len(dead))
	for i, p := range waits {
		err := said(broken)
		if p != nil {
			err = p.wait(ctx)
		}
		if err != nil {
			errs[i] = fmt.Errorf("publish to %q: %w", s.queue.DeadLetter, err)
		}
	}
	return errs
}

// openDead connects for dead letters. The session ends with that connection.
func (s *session) openDead(ctx context.Context) error {
	conn, err := dial(ctx, s.queue.URL, cmp.Or(s.queue.Client, "bellman")+" buries for "+s.queue.Name)
	if err != nil {
		return err
	}
	p, err := newPublisher(conn)
	if err != nil {
		conn.Close()
		return err
	}
	s.deadConn, s.dead = conn, p
	go func() {
		<-p.closed
		s.End(closed("channel of dead letters", p.err))
	}()
	return nil
}

func (s *session) Close() {
	if err := s.acks.end(); err != nil { // the connection broke, and with it all acknowledgements
		s.End(fmt.Errorf("acknowledge: %w", said(err)))
	}
	if s.deadConn != nil {
		s.deadConn.Close()
	}
	s.conn.Close()
}
