package nats

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellmanhq/bellman/internal/brokers/source/sourcetest"
)

// streams connects to a NATS server for a test. name is for a stream of the test's own.
func streams(t *testing.T) (at, name string, js jetstream.JetStream) {
	t.Helper()
	at, name = sourcetest.NATS(t), sourcetest.Name(t)
	conn, err := nats.Connect(at, nats.Timeout(patient))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if js, err = jetstream.New(conn, jetstream.WithDefaultTimeout(patient)); err != nil {
		t.Fatal(err)
	}
	return at, name, js
}

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
	at, name, js := streams(t)
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

// Dead letters that the source itself would receive are refused: one bad message would be
// dead-lettered for ever.
func TestDeadLettersThatComeBack(t *testing.T) {
	at, name, js := streams(t)
	defer js.DeleteStream(context.Background(), name)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}}); err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		subjects []string // of the consumer, after the stream's name
		dead     string
		loops    bool
	}{
		{nil, "dead", true}, {[]string{">"}, "dead", true}, {[]string{"*"}, "dead", true}, {[]string{"*.dead"}, "orders.dead", true},
		{[]string{"paid.>"}, "dead", false}, {[]string{"*"}, "orders.dead", false}, {[]string{"dead.>"}, "dead", false},
	} {
		s := &Stream{URL: at, Name: name, Durable: fmt.Sprint("d", i), DeadLetter: name + "." + tt.dead}
		for _, subject := range tt.subjects {
			s.Subjects = append(s.Subjects, name+"."+subject)
		}
		open, err := s.Open(t.Context())
		if err == nil {
			open.Close()
		}
		if refused := err != nil && strings.Contains(err.Error(), "for ever: name a subject of another stream"); refused != tt.loops || !refused && err != nil {
			t.Errorf("subjects %q, dead letters to %q: %v; want it refused: %t", tt.subjects, tt.dead, err, tt.loops)
		}
	}
}

// Newer servers have consumers with several filters.
func TestReceivesOfSeveralFilters(t *testing.T) {
	c := &jetstream.ConsumerConfig{FilterSubjects: []string{"a.paid", "a.*.dead"}}
	for subject, want := range map[string]bool{"a.paid": true, "a.orders.dead": true, "a.dead": false, "a.orders.dead.too": false} {
		if got := receives(c, subject); got != want {
			t.Errorf("receives(%q) = %t, want %t", subject, got, want)
		}
	}
}
