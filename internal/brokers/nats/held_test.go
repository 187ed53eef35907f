package nats

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellmanhq/bellman/internal/brokers/source"
)

// Messages held by a session are delivered again soon after its death, but not while it lives. A
// session reports every message as in progress until it acknowledges it: those that were taken and
// those that wait to be taken.
func TestHeld(t *testing.T) {
	at, name, js := streams(t)
	defer func() {
		js.DeleteStream(t.Context(), "dead-"+name)
		js.DeleteStream(t.Context(), name)
	}()
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}, Retention: jetstream.WorkQueuePolicy})
	if err != nil {
		t.Fatal(err)
	}
	// The consumer has the settings of older versions.
	if _, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{
		Durable: "d", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute, MaxDeliver: -1, FilterSubject: name + ".>",
	}); err != nil {
		t.Fatal(err)
	}
	told, err := js.Conn().SubscribeSync("$JS.ACK." + name + ".d.>")
	if err != nil {
		t.Fatal(err)
	}
	open := func() *session {
		s := &Stream{URL: at, Name: name, Durable: "d", Subjects: []string{name + ".>"}, DeadLetter: "dead." + name}
		opened, err := s.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := opened.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		return opened.(*session)
	}
	first := open()
	if has := first.consumer.CachedInfo().Config.AckWait; has > 10*time.Second {
		t.Errorf("a message that is not reported is delivered again after %v; want at most 10 s", has)
	}
	const messages = 10
	for range messages {
		if _, err := js.Publish(t.Context(), name+".paid", []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	var taken []source.Message
	for len(taken) < messages/2 {
		if taken, err = first.Take(t.Context(), taken, messages/2); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Ack(taken[:1]); err != nil {
		t.Fatal(err)
	}
	reports := map[string]int{} // number of reports by position of the message
	acknowledged, late := "", 0
	for whole := false; !whole; {
		m, err := told.NextMsg(patient)
		if err != nil {
			t.Fatalf("after %d messages were reported: %v", len(reports), err)
		}
		_, number, _ := standing(m.Subject)
		if strings.HasPrefix(string(m.Data), "+WPI") {
			reports[number]++
			if number == acknowledged {
				late++
			}
		} else {
			acknowledged = number
		}
		whole = len(reports) >= messages-1
		for _, n := range reports {
			whole = whole && n >= 2
		}
	}
	if late > 1 { // one report may be on its way
		t.Errorf("a message was reported %d times after it was acknowledged; want at most one", late)
	}

	// The connection ends without a goodbye, like that of a killed process.
	killed := time.Now()
	first.conn.Close()
	first.Close()
	second := open()
	defer second.Close()
	again := map[string]bool{}
	for len(again) < messages-1 {
		given, err := second.Take(t.Context(), nil, messages)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range given {
			again[m.ID] = true
		}
		if err := second.Ack(given); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("what a session held came again %v after its death", time.Since(killed).Round(10*time.Millisecond))
}

// The stream of dead letters was deleted, and a plain subscriber takes its subject, so nobody
// answers. The session ends with a reason instead of waiting for ever.
func TestDeadLetterWithoutAnswer(t *testing.T) {
	t.Parallel() // it waits for askTimeout
	at, name, js := streams(t)
	defer js.DeleteStream(context.Background(), name)
	opened, err := (&Stream{URL: at, Name: name, Durable: "d", Subjects: []string{name + ".>"}, DeadLetter: "dead." + name}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if err := js.DeleteStream(t.Context(), "dead-"+name); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Conn().SubscribeSync("dead." + name); err != nil {
		t.Fatal(err)
	}
	if err := opened.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), name+".paid", []byte("x")); err != nil {
		t.Fatal(err)
	}
	var taken []source.Message
	for len(taken) == 0 {
		if taken, err = opened.Take(t.Context(), taken, 1); err != nil {
			t.Fatal(err)
		}
	}
	within, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	if err := opened.StoreDead(within, []source.Dead{{Message: &taken[0], Reason: "no JSON"}})[0]; err == nil || !strings.Contains(err.Error(), "no answer within") {
		t.Errorf("StoreDead() = %v; want an error that says that nobody answers", err)
	}
	if left := opened.(*session).js.PublishAsyncPending(); left != 0 { // the library refuses more than 4000
		t.Errorf("%d dead letters are still waited for", left)
	}
}

// Two consumers of a stream have one place for dead letters. Each dead letter of each is stored,
// and once.
func TestDeadLettersOfTwoConsumers(t *testing.T) {
	at, name, js := streams(t)
	defer func() {
		js.DeleteStream(context.Background(), "dead-"+name)
		js.DeleteStream(context.Background(), name)
	}()
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), name+".paid", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, durable := range []string{"one", "two"} {
		opened, err := (&Stream{URL: at, Name: name, Durable: durable, DeadLetter: "dead." + name}).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		if err := opened.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		var taken []source.Message
		for len(taken) == 0 {
			if taken, err = opened.Take(t.Context(), taken, 1); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := opened.StoreDead(t.Context(), []source.Dead{{Message: &taken[0], Reason: "no JSON"}})[0]; err != nil {
				t.Fatal(err)
			}
		}
	}
	dead, err := js.Stream(t.Context(), "dead-"+name)
	if err != nil {
		t.Fatal(err)
	}
	if got := dead.CachedInfo().State.Msgs; got != 2 {
		t.Errorf("%d dead letters are stored; want one of each consumer", got)
	}
}

// A session holds no more messages than its prefetch, beside those that the library has fetched
// ahead. It takes the next one after an acknowledgement.
func TestPrefetch(t *testing.T) {
	at, name, js := streams(t)
	defer func() {
		js.DeleteStream(context.Background(), "dead-"+name)
		js.DeleteStream(context.Background(), name)
	}()
	const prefetch = 8
	opened, err := (&Stream{URL: at, Name: name, Durable: "d", Subjects: []string{name + ".>"}, DeadLetter: "dead." + name, Prefetch: prefetch}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for range 5 * prefetch {
		if _, err := js.Publish(t.Context(), name+".paid", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := opened.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	within, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	var taken []source.Message
	for len(taken) < prefetch {
		some, err := opened.Take(within, nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, some...)
	}
	more := make(chan []source.Message, 1)
	go func() {
		next, _ := opened.Take(within, nil, 100)
		more <- next
	}()
	for pending := 0; pending <= prefetch; { // the library has fetched another one
		info, err := opened.(*session).consumer.Info(within)
		if err != nil {
			t.Fatal(err)
		}
		pending = info.NumAckPending
	}
	select {
	case beyond := <-more:
		t.Fatalf("%d messages were taken without an acknowledgement; want %d", len(taken)+len(beyond), prefetch)
	default:
	}
	if err := opened.Ack(taken[:2]); err != nil {
		t.Fatal(err)
	}
	if next := <-more; len(next) == 0 || len(next) > 2 {
		t.Errorf("after 2 acknowledgements %d messages were taken; want at most 2, and not none", len(next))
	}
}
