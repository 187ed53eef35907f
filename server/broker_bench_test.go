package server_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/bench/scratch"
	busbroker "github.com/bellmanhq/bellman/internal/brokers/nats"
	"github.com/bellmanhq/bellman/internal/brokers/rabbitmq"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/internal/brokers/source/sourcetest"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

var (
	rateMessages = flag.Int("messages", 30_000, "messages of a benchmark of brokers")
	rateStore    = flag.String("rates-store", "", "the database server, by its URL, that a benchmark of brokers makes its stores in; default: embedded")
)

// BenchmarkBrokers measures messages that wait with a broker until they are stored,
// beside tasks that are stored in batches of the same size by three callers, each in
// a store of its own; and until they are delivered, beside tasks that are created in
// batches over HTTP. What a broker hands to somebody who only acknowledges is said,
// too: more than that nobody stores. The figures are of all rounds together.
//
//	go test ./server -run '^$' -bench Brokers -benchtime 2x -messages 60000 [-rates-store URL]
func BenchmarkBrokers(b *testing.B) {
	server.TuneMemory(cmp.Or(*rateStore, "pebble:")) // as bellman serve does
	for _, kind := range []string{"rabbitmq", "nats"} {
		b.Run(kind+"/stored", func(b *testing.B) {
			var taken, messages, inserts pace
			for i := range b.N {
				taken.add(measureTaken(b, kind))
				both := []func(){
					func() { messages.add(measureStored(b, kind)) },
					func() { inserts.add(measureInserts(b)) },
				}
				both[i%2]() // who comes second finds a warmer process
				both[1-i%2]()
			}
			b.ReportMetric(0, "ns/op") // of filling, mostly
			b.ReportMetric(taken.rate(), "taken/s")
			b.ReportMetric(messages.rate(), "messages/s")
			b.ReportMetric(inserts.rate(), "inserts/s")
			b.ReportMetric(messages.processor(), "cpu-µs/message")
			b.ReportMetric(inserts.processor(), "cpu-µs/insert")
			b.ReportMetric(messages.rate()/inserts.rate(), "x-inserts")
		})
		b.Run(kind+"/delivered", func(b *testing.B) {
			for range b.N {
				measureDelivered(b, kind)
			}
		})
	}
}

// A pace is how many were done in what time, and for how much time of this process's
// processors.
type pace struct {
	n           int
	took, spent time.Duration
}

func (p *pace) add(q pace) { p.n, p.took, p.spent = p.n+q.n, p.took+q.took, p.spent+q.spent }

func (p *pace) rate() float64      { return float64(p.n) / p.took.Seconds() }
func (p *pace) processor() float64 { return float64(p.spent.Nanoseconds()) / 1e3 / float64(p.n) }

func measureStored(b *testing.B, kind string) pace {
	text := fill(b, kind, *rateMessages, "24h", "http://127.0.0.1:9/never")
	runtime.GC() // what filling left
	s, stop := serveRates(b, text)
	defer stop()
	return measure(*rateMessages, s.Stored)
}

// inserters are how many store batches side by side.
const inserters = 3

// measureInserts stores as many tasks as there are messages, with what these become.
func measureInserts(b *testing.B) pace {
	n := *rateMessages
	s, stop := serveRates(b, "")
	defer stop()
	var next, added atomic.Int64
	var writers sync.WaitGroup
	for range inserters {
		writers.Go(func() {
			for {
				at := int(next.Add(source.BatchMost)) - source.BatchMost
				if at >= n {
					return
				}
				tasks := make([]*bellman.Task, min(source.BatchMost, n-at))
				for i := range tasks {
					tasks[i] = &bellman.Task{
						Queue: "default", Key: fmt.Sprint("e", at+i), URL: "http://127.0.0.1:9/never", MerchantNo: "M1001",
						OrderNo: fmt.Sprint(at + i), Body: fmt.Appendf(nil, `{"order_no":"%d","state":"SUCCESS"}`, at+i),
						Header: map[string]string{"Content-Type": "application/json"}, Delay: 24 * time.Hour,
					}
				}
				for _, a := range s.Engine().Take(context.Background(), tasks...) {
					if a.Err != nil {
						b.Error(a.Err)
					}
				}
				added.Add(int64(len(tasks)))
			}
		})
	}
	p := measure(n, func() int { return int(added.Load()) })
	writers.Wait()
	return p
}

func measureDelivered(b *testing.B, kind string) {
	n := *rateMessages
	var got atomic.Int64
	merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		got.Add(1)
		io.WriteString(w, "success")
	}))
	defer merchant.Close()
	text := fill(b, kind, n, "0s", merchant.URL)
	s, stop := serveRates(b, text)
	defer stop()
	messages := rate(n, func() int { return int(got.Load()) })
	got.Store(0)
	creating := make(chan struct{})
	go func() {
		defer close(creating)
		var creators sync.WaitGroup
		for c := range 4 {
			creators.Go(func() {
				to, err := client.New(client.Options{Server: "http://" + s.Addr()})
				if err != nil {
					b.Error(err)
					return
				}
				for at := c * 500; at < n; at += 4 * 500 {
					batch := make([]client.CreateTask, min(500, n-at))
					for i := range batch {
						batch[i] = client.CreateTask{
							Queue: "default", Key: fmt.Sprint("own", at+i), URL: merchant.URL, MerchantNo: "M1001", OrderNo: fmt.Sprint(at + i),
							JSON: fmt.Appendf(nil, `{"order_no":"%d","state":"SUCCESS"}`, at+i),
						}
					}
					if _, err := to.CreateBatch(context.Background(), batch); err != nil {
						b.Error(err)
					}
				}
			})
		}
		creators.Wait()
	}()
	batches := rate(n, func() int { return int(got.Load()) })
	<-creating
	b.ReportMetric(messages, "messages/s")
	b.ReportMetric(batches, "creates/s")
	b.ReportMetric(messages/batches, "x-creates")
}

// measure is the pace from the first twentieth to the last.
func measure(n int, done func() int) pace {
	wait := func(count int) (int, time.Time) {
		look := time.NewTicker(time.Millisecond)
		defer look.Stop()
		deadline := time.Now().Add(5 * time.Minute)
		for {
			if is := done(); is >= count || time.Now().After(deadline) {
				return is, time.Now()
			}
			<-look.C
		}
	}
	first, began := wait(n / 20)
	spent := processorTime()
	_, ended := wait(n)
	return pace{n - first, ended.Sub(began), processorTime() - spent}
}

// rate is that pace, a second.
func rate(n int, done func() int) float64 {
	p := measure(n, done)
	return p.rate()
}

type rated struct{ *server.Server }

// measureTaken is the pace at which a broker hands messages to a session that
// acknowledges them in batches and does nothing else.
func measureTaken(b *testing.B, kind string) pace {
	n := *rateMessages
	name := sourcetest.Name(b) + "-taken"
	body := func(i int) []byte {
		return fmt.Appendf(nil, `{"id":"e%d","url":"http://127.0.0.1:9/never","data":{"order_no":"%d","state":"SUCCESS"}}`, i, i)
	}
	var broker source.Broker
	if kind == "nats" {
		at := sourcetest.NATS(b)
		fillStream(b, at, name, n, body)
		broker = &busbroker.Stream{URL: at, Name: name, Durable: "bellman", Subjects: []string{name + ".>"}, DeadLetter: "dead." + name + ".bellman"}
	} else {
		at := sourcetest.RabbitMQ(b)
		fillQueue(b, at, name, n, body)
		broker = &rabbitmq.Queue{URL: at, Name: name, DeadLetter: name + ".dead"}
	}
	session, err := broker.Open(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	if err := session.Resume(context.Background()); err != nil {
		b.Fatal(err)
	}
	var taken atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		var messages []source.Message
		for int(taken.Load()) < n {
			if messages, err = session.Take(context.Background(), messages[:0], source.BatchMost); err == nil {
				err = session.Ack(messages)
			}
			if err != nil {
				b.Error(err)
				return
			}
			taken.Add(int64(len(messages)))
		}
	}()
	p := measure(n, func() int { return int(taken.Load()) })
	<-done
	return p
}

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func serveRates(b testing.TB, text string) (s rated, stop func()) {
	c, err := config.Parse([]byte(text))
	if err != nil {
		b.Fatal(err)
	}
	_, opened, stop := serveWith(b, server.Options{Config: c}, func(c *config.Config) { c.Store = rateStoreOf(b) })
	return rated{opened}, stop
}

// rateStoreOf is a new store, which is gone when the benchmark is over.
func rateStoreOf(b testing.TB) string {
	if *rateStore == "" {
		return "pebble:" + b.TempDir()
	}
	there, err := scratch.Connect(context.Background(), *rateStore)
	if err != nil {
		b.Fatal(err)
	}
	d := there.Database(scratch.Name())
	if err := d.Create(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(d.Drop(context.Background()), there.Close()); err != nil {
			b.Error(err)
		}
	})
	return d.URL
}

// fill makes a source with n messages waiting, for each of some addresses in turn, and
// returns its configuration.
func fill(b testing.TB, kind string, n int, delay string, urls ...string) string {
	name := sourcetest.Name(b)
	mapped := fmt.Sprintf(`{key: json.id, merchant_no: '"M1001"', order_no: json.data.order_no, url: json.url, delay: '"%s"', json: json.data}`, delay)
	body := func(i int) []byte {
		return fmt.Appendf(nil, `{"id":"e%d","url":%q,"data":{"order_no":"%d","state":"SUCCESS"}}`, i, urls[i%len(urls)], i)
	}
	if kind == "nats" {
		at := sourcetest.NATS(b)
		fillStream(b, at, name, n, body)
		return fmt.Sprintf("connections: {bus: {url: %q}}\nsources: [{connection: bus, stream: %s, durable: bellman, subjects: [%s.>], into: default, map: %s}]", at, name, name, mapped)
	}
	at := sourcetest.RabbitMQ(b)
	fillQueue(b, at, name, n, body)
	return fmt.Sprintf("connections: {main: {url: %q}}\nsources: [{connection: main, queue: %s, into: default, map: %s}]", at, name, mapped)
}

func fillQueue(b testing.TB, url, name string, n int, body func(int) []byte) {
	declared, err := (&rabbitmq.Queue{URL: url, Name: name, DeadLetter: name + ".dead"}).Open(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	declared.Close()
	conn, err := amqp.Dial(url)
	if err != nil {
		b.Fatal(err)
	}
	ch, err := conn.Channel()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		for _, queue := range []string{name, name + ".dead"} {
			ch.QueueDelete(queue, false, false, false)
			ch.ExchangeDelete(queue, false, false)
		}
		conn.Close()
	})
	if err := ch.Confirm(false); err != nil {
		b.Fatal(err)
	}
	var last *amqp.DeferredConfirmation
	for i := range n {
		last, err = ch.PublishWithDeferredConfirm("", name, true, false, amqp.Publishing{DeliveryMode: amqp.Persistent, MessageId: fmt.Sprint("m", i), Body: body(i)})
		if err != nil {
			b.Fatal(err)
		}
		if i%1000 == 999 {
			last.Wait()
		}
	}
	last.Wait()
}

func fillStream(b testing.TB, url, name string, n int, body func(int) []byte) {
	declared, err := (&busbroker.Stream{URL: url, Name: name, Durable: "bellman", Subjects: []string{name + ".>"}, DeadLetter: "dead." + name + ".bellman"}).Open(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	declared.Close()
	conn, err := nats.Connect(url)
	if err != nil {
		b.Fatal(err)
	}
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(1000))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		js.DeleteStream(context.Background(), name)
		js.DeleteStream(context.Background(), "dead-"+name+"-bellman")
		conn.Close()
	})
	for i := range n {
		if _, err := js.PublishAsync(name+".paid", body(i), jetstream.WithStallWait(time.Minute)); err != nil {
			b.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
}
