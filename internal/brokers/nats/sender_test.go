package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellmanhq/bellman/deliver"
)

// A full stream refuses a message, and takes it once there is room. A server that is short of
// memory takes nothing for any stream, so it counts as unreachable.
func TestNoRoom(t *testing.T) {
	url := "nats://" + serveNATS(t, "")
	conn, err := nats.Connect(url, nats.Timeout(patient))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	small := jetstream.StreamConfig{Name: "SMALL", Subjects: []string{"small"}, MaxMsgs: 1, Discard: jetstream.DiscardNew}
	for _, c := range []jetstream.StreamConfig{small, {Name: "MEMORY", Subjects: []string{"memory"}, Storage: jetstream.MemoryStorage}} {
		if _, err := js.CreateStream(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	s := NewSender(url, "test", Access{})
	defer s.Close()
	send := func(subject, id string) error {
		_, err := s.Send(ctx, subject, &deliver.Message{ID: id, Body: make([]byte, 4<<10)})
		return err
	}
	var refusal *deliver.Refusal
	if err := send("small", "1"); err != nil {
		t.Fatal(err)
	}
	if err := send("small", "2"); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "maximum messages exceeded") {
		t.Errorf("to a full stream: %v; want it refused", err)
	}
	small.MaxMsgs = 2
	if _, err := js.UpdateStream(ctx, small); err != nil {
		t.Fatal(err)
	}
	if err := send("small", "2"); err != nil {
		t.Errorf("to the stream with room again: %v", err)
	}
	err = nil
	for i := 0; err == nil && i < 1000; i++ {
		err = send("memory", fmt.Sprint(i))
	}
	if err == nil || errors.As(err, &refusal) || !strings.Contains(err.Error(), "insufficient resources") {
		t.Errorf("to a server without memory: %v; want an error that is no refusal", err)
	}
}
