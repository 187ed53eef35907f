package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellmanhq/bellman/internal/brokers/source"
)

// A Stream is a stream of JetStream from which tasks are received. URL, Name, Durable and
// DeadLetter are required.
type Stream struct {
	URL     string // nats://USER:PASSWORD@HOST:4222, or several with commas between
	Name    string
	Access  Access
	Durable string // name of the consumer, which remembers what was acknowledged

	// Subjects are the subjects to receive. If the stream does not exist, it is created with them
	// and keeps messages until they are acknowledged. None: all subjects of an existing stream.
	Subjects []string

	// DeadLetter is the subject for messages that cannot become a task. If no stream takes it, one
	// is created.
	DeadLetter string

	// AsItIs: nothing is declared; the stream, the consumer and a stream for DeadLetter must exist.
	AsItIs bool

	// MakeDead: with AsItIs, a stream for DeadLetter is created nevertheless.
	MakeDead bool

	Prefetch int    // most messages without acknowledgement; default 2048
	Client   string // shown to the server's operator; default bellman
}

var _ source.Broker = (*Stream)(nil)

const (
	// ackWait is when the server delivers an unacknowledged message again, after the death of a
	// node. A living session reports its held messages more often.
	ackWait = 8 * time.Second

	// maxPending is the largest number of unacknowledged messages of all nodes together.
	maxPending = 50_000
)

// Open connects, declares stream and consumer, and returns a session.
func (s *Stream) Open(ctx context.Context) (source.Session, error) {
	ss := &session{stream: s, Break: source.NewBreak(), held: map[jetstream.Msg]time.Time{}, prefetch: cmp.Or(s.Prefetch, 2048)}
	ss.room = make(chan struct{}, ss.prefetch)
	conn, js, err := dial(ctx, s.URL, s.Access, cmp.Or(s.Client, "bellman")+" takes "+s.Name, func(err error) {
		if err == nil {
			err = errors.New("the server closed it")
		}
		ss.End(fmt.Errorf("the connection broke: %w", err))
	})
	if err != nil {
		return nil, err
	}
	ss.conn, ss.js = conn, js
	if err := s.declare(ctx, ss); err != nil {
		conn.Close()
		return nil, err
	}
	ss.work.Go(ss.report)
	return ss, nil
}

// declare creates what is missing, or checks that it exists.
func (s *Stream) declare(ctx context.Context, to *session) error {
	dead, err := s.declareDead(ctx, to.js)
	if err != nil {
		return err
	}
	stream, err := to.js.Stream(ctx, s.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) && !s.AsItIs && len(s.Subjects) > 0 {
		stream, err = to.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: s.Name, Subjects: s.Subjects, Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage,
		})
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound) && !s.AsItIs:
		return fmt.Errorf("stream %q: %w: make it, or give subjects for it to be made with", s.Name, err)
	case err != nil:
		return fmt.Errorf("stream %q: %w", s.Name, err)
	}
	to.created = stream.CachedInfo().Created
	if to.consumer, err = stream.Consumer(ctx, s.Durable); errors.Is(err, jetstream.ErrConsumerNotFound) && !s.AsItIs {
		to.consumer, err = stream.CreateConsumer(ctx, s.wanted())
	}
	if err != nil {
		return fmt.Errorf("consumer %q of stream %q: %w", s.Durable, s.Name, err)
	}
	config := to.consumer.CachedInfo().Config
	if err := s.check(&config); err != nil {
		return err
	}
	if dead == s.Name && receives(&config, s.DeadLetter) {
		return fmt.Errorf("dead_letter %q is a subject that consumer %q receives from stream %q, so each dead letter would come back as a message, for ever: name a subject of another stream", s.DeadLetter, s.Durable, s.Name)
	}
	if config.AckWait > ackWait && len(config.BackOff) == 0 && !s.AsItIs { // an older version created it
		config.AckWait = ackWait
		if to.consumer, err = stream.UpdateConsumer(ctx, config); err != nil {
			return fmt.Errorf("consumer %q of stream %q: set ack_wait to %v: %w", s.Durable, s.Name, ackWait, err)
		}
	}
	to.every = reportEvery(&config)
	return nil
}

// reportEvery returns how often held messages are reported as in progress.
func reportEvery(has *jetstream.ConsumerConfig) time.Duration {
	wait := has.AckWait
	if len(has.BackOff) > 0 {
		wait = slices.Min(has.BackOff)
	}
	return max(wait/4, 10*time.Millisecond)
}

func (s *Stream) wanted() jetstream.ConsumerConfig {
	c := jetstream.ConsumerConfig{
		Durable: s.Durable, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: -1, MaxAckPending: maxPending,
	}
	if len(s.Subjects) == 1 {
		c.FilterSubject = s.Subjects[0] // older servers know this field only
	} else {
		c.FilterSubjects = s.Subjects
	}
	return c
}

// check returns the difference between an existing consumer and the required one.
func (s *Stream) check(has *jetstream.ConsumerConfig) error {
	filters := filtersOf(has)
	var wrong []string
	if has.AckPolicy != jetstream.AckExplicitPolicy {
		wrong = append(wrong, fmt.Sprintf("ack_policy is %s: want explicit", has.AckPolicy))
	}
	if has.MaxDeliver > 0 {
		wrong = append(wrong, fmt.Sprintf("max_deliver is %d, after which a message is left behind: want -1", has.MaxDeliver))
	}
	if len(s.Subjects) > 0 && !slices.Equal(slices.Sorted(slices.Values(filters)), slices.Sorted(slices.Values(s.Subjects))) {
		wrong = append(wrong, fmt.Sprintf("its subjects are %q: want %q", filters, s.Subjects))
	}
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("consumer %q of stream %q is there with other arguments: %s: delete it, or name another as durable", s.Durable, s.Name, strings.Join(wrong, "; "))
}

// receives reports whether a consumer receives a subject of its stream.
func receives(has *jetstream.ConsumerConfig, subject string) bool {
	filters := filtersOf(has)
	return len(filters) == 0 || slices.ContainsFunc(filters, func(f string) bool { return matches(f, subject) })
}

// matches reports whether a subject is one of a filter, in which * is any token, and > all that
// follow.
func matches(filter, subject string) bool {
	of, tokens := strings.Split(filter, "."), strings.Split(subject, ".")
	for i, f := range of {
		switch {
		case i >= len(tokens):
			return false
		case f == ">":
			return true
		case f != "*" && f != tokens[i]:
			return false
		}
	}
	return len(of) == len(tokens)
}

func filtersOf(has *jetstream.ConsumerConfig) []string {
	if has.FilterSubject != "" {
		return []string{has.FilterSubject}
	}
	return has.FilterSubjects
}

// declareDead returns the stream that takes the dead letters. It creates one if there is none.
func (s *Stream) declareDead(ctx context.Context, js jetstream.JetStream) (name string, err error) {
	name, err = js.StreamNameBySubject(ctx, s.DeadLetter)
	if errors.Is(err, jetstream.ErrStreamNotFound) && (!s.AsItIs || s.MakeDead) {
		name = strings.ReplaceAll(s.DeadLetter, ".", "-")
		_, err = js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Subjects: []string{s.DeadLetter}, Storage: jetstream.FileStorage,
		})
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound): // the caller wants no stream to be created
		return "", fmt.Errorf("stream for dead letters, subject %q: %w: with declare: false it is to be yours too: make one that takes that subject, or name a subject of yours as dead_letter, or set declare: dead_letter", s.DeadLetter, err)
	case err != nil:
		return "", fmt.Errorf("stream for dead letters, subject %q: %w", s.DeadLetter, err)
	}
	return name, nil
}
