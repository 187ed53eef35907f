package nats

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellmanhq/bellman/internal/brokers/sender"
)

// A Sender publishes to the streams of one server or cluster. It is safe for
// concurrent use. Make one with NewSender, and Close it.
type Sender struct{ link sender.Link[*link] }

var _ sender.Publisher = (*Sender)(nil)

// A link is a connection that messages are published over.
type link struct {
	conn *nats.Conn
	js   jetstream.JetStream
}

// NewSender returns a sender to the server at a URL. It connects when there is
// something to send. client is what the server's operator sees.
func NewSender(url, client string, access Access) *Sender {
	return &Sender{sender.Link[*link]{
		Dial: func(ctx context.Context) (*link, error) {
			conn, js, err := dial(ctx, url, access, client+" sends", func(error) {})
			if err != nil {
				return nil, err
			}
			return &link{conn, js}, nil
		},
		Alive: func(l *link) bool { return !l.conn.IsClosed() },
		Close: func(l *link) { l.conn.Close() },
	}}
}

// Close closes the connection. What is being published fails.
func (s *Sender) Close() { s.link.End() }

// Publish publishes a message that a stream must take, and waits for the stream to
// say that it has it in safety. A stream that has a message of the same id already,
// not long ago, keeps that one alone.
func (s *Sender) Publish(ctx context.Context, to sender.Address, m *sender.Message) (string, error) {
	l, err := s.link.Get(ctx)
	if err != nil {
		return "", err
	}
	header := nats.Header(maps.Clone(m.Header))
	if m.Event != "" {
		header.Set("Bellman-Event", m.Event)
	}
	ack, err := l.js.PublishMsg(ctx, &nats.Msg{Subject: to.Key, Header: header, Data: m.Body}, jetstream.WithMsgID(m.ID))
	var api *jetstream.APIError
	switch {
	case err == nil && ack.Duplicate:
		return fmt.Sprintf("stream %s has it already, as number %d", ack.Stream, ack.Sequence), nil
	case err == nil:
		return fmt.Sprintf("stream %s has it as number %d", ack.Stream, ack.Sequence), nil
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		return "", &sender.Refusal{Reason: "unroutable: no stream takes this subject"}
	case errors.Is(err, nats.ErrMaxPayload):
		return "", &sender.Refusal{Reason: fmt.Sprintf("the message is larger than the server takes, which is %d bytes", l.conn.MaxPayload())}
	case errors.As(err, &api):
		return "", &sender.Refusal{Reason: api.Error()}
	}
	return "", err
}
