package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/internal/brokers/source/sourcetest"
	"github.com/bellmanhq/bellman/internal/eventually"
)

// TestBrokersTorture kills the server repeatedly under load, with real brokers. Every message that
// a broker confirmed to its publisher is delivered, over HTTP or to a queue. Only messages in
// flight at a kill are delivered twice.
func TestBrokersTorture(t *testing.T) {
	t.Parallel()
	rounds := 2 // a task in flight at three deaths in a row would be quarantined for ten minutes
	if testing.Short() {
		rounds = 1
	}
	name := sourcetest.Name(t)
	rabbit, bus := openRabbit(t, name), openBus(t, name)
	var mu sync.Mutex
	posted := map[string]int{}
	total := 0
	hook := receive(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the server died while sending
		}
		mu.Lock()
		posted[string(body)]++
		total++
		mu.Unlock()
		io.WriteString(w, "success")
	})
	deliveries := func() int {
		mu.Lock()
		defer mu.Unlock()
		return total
	}
	file := filepath.Join(t.TempDir(), "bellman.yaml")
	settings := fmt.Sprintf(`
egress: {allow: [127.0.0.1]}
queues:
  http: {url: %[1]q, schedule: "0s, 20ms*20, 1s*60"}
  out: {url: "amqp://main//%[2]s-out", schedule: "0s, 20ms*20, 1s*60"}
connections: {main: {url: %[3]q}, bus: {url: %[4]q}}
sources:
  - {connection: main, queue: %[2]s, into: http, map: {queue: 'headers["to"]', body: body}}
  - {connection: bus, stream: %[2]s, durable: bellman, subjects: [%[2]s.>], into: http, map: {key: json.n, json: json}}
`, hook, name, rabbit.url, bus.url)
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := rabbit.ch.QueueDeclare(name+"-out", true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
		t.Fatal(err)
	}

	dir := filepath.Join(t.TempDir(), "data")
	serve := func() *process { return serveStore(t, dir, "--config", file) }
	p := serve() // creates the queues and streams
	eventually.True(t, "sources that are consumed", func() bool {
		s, err := p.client().Sources(t.Context())
		return err == nil && len(s.Sources) == 2 && s.Sources[0].State == "consuming" && s.Sources[1].State == "consuming"
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var load sync.WaitGroup
	load.Go(func() { rabbit.publish(ctx, t) })
	load.Go(func() { bus.publish(ctx, t) })
	for range rounds {
		before := deliveries()
		eventually.True(t, "deliveries", func() bool { return deliveries() > before+300+rand.IntN(500) })
		p.kill()
		p = serve()
	}
	stop()
	load.Wait()
	// A stream delivers unacknowledged messages again a minute after it delivered them.
	eventually.True(t, "everything published is delivered over HTTP", func() bool {
		mu.Lock()
		defer mu.Unlock()
		for body := range rabbit.confirmed {
			if strings.HasPrefix(body, "http") && posted[body] == 0 {
				return false
			}
		}
		for body := range bus.confirmed {
			if posted[body] == 0 {
				return false
			}
		}
		return true
	})
	got, twice := map[string]int{}, 0
	eventually.True(t, "everything published is in the other queue", func() bool {
		for {
			d, ok, err := rabbit.ch.Get(name+"-out", true)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			got[string(d.Body)]++
		}
		for body := range rabbit.confirmed {
			if strings.HasPrefix(body, "out") && got[body] == 0 {
				return false
			}
		}
		return true
	})
	eventually.True(t, "nothing is left with the brokers", func() bool {
		q, err := rabbit.ch.QueueDeclarePassive(name, true, false, false, false, nil)
		return err == nil && q.Messages == 0
	})
	p.stop()
	for _, count := range []map[string]int{posted, got} {
		for _, n := range count {
			twice += n - 1
		}
	}
	// At a kill a message may be in flight, or taken and sent but not recorded. Each message has
	// its own id, so a message that is taken twice is one task.
	if most := rounds * 600; twice > most {
		t.Errorf("%d deliveries were repeated at %d kills; want at most those in flight", twice, rounds)
	}
	t.Logf("%d messages of RabbitMQ and %d of NATS were confirmed; %d deliveries over HTTP, %d to a queue, %d of them repeated",
		len(rabbit.confirmed), len(bus.confirmed), deliveries(), len(got), twice)
}

// A rabbit publishes to a queue of RabbitMQ and remembers the confirmed messages.
type rabbit struct {
	url, name string
	ch        *amqp.Channel
	confirmed map[string]bool
}

func openRabbit(t *testing.T, name string) *rabbit {
	r := &rabbit{url: sourcetest.RabbitMQ(t), name: name, confirmed: map[string]bool{}}
	conn, err := amqp.Dial(r.url)
	if err != nil {
		t.Fatal(err)
	}
	if r.ch, err = conn.Channel(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, queue := range []string{name, name + ".dead", name + "-out"} {
			r.ch.QueueDelete(queue, false, false, false)
			r.ch.ExchangeDelete(queue, false, false)
		}
		conn.Close()
	})
	return r
}

// publish publishes until ctx ends. Each tenth message is for another queue.
func (r *rabbit) publish(ctx context.Context, t *testing.T) {
	if err := r.ch.Confirm(false); err != nil {
		t.Error(err)
		return
	}
	waits := map[string]*amqp.DeferredConfirmation{}
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		to := "http"
		if n%10 == 0 {
			to = "out"
		}
		body := fmt.Sprintf("%s %d", to, n)
		wait, err := r.ch.PublishWithDeferredConfirm("", r.name, true, false, amqp.Publishing{
			MessageId: fmt.Sprint("r", n), DeliveryMode: amqp.Persistent, Headers: amqp.Table{"to": to}, Body: []byte(body),
		})
		if err != nil {
			t.Error(err)
			return
		}
		waits[body] = wait
		if n%20 == 19 { // slow enough that no messages pile up, so that kills hit all steps
			r.await(waits)
			<-pace.C
		}
	}
	r.await(waits)
}

func (r *rabbit) await(waits map[string]*amqp.DeferredConfirmation) {
	for body, wait := range waits {
		if wait.Wait() {
			r.confirmed[body] = true
		}
	}
	clear(waits)
}

// A bus publishes to a stream of NATS and remembers the confirmed messages.
type bus struct {
	url, name string
	js        jetstream.JetStream
	confirmed map[string]bool
}

func openBus(t *testing.T, name string) *bus {
	b := &bus{url: sourcetest.NATS(t), name: name, confirmed: map[string]bool{}}
	conn, err := nats.Connect(b.url, nats.Timeout(patient))
	if err != nil {
		t.Fatal(err)
	}
	if b.js, err = jetstream.New(conn, jetstream.WithDefaultTimeout(patient)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patient) // the context of the test has ended
		defer cancel()
		for stream := range b.js.StreamNames(ctx).Name() {
			if strings.Contains(stream, name) {
				b.js.DeleteStream(ctx, stream)
			}
		}
		conn.Close()
	})
	return b
}

func (b *bus) publish(ctx context.Context, t *testing.T) {
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		<-pace.C
		body := fmt.Sprintf(`{"n": "b%d"}`, n)
		if _, err := b.js.Publish(context.WithoutCancel(ctx), b.name+".paid", []byte(body)); err != nil {
			t.Error(err)
			return
		}
		b.confirmed[body] = true
	}
}
