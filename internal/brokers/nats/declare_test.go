package nats

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellmanhq/bellman/internal/brokers/source/sourcetest"
)

// The stream of dead letters is missing and may not be created. The error says what to do.
func TestMissingWithoutDeclare(t *testing.T) {
	at, name := sourcetest.NATS(t), sourcetest.Name(t)
	s, err := (&Stream{URL: at, Name: name, Durable: "d", DeadLetter: "dead." + name, AsItIs: true}).Open(t.Context())
	if err == nil {
		s.Close()
		t.Fatal("opened; want an error")
	}
	if got := err.Error(); !strings.Contains(got, `subject "dead.`+name+`": `) || !strings.HasSuffix(got, "make one that takes that subject, or name a subject of yours as dead_letter, or set declare: dead_letter") {
		t.Errorf("error %q; want it to say what to create", got)
	}
}

// Stream and consumer belong to somebody else and exist. Only the stream of dead letters is
// created, if the configuration asks for it.
func TestDeclareOnlyDeadLetters(t *testing.T) {
	at, name := sourcetest.NATS(t), sourcetest.Name(t)
	conn, err := nats.Connect(at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		js.DeleteStream(t.Context(), "dead-"+name)
		js.DeleteStream(t.Context(), name)
	}()
	s := &Stream{URL: at, Name: name, Durable: "d", Subjects: []string{name + ".>"}, DeadLetter: "dead." + name, AsItIs: true, MakeDead: true}
	if open, err := s.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "stream not found") {
		if err == nil {
			open.Close()
		}
		t.Errorf("without the stream: %v; want an error, and no stream created", err)
	}
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: s.Subjects})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "d", AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: name + ".>"}); err != nil {
		t.Fatal(err)
	}
	open, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open.Close()
	if _, err := js.Stream(t.Context(), "dead-"+name); err != nil {
		t.Errorf("the stream of dead letters: %v; want it created", err)
	}
}
