// Producers publish "order paid" to RabbitMQ as before. Bellman takes the messages and notifies
// each merchant after 5, 10 and 30 seconds until it answers success: never early, even across
// restarts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/server"
)

// settings is the content of bellman.yaml. In production, use the preset retry_5_10_30 as schedule,
// and do not allow private addresses.
const settings = `
listen: 127.0.0.1:0
queues:
  merchant-notify: {schedule: "SCHEDULE"}
connections:
  main: {url: env:RABBITMQ_URL}
sources:
  - connection: main
    queue: example.order.paid
    bind: [{exchange: example.orders, key: order.paid}]
    into: merchant-notify
    map: {key: json.order + "/paid", merchant_no: json.merchant, order_no: json.order, url: json.notify_url, json: json.says}
egress: {allow: [127.0.0.0/8]}
`

const (
	exchange = "example.orders"
	queue    = "example.order.paid"
)

func main() {
	second := flag.Duration("second", time.Second, "how long a second of the schedule takes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // SIGTERM: Kubernetes, systemd
	defer stop()
	if err := run(ctx, *second); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, second time.Duration) (err error) {
	url := os.Getenv("RABBITMQ_URL")
	if url == "" {
		return errors.New("RABBITMQ_URL is not set: want amqp://USER:PASSWORD@HOST:5672/")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	// A merchant that accepts at the third attempt.
	notified, began := make(chan struct{}), time.Now()
	var once sync.Once
	asked := 0
	merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked++
		took := time.Since(began) / second // whole seconds since the order was published
		if asked < 3 {
			fmt.Printf("after %d s: %s: busy\n", took, body)
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		fmt.Printf("after %d s: %s: success\n", took, body)
		io.WriteString(w, "success")
		once.Do(func() { close(notified) })
	}))
	defer merchant.Close()

	// A producer that does not know bellman.
	conn, err := amqp.Dial(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	producer, err := conn.Channel()
	if err != nil {
		return err
	}
	if err := producer.ExchangeDeclare(exchange, amqp.ExchangeTopic, true, false, false, false, nil); err != nil {
		return err
	}
	defer func() {
		producer.QueueDelete(queue, false, false, false)
		producer.QueueDelete(queue+".dead", false, false, false)
		producer.ExchangeDelete(queue+".dead", false, false)
		producer.ExchangeDelete(exchange, false, false)
	}()

	// Bellman, as `bellman serve --config bellman.yaml` runs it.
	dir, err := os.MkdirTemp("", "bellman-example")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c, err := server.ParseConfig([]byte(strings.Replace(settings, "SCHEDULE", fmt.Sprintf("%v, %v, %v", 5*second, 10*second, 30*second), 1)))
	if err != nil {
		return err
	}
	c.Store = "pebble:" + filepath.Join(dir, "data")
	s, err := server.Open(server.Options{Config: c, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()

	body := fmt.Sprintf(`{"order":"20261120000001","merchant":"M1001","notify_url":%q,"says":{"state":"PAID"}}`, merchant.URL)
	if err := bound(ctx, conn); err != nil {
		return err
	}
	began = time.Now()
	for range 2 { // the second message is the same order: one notification
		if err := producer.PublishWithContext(ctx, exchange, "order.paid", false, false, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte(body)}); err != nil {
			return err
		}
	}
	fmt.Println("published twice")
	select {
	case <-notified:
		fmt.Println("notified once")
	case <-ctx.Done():
	case err := <-ran:
		return err
	}
	stop()
	return <-ran
}

// bound waits until bellman has declared its queue. Messages that are published before reach no
// queue.
func bound(ctx context.Context, conn *amqp.Connection) error {
	for {
		ch, err := conn.Channel()
		if err != nil {
			return err
		}
		state, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil) // closes the channel if the queue does not exist
		if err == nil && state.Consumers > 0 {
			return ch.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
