package source

import (
	"context"
	"io"
	"sync"

	"github.com/bellmanhq/bellman/rule"
)

// A Message is a message of a broker that was received and is not acknowledged.
type Message struct {
	rule.Message

	// Delivery is the broker's own value, which is needed to acknowledge the message.
	Delivery any
}

// A Dead is a message that cannot become a task.
type Dead struct {
	*Message
	Reason string // one line
}

// ReasonHeader is the header of a dead letter with the reason. SourceHeader is the header with the
// place it was received from.
const (
	ReasonHeader = "Bellman-Reason"
	SourceHeader = "Bellman-Source"
)

// A Broker is the queue or stream that a source reads.
type Broker interface {
	// Open connects, declares the queue or stream, and returns a session that does not receive yet.
	// Its error shows no password.
	Open(ctx context.Context) (Session, error)
}

// A Session is one connection to a queue or stream. Messages that were not acknowledged when it
// ends are delivered again.
type Session interface {
	// Resume starts to receive messages: after Open, and after Pause once Take has returned io.EOF.
	Resume(ctx context.Context) error

	// Pause stops the delivery of further messages. Take still returns those that were delivered,
	// and then io.EOF.
	Pause() error

	// Take appends messages to buf, up to a length of most. If buf is empty, it waits for the first
	// message. One goroutine at a time calls it. An error other than io.EOF and that of ctx ends
	// the session.
	Take(ctx context.Context, buf []Message, most int) ([]Message, error)

	// Ack acknowledges messages: they are stored and must not be delivered again. Ack and StoreDead
	// may be called concurrently. An error means that the session broke.
	Ack(messages []Message) error

	// StoreDead stores dead letters, and returns one error for each, in order. A dead letter
	// without an error is safe, and must still be acknowledged with Ack.
	StoreDead(ctx context.Context, dead []Dead) []error

	// Done is closed when the session broke; Err returns the reason.
	Done() <-chan struct{}
	Err() error

	// Close ends the session. It is called after StoreDead has returned.
	Close()
}

// A Break holds the reason why a session broke. Sessions embed it. Make one with NewBreak.
type Break struct {
	done chan struct{}
	once sync.Once
	err  error // set before done is closed
}

// NewBreak returns a Break for a session that works.
func NewBreak() *Break { return &Break{done: make(chan struct{})} }

// End sets the reason why the session broke. Later calls change nothing.
func (b *Break) End(why error) {
	b.once.Do(func() {
		b.err = why
		close(b.done)
	})
}

// Done is closed when the session broke.
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

// Gather implements Take over a channel of deliveries. message converts a delivery. The error is
// io.EOF when the channel is closed.
func Gather[D any](ctx context.Context, b *Break, from <-chan D, buf []Message, most int, message func(D) Message) ([]Message, error) {
	if len(buf) == 0 {
		select {
		case <-ctx.Done():
			return buf, ctx.Err()
		case <-b.done:
			return buf, b.err
		case d, ok := <-from:
			if !ok {
				return buf, io.EOF
			}
			buf = append(buf, message(d))
		}
	}
	for len(buf) < most {
		select {
		case d, ok := <-from:
			if !ok {
				return buf, io.EOF
			}
			buf = append(buf, message(d))
		default:
			return buf, nil
		}
	}
	return buf, nil
}
