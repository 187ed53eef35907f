package rabbitmq

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/internal/brokers/source"
)

// No queue takes the dead letters at first, so the broker returns them. Each return is matched with
// its own attempt. After a queue is bound, each letter is kept once.
func TestStoreDeadAgain(t *testing.T) {
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
		for _, err := range s.StoreDead(t.Context(), dead) {
			if !errors.Is(err, errUnroutable) {
				t.Fatalf("StoreDead without a queue: %v; want unroutable", err)
			}
		}
	}
	if err := ch.QueueBind(name+".kept", "", name+".dead", false, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.StoreDead(t.Context(), dead)...); err != nil {
		t.Fatalf("StoreDead with a queue: %v", err)
	}
	if q, err := ch.QueueDeclarePassive(name+".kept", true, false, false, false, nil); err != nil || q.Messages != len(dead) {
		t.Errorf("%d dead letters, %v; want %d", q.Messages, err, len(dead))
	}
	if p := s.(*session).dead; len(p.waiting)+len(p.returned) != 0 {
		t.Errorf("the publisher remembers %d unconfirmed and %d returned messages; want none", len(p.waiting), len(p.returned))
	}
}

// The queue of dead letters is full after two. StoreDead says of each dead letter whether it is
// stored.
func TestStoreDeadSome(t *testing.T) {
	at, name, ch := channelTo(t)
	if _, err := ch.QueueDeclare(name, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	defer ch.QueueDelete(name, false, false, false)
	if _, err := ch.QueueDeclare(name+".kept", true, false, false, false, amqp.Table{"x-max-length": 2, "x-overflow": "reject-publish"}); err != nil {
		t.Fatal(err)
	}
	defer ch.QueueDelete(name+".kept", false, false, false)
	if err := ch.ExchangeDeclare(name+".dead", amqp.ExchangeFanout, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	defer ch.ExchangeDelete(name+".dead", false, false)
	if err := ch.QueueBind(name+".kept", "", name+".dead", false, nil); err != nil {
		t.Fatal(err)
	}
	s, err := (&Queue{URL: at, Name: name, DeadLetter: name + ".dead", AsItIs: true}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var dead []source.Dead
	for i := range 5 {
		dead = append(dead, source.Dead{Message: &source.Message{Delivery: &amqp.Delivery{MessageId: fmt.Sprint(i)}}, Reason: "no task"})
	}
	errs, stored := s.StoreDead(t.Context(), dead), map[string]bool{}
	for i, err := range errs {
		if stored[fmt.Sprint(i)] = err == nil; err != nil && !errors.Is(err, errRefused) {
			t.Errorf("dead letter %d: %v; want it stored or refused", i, err)
		}
	}
	kept := 0
	for ; ; kept++ {
		d, more, err := ch.Get(name+".kept", true)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		if !stored[d.MessageId] {
			t.Errorf("dead letter %s is stored, and StoreDead returned %v for it", d.MessageId, errs)
		}
		delete(stored, d.MessageId)
	}
	for id, is := range stored {
		if is {
			t.Errorf("dead letter %s is lost; StoreDead returned %v", id, errs)
		}
	}
	if kept != 2 {
		t.Errorf("%d dead letters are stored; want 2", kept)
	}
}

// The headers of a message nearly fill a frame. Its dead letter keeps them, and has as much of the
// reason as fits: the broker would close the connection for a larger frame.
func TestStoreDeadLargeHeaders(t *testing.T) {
	at, name, ch := channelTo(t)
	defer func() {
		ch.QueueDelete(name, false, false, false)
		ch.QueueDelete(name+".dead", false, false, false)
		ch.ExchangeDelete(name+".dead", false, false)
	}()
	opened, err := (&Queue{URL: at, Name: name, DeadLetter: name + ".dead"}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*session)
	defer s.Close()
	if err := s.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	reason := strings.Repeat("r", 500)
	for _, tt := range []struct {
		free int // bytes of the frame that the message leaves, about
		want func(got string) bool
	}{
		{2000, func(got string) bool { return got == reason }},
		{400, func(got string) bool { return got != "" && len(got) < 500 && strings.HasPrefix(reason, got) }},
		{40, func(got string) bool { return got == "" }},
	} {
		own := amqp.Table{"own": strings.Repeat("x", s.conn.Config.FrameSize-60-tt.free), "list": []any{int32(1), amqp.Table{"a": true}}}
		if err := ch.PublishWithContext(t.Context(), "", name, true, false, amqp.Publishing{MessageId: "m", Headers: own}); err != nil {
			t.Fatal(err)
		}
		var taken []source.Message
		for len(taken) == 0 {
			if taken, err = s.Take(t.Context(), taken, 1); err != nil {
				t.Fatalf("%d bytes free: %v", tt.free, err)
			}
		}
		if err := s.StoreDead(t.Context(), []source.Dead{{Message: &taken[0], Reason: reason}})[0]; err != nil {
			t.Fatalf("%d bytes free: %v; want the dead letter stored", tt.free, err)
		}
		if err := s.Ack(taken); err != nil {
			t.Fatal(err)
		}
		var d amqp.Delivery
		for d.MessageId == "" {
			if d, _, err = ch.Get(name+".dead", true); err != nil {
				t.Fatal(err)
			}
		}
		got, _ := d.Headers[source.ReasonHeader].(string)
		if !tt.want(got) || d.Headers["own"] != own["own"] {
			t.Errorf("%d bytes free: a reason of %d bytes, own headers kept: %t", tt.free, len(got), d.Headers["own"] == own["own"])
		}
	}
	if err := s.Err(); err != nil {
		t.Errorf("the session broke: %v", err)
	}
}

// The headers of a message fill a frame but for ten bytes. The broker adds a header when it
// delivers the message again, and no client can read it then. The error says what to do.
func TestRedeliveredAboveFrameMax(t *testing.T) {
	at, name, ch := channelTo(t)
	defer func() {
		ch.QueueDelete(name, false, false, false)
		ch.QueueDelete(name+".dead", false, false, false)
		ch.ExchangeDelete(name+".dead", false, false)
	}()
	published := false
	take := func() (taken []source.Message, err error) {
		t.Helper()
		opened, err := (&Queue{URL: at, Name: name, DeadLetter: name + ".dead"}).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := opened.(*session)
		defer s.Close()
		if s.conn.Config.FrameSize == 0 {
			t.Skip("this broker has no frame_max")
		}
		if err := s.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !published {
			published = true
			const rest = 8 + 2 + 2 + 8 + 2 + 4 + 1 + len("own") + 1 + 4 // frame, class, weight, size, flags, table, name, kind, length
			own := amqp.Table{"own": strings.Repeat("x", s.conn.Config.FrameSize-rest-10)}
			if err := ch.PublishWithContext(t.Context(), "", name, true, false, amqp.Publishing{Headers: own}); err != nil {
				t.Fatal(err)
			}
		}
		for len(taken) == 0 && err == nil {
			taken, err = s.Take(t.Context(), taken, 1)
		}
		return taken, err
	}
	if _, err := take(); err != nil {
		t.Fatalf("the first delivery: %v", err)
	}
	if taken, err := take(); err == nil || !strings.Contains(err.Error(), "raise frame_max of the broker") {
		t.Errorf("the second delivery: %d messages, %v; want an error that says what to do", len(taken), err)
	}
}
