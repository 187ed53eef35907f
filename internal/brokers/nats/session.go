package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/rule"
)

// A session is a connection that receives messages of one stream.
type session struct {
	stream   *Stream
	conn     *nats.Conn
	js       jetstream.JetStream
	consumer jetstream.Consumer
	created  time.Time // when the stream was created
	prefetch int

	consuming jetstream.ConsumeContext
	messages  chan jetstream.Msg

	every time.Duration // how often held messages are reported as in progress
	work  sync.WaitGroup
	mu    sync.Mutex
	held  map[jetstream.Msg]time.Time // messages that were delivered and not acknowledged, with the time of delivery
	room  chan struct{}               // holds a value for each of them that may be taken; its capacity is the prefetch

	*source.Break
}

// report tells the server regularly that the held messages are in progress, so that it does not
// deliver them again while the store is slow. It returns when the session ends.
func (s *session) report() {
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	var held []jetstream.Msg
	for {
		select {
		case <-s.Done():
			return
		case <-ticker.C:
		}
		held = held[:0]
		s.mu.Lock()
		for m, since := range s.held {
			if time.Since(since) >= s.every {
				held = append(held, m)
			}
		}
		s.mu.Unlock()
		for _, m := range held {
			m.InProgress() // errors are ignored: the message may just have been acknowledged, and a broken connection ends the session
		}
		clear(held)
	}
}

// hold notes a delivered message.
func (s *session) hold(m jetstream.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[m] = time.Now()
}

// release forgets acknowledged messages, and makes room for others.
func (s *session) release(messages []source.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		delete(s.held, m.Delivery.(jetstream.Msg))
		<-s.room
	}
}

// maxPull is the largest number of bytes in one delivery of the server. It exceeds every message.
const maxPull = 80 << 20

// ahead divides the prefetch: the library may buffer a fourth of it. Messages in that buffer are
// not reported as in progress while the session takes none.
const ahead = 4

// heartbeat is how often the server says that it has no message yet. After two that are missing the
// library asks for messages again. Its default of 15 s is long: it can forget to ask if a small
// batch arrives while it is still asking for it, see issue 1622 of nats.go.
const heartbeat = 2 * time.Second

func (s *session) Resume(context.Context) error {
	messages := make(chan jetstream.Msg, s.prefetch)
	consuming, err := s.consumer.Consume(
		func(m jetstream.Msg) {
			s.hold(m)
			select {
			case s.room <- struct{}{}:
				messages <- m // its capacity is that of room
			case <-s.Done():
			}
		},
		jetstream.PullMaxMessagesWithBytesLimit(max(s.prefetch/ahead, 1), maxPull),
		jetstream.PullHeartbeat(heartbeat),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			switch {
			case errors.Is(err, jetstream.ErrNoHeartbeat): // the library has asked again
				err = s.exists()
			case errors.Is(err, jetstream.ErrConsumerDeleted), errors.Is(err, jetstream.ErrConsumerNotFound),
				errors.Is(err, jetstream.ErrBadRequest), errors.Is(err, nats.ErrNoResponders):
			default:
				err = nil
			}
			if err != nil {
				s.End(fmt.Errorf("consumer %q: %w", s.stream.Durable, err))
			}
		}))
	if err != nil {
		return fmt.Errorf("consume stream %q: %w", s.stream.Name, err)
	}
	s.consuming, s.messages = consuming, messages
	return nil
}

// exists asks the server whether it still has the consumer.
func (s *session) exists() error {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	_, err := s.consumer.Info(ctx)
	return err
}

func (s *session) Pause() error {
	consuming, messages := s.consuming, s.messages
	closed := consuming.Closed()
	consuming.Drain()
	go func() {
		select {
		case <-closed: // nothing more is delivered
			close(messages)
		case <-s.Done():
		}
	}()
	return nil
}

func (s *session) Take(ctx context.Context, buf []source.Message, most int) ([]source.Message, error) {
	return source.Gather(ctx, s.Break, s.messages, buf, most, s.message)
}

// message converts a message of JetStream. A message without an id gets one made of its place in
// the stream, which stays the same.
func (s *session) message(m jetstream.Msg) source.Message {
	given := m.Headers()
	var header map[string]string // most messages have none
	if len(given) > 0 {
		header = make(map[string]string, len(given))
	}
	for name, values := range given {
		header[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	id := given.Get(nats.MsgIdHdr)
	if id == "" {
		id = s.place(m)
	}
	return source.Message{
		Message:  rule.Message{ID: id, Subject: m.Subject(), Header: header, Body: m.Data()},
		Delivery: m,
	}
}

// place identifies a message: the name of the stream, its creation time, and the number of the
// message. Empty: the message is not from JetStream, which does not happen here.
func (s *session) place(m jetstream.Msg) string {
	stream, number, ok := standing(m.Reply())
	if !ok {
		return ""
	}
	b := make([]byte, 0, len(stream)+32)
	b = strconv.AppendInt(append(append(b, stream...), '@'), s.created.Unix(), 10)
	return string(append(append(b, '/'), number...))
}

// standing parses the stream and the message's number from the subject of acknowledgement:
// $JS.ACK.STREAM.CONSUMER.DELIVERED.NUMBER.…, or with a domain and an account before the stream.
// The library's Metadata would parse all other fields too.
func standing(reply string) (stream, number string, ok bool) {
	rest, ok := strings.CutPrefix(reply, "$JS.ACK.")
	if !ok {
		return "", "", false
	}
	switch dots := strings.Count(rest, "."); {
	case dots == 6:
	case dots >= 8:
		_, rest, _ = strings.Cut(rest, ".")
		_, rest, _ = strings.Cut(rest, ".")
	default:
		return "", "", false
	}
	stream, rest, _ = strings.Cut(rest, ".")
	for range 2 { // skip consumer and delivered
		_, rest, _ = strings.Cut(rest, ".")
	}
	number, _, _ = strings.Cut(rest, ".")
	return stream, number, true
}

func (s *session) Ack(messages []source.Message) error {
	s.release(messages)
	for _, m := range messages {
		if err := m.Delivery.(jetstream.Msg).Ack(); err != nil {
			return fmt.Errorf("acknowledge: %w", err)
		}
	}
	return nil
}

// StoreDead publishes messages to the subject of dead letters, unchanged except that the reason is
// among their headers. A message that a consumer buries twice is stored once.
func (s *session) StoreDead(ctx context.Context, dead []source.Dead) []error {
	errs := make([]error, len(dead))
	waits := make([]jetstream.PubAckFuture, len(dead))
	var stalled error
	for i, one := range dead {
		if stalled == nil {
			waits[i], errs[i] = s.js.PublishMsgAsync(s.letter(one))
		}
		if errors.Is(errs[i], jetstream.ErrTooManyStalledMsgs) { // and so would be those behind it
			stalled = errs[i]
		}
		errs[i] = cmp.Or(errs[i], stalled)
	}
	for i, wait := range waits {
		if errs[i] == nil {
			errs[i] = s.kept(ctx, wait)
		}
		if errs[i] != nil {
			errs[i] = fmt.Errorf("publish to %q: %w", s.stream.DeadLetter, errs[i])
		}
	}
	return errs
}

// letter returns the dead letter of a message.
func (s *session) letter(one source.Dead) *nats.Msg {
	m := one.Delivery.(jetstream.Msg)
	headers := maps.Clone(m.Headers())
	if headers == nil {
		headers = nats.Header{}
	}
	for name := range headers {
		if strings.HasPrefix(name, "Nats-") { // such headers are commands to the server
			headers["Bellman-"+name] = headers[name]
			delete(headers, name)
		}
	}
	headers.Set(source.ReasonHeader, one.Reason)
	headers.Set(source.SourceHeader, s.stream.Name+" "+m.Subject())
	headers.Set(nats.MsgIdHdr, s.place(m)+"/"+s.stream.Durable) // several consumers may share the place of dead letters
	return fitting(&nats.Msg{Subject: s.stream.DeadLetter, Header: headers, Data: m.Data()}, s.conn.MaxPayload())
}

// kept waits for the server's answer to a dead letter. It returns nil if a stream has stored it.
func (s *session) kept(ctx context.Context, wait jetstream.PubAckFuture) error {
	select {
	case <-wait.Ok():
		return nil
	case err := <-wait.Err():
		if errors.Is(err, jetstream.ErrAsyncPublishTimeout) { // a subscriber takes the subject, and no stream does
			return fmt.Errorf("no answer within %v: is there a stream that takes it?", askTimeout)
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Done():
		return s.Err()
	}
}

// cutHeader is the original size of a dead letter that was cut.
const cutHeader = "Bellman-Cut"

// fitting returns a message that fits the server's limit. The added headers can make a large
// message exceed it. Then its end is cut, or its own headers are dropped: a dead letter that can
// never be stored would be delivered again for ever.
func fitting(m *nats.Msg, most int64) *nats.Msg {
	const envelope = 64 // cutHeader, and what the library adds
	headers := m.Size() - len(m.Subject) - len(m.Reply) - len(m.Data)
	if int64(headers+len(m.Data)) <= most {
		return m
	}
	m.Header.Set(cutHeader, fmt.Sprintf("%d", len(m.Data)))
	if int64(headers+envelope) > most { // the message's own headers are nearly all of it
		ours := nats.Header{}
		for _, name := range []string{source.ReasonHeader, source.SourceHeader, nats.MsgIdHdr, cutHeader} {
			ours.Set(name, m.Header.Get(name))
		}
		m.Header = ours
		headers = m.Size() - len(m.Subject) - len(m.Reply) - len(m.Data)
	}
	m.Data = m.Data[:min(len(m.Data), max(int(most)-headers-envelope, 0))]
	return m
}

// closeTimeout is how long Close waits for the last acknowledgements to be sent.
const closeTimeout = time.Second

func (s *session) Close() {
	s.conn.FlushTimeout(closeTimeout) // if it fails, the messages are delivered again
	s.conn.Close()
	s.End(errors.New("it was closed"))
	s.work.Wait()
}
