package rabbitmq

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/internal/brokers/source/sourcetest"
)

// patient is how long a test waits for a condition. It suits a slow and busy machine.
const patient = 5 * time.Minute

// alarmed returns the URL of a broker that is short of memory or disk: as RabbitMQ does then, it
// reads nothing more from a connection that publishes, and its own heartbeats go on. published is
// closed when one has tried.
func alarmed(t *testing.T, at string) (through string, published <-chan struct{}) {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tried := make(chan struct{})
	tell := sync.OnceFunc(func() { close(tried) })
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	addr := u.Host
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { lead(ctx, client, addr, tell) })
		}
	})
	t.Cleanup(func() {
		cancel()
		listener.Close()
		running.Wait()
	})
	u.Host = listener.Addr().String()
	return u.String(), tried
}

// lead connects a client to a broker until either ends. It forwards nothing from the client's first
// publish on.
func lead(ctx context.Context, client net.Conn, addr string, published func()) {
	server, err := net.DialTimeout("tcp", addr, patient)
	if err != nil {
		client.Close()
		return
	}
	ctx, end := context.WithCancel(ctx)
	var back sync.WaitGroup
	back.Go(func() {
		defer end()
		io.Copy(client, server)
	})
	defer back.Wait()
	defer end()
	context.AfterFunc(ctx, func() {
		client.Close()
		server.Close()
	})
	from := bufio.NewReader(client)
	if _, err := io.CopyN(server, from, 8); err != nil { // the protocol's header
		return
	}
	head := make([]byte, 7) // type, channel, size
	for {
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		rest := make([]byte, binary.BigEndian.Uint32(head[3:])+1)
		if _, err := io.ReadFull(from, rest); err != nil {
			return
		}
		const method, basic, publish = 1, 60, 40
		if head[0] == method && binary.BigEndian.Uint16(rest) == basic && binary.BigEndian.Uint16(rest[2:]) == publish {
			break
		}
		if _, err := server.Write(append(head[:7:7], rest...)); err != nil {
			return
		}
	}
	published()
	ticker := time.NewTicker(heartbeat / 2) // the real broker stops to wait for the client's heartbeats
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if _, err := server.Write([]byte{8, 0, 0, 0, 0, 0, 0, 0xCE}); err != nil {
				return
			}
		}
	}
}

// closes fails the test if do does not return.
func closes(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(patient):
		t.Error("it hangs")
	}
}

// A broker that is short of memory holds back dead letters only: acknowledgements arrive, so that
// it can deliver and forget other messages. The session can be closed meanwhile.
func TestAlarmHoldsBackDeadLettersOnly(t *testing.T) {
	at, name, ch := channelTo(t)
	defer func() {
		ch.QueueDelete(name, false, false, false)
		ch.QueueDelete(name+".dead", false, false, false)
		ch.ExchangeDelete(name+".dead", false, false)
	}()
	through, published := alarmed(t, at)
	s, err := (&Queue{URL: through, Name: name, DeadLetter: name + ".dead", Prefetch: 2}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer closes(t, s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	if err := s.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"dead", "one", "two"} {
		if err := ch.PublishWithContext(ctx, "", name, true, false, amqp.Publishing{MessageId: id, DeliveryMode: amqp.Persistent}); err != nil {
			t.Fatal(err)
		}
	}
	var taken []source.Message
	for len(taken) < 2 {
		more, err := s.Take(ctx, nil, 2)
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, more...)
	}
	storing, stop := context.WithCancel(ctx)
	stored := make(chan error, 1)
	go func() { stored <- s.StoreDead(storing, []source.Dead{{Message: &taken[0], Reason: "no task"}})[0] }()
	select {
	case <-published:
	case <-ctx.Done():
		t.Fatal("the dead letter was not published")
	}
	if err := s.Ack(taken[1:]); err != nil {
		t.Error(err)
	}
	if next, err := s.Take(ctx, nil, 1); err != nil || next[0].ID != "two" {
		t.Errorf("after the acknowledgement: %v, %v; want the next message, although the dead letter waits", next, err)
	}
	stop()
	if err := <-stored; err == nil {
		t.Error("the dead letter is stored; want an error, because the broker did not read it")
	}
}

// A stop does not wait for a broker that is short of memory.
func TestCloseDuringAlarm(t *testing.T) {
	through, published := alarmed(t, sourcetest.RabbitMQ(t))
	s := NewSender(through, "test")
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	sent := make(chan error, 1)
	go func() {
		_, err := s.Send(ctx, "/"+sourcetest.Name(t), &deliver.Message{ID: "1", Body: []byte("{}")})
		sent <- err
	}()
	select {
	case <-published:
	case err := <-sent:
		t.Fatalf("Send: %v; want it to publish", err)
	}
	cancel()
	if err := <-sent; err == nil {
		t.Error("the message is sent; want an error")
	}
	closes(t, s.Close)
}
