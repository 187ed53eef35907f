package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/deliver"
)

// A sender publishes to more exchanges than it may have channels: it closes the channel that was
// used least recently, and none that is in use.
func TestExchangesInTurn(t *testing.T) {
	at, name, ch := channelTo(t)
	var exchanges []string
	for i := range 3 {
		exchanges = append(exchanges, fmt.Sprintf("%s.%d", name, i))
		if err := ch.ExchangeDeclare(exchanges[i], amqp.ExchangeFanout, true, false, false, false, nil); err != nil {
			t.Fatal(err)
		}
		defer ch.ExchangeDelete(exchanges[i], false, false)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	s := NewSender(at, "test")
	defer s.Close()
	l, err := s.link.Get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	l.most = 2
	open := func() []string {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.Sorted(maps.Keys(l.exchanges))
	}
	for i, want := range [][]string{{exchanges[0]}, exchanges[:2], exchanges[1:], {exchanges[0], exchanges[2]}} {
		_, err := s.Send(ctx, exchanges[i%3]+"/key", &deliver.Message{ID: fmt.Sprint(i)})
		if _, is := errors.AsType[*deliver.Refusal](err); !is || !strings.HasPrefix(err.Error(), "unroutable") {
			t.Errorf("message %d: %v; want it sent, and returned because no queue takes it", i, err)
		}
		if got := open(); !slices.Equal(got, want) {
			t.Errorf("after message %d the exchanges %q have channels; want %q", i, got, want)
		}
	}
	var held []*channel
	for _, exchange := range []string{exchanges[0], exchanges[2]} {
		c, err := l.take(ctx, exchange)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	if _, err := l.take(ctx, exchanges[1]); err == nil || err.Error() != "more than 2 exchanges are published to at once" {
		t.Errorf("a third exchange at once: %v; want an error that says so", err)
	}
	l.giveBack(held[0])
	if _, err := l.take(ctx, exchanges[1]); err != nil {
		t.Errorf("a second exchange at once: %v", err)
	}
	<-held[0].publisher.closed // the channel is closed at the broker too
	if held[1].publisher.ch.IsClosed() {
		t.Error("a channel in use was closed")
	}
}
