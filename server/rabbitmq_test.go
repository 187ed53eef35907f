package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/brokers/source/sourcetest"
	"github.com/bellmanhq/bellman/internal/config"
)

// rabbit returns a channel to the broker, and a name for the test's queue. Everything with that
// name is deleted after the test.
func rabbit(t *testing.T) (ch *amqp.Channel, url, name string) {
	t.Helper()
	url = sourcetest.RabbitMQ(t)
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	if ch, err = conn.Channel(); err != nil {
		t.Fatal(err)
	}
	name = sourcetest.Name(t)
	t.Cleanup(func() {
		for _, queue := range []string{name, name + ".dead"} {
			if ch, err := conn.Channel(); err == nil {
				ch.QueueDelete(queue, false, false, false)
				ch.ExchangeDelete(queue, false, false)
			}
		}
		conn.Close()
	})
	return ch, url, name
}

// TestRabbitMQ: a message that is published to a queue, by a producer that knows nothing of
// bellman, is delivered over HTTP as the configuration maps it.
func TestRabbitMQ(t *testing.T) {
	ch, url, name := rabbit(t)
	got := make(chan string, 10)
	merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
		io.WriteString(w, "success")
	}))
	defer merchant.Close()
	to, _, stop := serve(t, t.TempDir(), func(c *config.Config) {
		configure(t, c, fmt.Sprintf(`
connections: {main: {url: %q}}
sources:
  - {connection: main, queue: %s, into: default, map: {
      key: json.event_id, merchant_no: json.mch, order_no: json.order, url: json.notify_url, event: 'headers["event"]', json: json.data}}
`, url, name))
	})
	defer stop()
	passes(t, "the queue is consumed", func() bool { return inspect(t, url, name).Consumers == 1 })
	body := fmt.Appendf(nil, `{"event_id":"E1","mch":"M1001","order":20261120000001,"notify_url":%q,"data":{"amount": 1.10,"no":20261120000001}}`, merchant.URL+"/notify")
	if err := ch.PublishWithContext(t.Context(), "", name, false, false, amqp.Publishing{
		Body: body, MessageId: "m1", DeliveryMode: amqp.Persistent, Headers: amqp.Table{"event": "payment.succeeded"},
	}); err != nil {
		t.Fatal(err)
	}
	select {
	case text := <-got:
		if text != `{"amount": 1.10,"no":20261120000001}` {
			t.Errorf("the merchant got %s; want what json.data has, byte for byte", text)
		}
	case <-time.After(patient):
		t.Fatal("nothing was delivered")
	}
	task, err := to.Task(t.Context(), client.ByKey("default", "E1"))
	if err != nil {
		t.Fatal(err)
	}
	if task.MerchantNo != "M1001" || task.OrderNo != "20261120000001" || task.Event != "payment.succeeded" {
		t.Errorf("the task is %+v", task)
	}
}

// configure adds brokers and sources to a configuration.
func configure(t *testing.T, c *config.Config, text string) {
	t.Helper()
	read, err := config.Parse([]byte(text))
	if err == nil {
		read.Queues = c.Queues
		err = read.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Connections, c.Sources = read.Connections, read.Sources
}

// inspect looks at a queue; the zero Queue while it is not there.
func inspect(t *testing.T, url, name string) amqp.Queue {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	q, _ := ch.QueueDeclarePassive(name, true, false, false, false, nil)
	return q
}
