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

// A connection publishes messages until it breaks.
type connection struct {
	conn *nats.Conn
	js   jetstream.JetStream
}

// NewSender returns a sender to the server at a URL. It connects at the first Send. client is shown
// to the server's operator.
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

// Close closes the connection. Send calls in progress fail.
func (s *Sender) Close() { s.link.End() }

// Scheme returns the address scheme of NATS.
func (s *Sender) Scheme() *deliver.Scheme { return Scheme }

// notStored is the error code of a stream that did not store a message, usually because it is full.
// Other codes from 500 on are of the server: it is short of memory or disk, or JetStream is not
// available.
const notStored jetstream.ErrorCode = 10077

// Send publishes a message, and waits until a stream has stored it. If the stream has a message
// with the same id within its duplicate window, it keeps only that one.
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
	case errors.As(err, &api) && (api.Code < 500 || api.ErrorCode == notStored):
		return "", &deliver.Refusal{Reason: api.Error()}
	}
	return "", err
}
