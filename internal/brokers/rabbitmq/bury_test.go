package rabbitmq

import (
	"errors"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/internal/brokers/source"
)

// No queue takes the dead letters at first, so the broker returns them. Each return is matched with
// its own attempt. After a queue is bound, each letter is kept once.
func TestBuryAgain(t *testing.T) {
	at, name, ch := channelTo(t)
	for _, queue := range []string{name, name + ".kept"} {
		if _, err := ch.QueueDeclare(queue, true, false, false, false, nil); err != nil {
			t.Fatal(err)
		}
		defer ch.QueueDelete(queue, false, false, false)
	}
	if err := ch.ExchangeDeclare(name+".dead", amqp.ExchangeFanout, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	defer ch.ExchangeDelete(name+".dead", false, false)
	s, err := (&Queue{URL: at, Name: name, DeadLetter: name + ".dead", AsItIs: true}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var dead []source.Dead // more than the broker confirms at once, and two equal ones
	for i := range 6000 {
		id := strings.Repeat("m", i%100+1) + string(rune('a'+i/100%26)) + string(rune('a'+i/2600))
		dead = append(dead, source.Dead{Message: &source.Message{Delivery: &amqp.Delivery{MessageId: id}}, Reason: "no task"})
	}
	dead = append(dead, dead[0])
	for range 2 {
		if err := s.Bury(t.Context(), dead); !errors.Is(err, errUnroutable) {
			t.Fatalf("Bury without a queue: %v; want unroutable", err)
		}
	}
	if err := ch.QueueBind(name+".kept", "", name+".dead", false, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Bury(t.Context(), dead); err != nil {
		t.Fatalf("Bury with a queue: %v", err)
	}
	if q, err := ch.QueueDeclarePassive(name+".kept", true, false, false, false, nil); err != nil || q.Messages != len(dead) {
		t.Errorf("%d dead letters, %v; want %d", q.Messages, err, len(dead))
	}
	if p := s.(*session).dead; len(p.waiting)+len(p.returned) != 0 {
		t.Errorf("the publisher remembers %d unconfirmed and %d returned messages; want none", len(p.waiting), len(p.returned))
	}
}
