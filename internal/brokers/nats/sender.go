package nats

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/internal/brokers/link"
)

// A Sender publishes to the streams of one server or cluster. It is safe for
// concurrent use. Make one with NewSender, and Close it.
type Sender struct{ link link.Link[*connection] }

var _ deliver.Connection = (*Sender)(nil)

// A connection is what messages are published over, until it breaks.
type connection struct {
	conn *nats.Conn
	js   jetstream.JetStream
}

// NewSender returns a sender to the server at a URL. It connects when there is
// something to send. client is what the server's operator sees.
func NewSender(url, client string, access Access) *Sender {
	return &Sender{link.Link[*connection]{
		Dial: func(ctx context.Context) (*connection, error) {
			conn, js, err := dial(ctx, url, access, client+" sends", func(error) {})
			if err != nil {
				return nil, err
			}
			return &connection{conn, js}, nil
		},
		Alive: func(l *connection) bool { return !l.conn.IsClosed() },
		Close: func(l *connection) { l.conn.Close() },
	}}
}

// Close closes the connection. What is being published fails.
func (s *Sender) Close() { s.link.End() }

// Scheme is the scheme of the addresses of NATS.
func (s *Sender) Scheme() *deliver.Scheme { return Scheme }

// Send publishes a message that a stream must take, and waits until the stream has stored it. A
// stream that stored a message of the same id within its duplicate window keeps that message only.
func (s *Sender) Send(ctx context.Context, path string, m *deliver.Message) (string, error) {
	subject, err := subjectOf(path)
	if err != nil {
		return "", &deliver.Refusal{Reason: err.Error()}
	}
	l, err := s.link.Get(ctx)
	if err != nil {
		return "", err
	}
	header := nats.Header(maps.Clone(m.Header))
	if m.Event != "" {
		header.Set("Bellman-Event", m.Event)
	}
	ack, err := l.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Header: header, Data: m.Body}, jetstream.WithMsgID(m.ID))
	var api *jetstream.APIError
	switch {
	case err == nil && ack.Duplicate:
		return fmt.Sprintf("stream %s has it already, as number %d", ack.Stream, ack.Sequence), nil
	case err == nil:
		return fmt.Sprintf("stream %s has it as number %d", ack.Stream, ack.Sequence), nil
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		return "", &deliver.Refusal{Reason: "unroutable: no stream takes this subject"}
	case errors.Is(err, nats.ErrMaxPayload):
		return "", &deliver.Refusal{Reason: fmt.Sprintf("the message is larger than the server takes, which is %d bytes", l.conn.MaxPayload())}
	case errors.As(err, &api):
		return "", &deliver.Refusal{Reason: api.Error()}
	}
	return "", err
}
