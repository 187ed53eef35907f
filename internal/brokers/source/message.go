package source

import (
	"context"
	"sync"

	"github.com/bellmanhq/bellman/rule"
)

// A Message is what a broker handed over, and waits to hear of.
type Message struct {
	rule.Message

	// Delivery is the broker's own: what it needs to be told of the message.
	Delivery any
}

// A Dead is a message that can never be a task, and why.
type Dead struct {
	*Message
	Reason string // one line
}

// ReasonHeader is the header of a dead letter that says why it is one, and
// SourceHeader the one that says where it was taken from.
const (
	ReasonHeader = "Bellman-Reason"
	SourceHeader = "Bellman-Source"
)

// A Broker is where a source takes its messages from: a queue or a stream.
type Broker interface {
	// Open connects, declares what must be there, and returns a session that takes
	// nothing yet. The error says what is wrong, and shows no password.
	Open(ctx context.Context) (Session, error)
}

// A Session is one connection to a queue or stream. Messages of which the broker
// was told nothing when it ends come again.
type Session interface {
	// Resume begins to take messages: after Open, and after Pause when Take has said
	// io.EOF.
	Resume(ctx context.Context) error

	// Pause asks for no more. What was handed over already still comes out of Take,
	// and then io.EOF.
	Pause() error

	// Take appends messages that have come to buf, until it has most of them. It waits for the
	// first where buf has none. It is called by one goroutine at a time. Any error but io.EOF and
	// ctx's ends the session.
	Take(ctx context.Context, buf []Message, most int) ([]Message, error)

	// Ack tells the broker that messages are in safety, and are not to come again.
	// It may be called by several goroutines at once, as may Bury.
	Ack(messages []Message) error

	// Bury puts messages where dead letters go. When it returns nil they are in
	// safety there, and are still to be acknowledged here.
	Bury(ctx context.Context, dead []Dead) error

	// Done is closed when the session is broken; Err says why.
	Done() <-chan struct{}
	Err() error

	// Close ends the session.
	Close()
}

// A Break says that a session broke, and why. A Session embeds one. Make one with NewBreak.
type Break struct {
	done chan struct{}
	once sync.Once
	err  error // set before done is closed
}

// NewBreak returns the Break of a session that works.
func NewBreak() *Break { return &Break{done: make(chan struct{})} }

// End says why the session broke. The first reason counts.
func (b *Break) End(why error) {
	b.once.Do(func() {
		b.err = why
		close(b.done)
	})
}

// Done is closed when the session is broken.
func (b *Break) Done() <-chan struct{} { return b.done }

// Err returns why the session broke; nil: it works.
func (b *Break) Err() error {
	select {
	case <-b.done:
		return b.err
	default:
		return nil
	}
}

// Gather is a Session's Take from a channel of deliveries. message makes a message of a delivery.
// When the channel is closed, Gather returns the error of over.
func Gather[D any](ctx context.Context, b *Break, from <-chan D, buf []Message, most int, message func(D) Message, over func() error) ([]Message, error) {
	if len(buf) == 0 {
		select {
		case <-ctx.Done():
			return buf, ctx.Err()
		case <-b.done:
			return buf, b.err
		case d, ok := <-from:
			if !ok {
				return buf, over()
			}
			buf = append(buf, message(d))
		}
	}
	for len(buf) < most {
		select {
		case d, ok := <-from:
			if !ok {
				return buf, over()
			}
			buf = append(buf, message(d))
		default:
			return buf, nil
		}
	}
	return buf, nil
}
