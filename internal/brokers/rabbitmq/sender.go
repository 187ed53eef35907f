package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/internal/brokers/link"
)

// A Sender publishes to the exchanges of one broker, over one connection and one channel for each
// exchange: an error of one exchange does not close the channels of others. It is safe for
// concurrent use. Make one with NewSender, and Close it.
type Sender struct{ link link.Link[*connection] }

var _ deliver.Connection = (*Sender)(nil)

// NewSender returns a sender to the broker at a URL. It connects at the first Send. client is shown
// to the broker's operator.
func NewSender(url, client string) *Sender {
	return &Sender{link.Link[*connection]{
		Dial: func(ctx context.Context) (*connection, error) {
			conn, err := dial(ctx, url, client+" sends")
			if err != nil {
				return nil, err
			}
			return newConnection(conn), nil
		},
		Alive: func(l *connection) bool { return !l.conn.IsClosed() },
		Close: func(l *connection) { l.conn.Close() },
	}}
}

// Close closes the connection. Send calls in progress fail.
func (s *Sender) Close() { s.link.End() }

// Scheme returns the address scheme of RabbitMQ.
func (s *Sender) Scheme() *deliver.Scheme { return Scheme }

// Send publishes a message that a queue must take, and waits until the broker confirms it.
func (s *Sender) Send(ctx context.Context, path string, m *deliver.Message) (string, error) {
	exchange, key, err := routeOf(path)
	if err != nil {
		return "", &deliver.Refusal{Reason: err.Error()}
	}
	l, err := s.link.Get(ctx)
	if err != nil {
		return "", err
	}
	if l.blocked.Load() {
		return "", errors.New("the broker takes nothing: it is short of memory or disk")
	}
	c, err := l.take(ctx, exchange)
	if err != nil {
		return "", err
	}
	// The library may block on a broker that does not read, for longer than ctx allows.
	sent := make(chan error, 1)
	go func() {
		p, err := c.publisher.publish(ctx, exchange, key, publishingOf(m))
		if err == nil {
			err = p.wait(ctx)
		}
		l.giveBack(c)
		sent <- err
	}()
	select {
	case err = <-sent:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	switch {
	case err == nil:
		return "confirmed", nil
	case errors.Is(err, errUnroutable), errors.Is(err, errRefused):
		return "", &deliver.Refusal{Reason: err.Error()}
	case code(err) == amqp.NotFound, code(err) == amqp.AccessRefused, code(err) == amqp.PreconditionFailed:
		return "", &deliver.Refusal{Reason: said(err).Error()}
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	return "", err
}

func publishingOf(m *deliver.Message) amqp.Publishing {
	p := amqp.Publishing{
		DeliveryMode: amqp.Persistent, MessageId: m.ID, Type: short(m.Event), AppId: "bellman",
		Timestamp: m.Created.Truncate(time.Second), Headers: make(amqp.Table, len(m.Header)), Body: m.Body,
	}
	for name, values := range m.Header {
		switch value := strings.Join(values, ", "); {
		case name == "Content-Type" && len(value) <= maxShort:
			p.ContentType = value
		case name == "Content-Encoding" && len(value) <= maxShort:
			p.ContentEncoding = value
		default:
			p.Headers[name] = value
		}
	}
	return p
}

// maxShort is the longest property, in bytes.
const maxShort = 255

func short(text string) string {
	if len(text) > maxShort {
		return strings.ToValidUTF8(text[:maxShort], "")
	}
	return text
}

// A connection has one channel for each exchange. To keep their number below most, it closes the
// channel that was used least recently.
type connection struct {
	conn    *transport
	blocked atomic.Bool
	most    int // exchanges in use at one time

	mu        sync.Mutex
	exchanges map[string]*channel
}

// A channel publishes to one exchange.
type channel struct {
	ready     chan struct{} // closed when publisher or err is set
	publisher *publisher
	err       error
	until     time.Time // how long err is kept

	using int       // how many messages are on their way; with the connection's mu
	used  time.Time // when the last one ended; with the connection's mu
}

const (
	maxExchanges = 1000 // the default of connection.most; a broker allows 2047 channels
	noExchange   = time.Second
)

func newConnection(conn *transport) *connection {
	l := &connection{conn: conn, most: maxExchanges, exchanges: make(map[string]*channel)}
	blockings := conn.NotifyBlocked(make(chan amqp.Blocking, 4))
	go func() { // ends with the connection
		for b := range blockings {
			l.blocked.Store(b.Active)
		}
	}()
	return l
}

// take returns the channel of an exchange, with its publisher. Call giveBack after use. It first
// checks that the exchange exists, because publishing to an unknown exchange closes a channel.
func (l *connection) take(ctx context.Context, exchange string) (*channel, error) {
	c, err := l.channel(exchange)
	if err != nil {
		return nil, err
	}
	select {
	case <-c.ready:
		err = c.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		l.giveBack(c)
		return nil, err
	}
	return c, nil
}

// channel returns the channel of an exchange, which may not be ready yet. It opens one if there is
// none.
func (l *connection) channel(exchange string) (*channel, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.exchanges[exchange]
	if c == nil || c.over() {
		delete(l.exchanges, exchange)
		if len(l.exchanges) >= l.most && !l.makeRoom() {
			return nil, fmt.Errorf("more than %d exchanges are published to at once", l.most)
		}
		c = &channel{ready: make(chan struct{})}
		l.exchanges[exchange] = c
		go c.open(l.conn, exchange)
	}
	c.using++
	return c, nil
}

func (l *connection) giveBack(c *channel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.using--
	c.used = time.Now()
}

// makeRoom closes the channel that was used least recently. It returns false if all channels are in
// use. The caller holds mu.
func (l *connection) makeRoom() bool {
	var oldest *channel
	name := ""
	for exchange, c := range l.exchanges {
		if (c.using == 0 || c.over()) && (oldest == nil || c.used.Before(oldest.used)) {
			name, oldest = exchange, c
		}
	}
	if oldest == nil {
		return false
	}
	delete(l.exchanges, name)
	go oldest.close()
	return true
}

func (c *channel) close() {
	<-c.ready
	if c.publisher != nil {
		c.publisher.ch.Close()
	}
}

// over reports whether a channel must be replaced.
func (c *channel) over() bool {
	select {
	case <-c.ready:
	default:
		return false
	}
	if c.err != nil {
		return time.Now().After(c.until)
	}
	return c.publisher.ch.IsClosed()
}

func (c *channel) open(conn *transport, exchange string) {
	defer close(c.ready)
	c.publisher, c.err = newPublisher(conn)
	if c.err == nil && exchange != "" {
		if err := c.publisher.ch.ExchangeDeclarePassive(exchange, amqp.ExchangeDirect, true, false, false, false, nil); err != nil {
			c.err = fmt.Errorf("exchange %q: %w", exchange, said(err))
			if code(err) == amqp.NotFound || code(err) == amqp.AccessRefused {
				c.err = &deliver.Refusal{Reason: c.err.Error()}
			}
			c.publisher.ch.Close()
		}
	}
	c.until = time.Now().Add(noExchange)
}
