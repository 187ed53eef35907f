package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/brokers/source/sourcetest"
	"github.com/bellmanhq/bellman/internal/config"
)

// bus returns a JetStream, and a name for the test's stream. Everything with that name is deleted
// after the test.
func bus(t *testing.T) (js jetstream.JetStream, url, name string) {
	t.Helper()
	url, name = sourcetest.NATS(t), sourcetest.Name(t)
	conn, err := nats.Connect(url, nats.Timeout(patient))
	if err != nil {
		t.Fatal(err)
	}
	if js, err = jetstream.New(conn, jetstream.WithDefaultTimeout(patient)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patient) // that of the test is over
		defer cancel()
		for stream := range js.StreamNames(ctx).Name() {
			if strings.Contains(stream, name) {
				js.DeleteStream(ctx, stream)
			}
		}
		conn.Close()
	})
	return js, url, name
}

// A receiver is a merchant that accepts everything, and what it got.
func receiver(t *testing.T) (url string, got <-chan string) {
	bodies := make(chan string, 1000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		io.WriteString(w, "success")
	}))
	t.Cleanup(s.Close)
	return s.URL + "/notify", bodies
}

// receive waits for what a receiver gets next.
func receive(t *testing.T, got <-chan string) string {
	t.Helper()
	select {
	case text := <-got:
		return text
	case <-time.After(patient):
		t.Fatal("nothing was delivered")
		return ""
	}
}

// TestNATS: without a mapping, a message of a stream becomes the same task as a create over HTTP,
// under the id of the message.
func TestNATS(t *testing.T) {
	js, url, name := bus(t)
	merchant, got := receiver(t)
	to, _, stop := serve(t, t.TempDir(), func(c *config.Config) {
		configure(t, c, fmt.Sprintf(`
connections: {bus: {url: %q}}
sources:
  - {connection: bus, stream: %s, durable: bellman, subjects: [%s.>], into: default}
`, url, name, name))
	})
	defer stop()
	passes(t, "the stream is there", func() bool {
		_, err := js.Stream(t.Context(), name)
		return err == nil
	})
	task := fmt.Sprintf(`{"url": %q, "merchant_no": "M1001", "json": {"n": 1}}`, merchant)
	if _, err := js.Publish(t.Context(), name+".paid", []byte(task), jetstream.WithMsgID("E1")); err != nil {
		t.Fatal(err)
	}
	if text := receive(t, got); text != `{"n": 1}` {
		t.Errorf("the merchant got %s", text)
	}
	created, err := to.Task(t.Context(), client.ByKey("default", "E1"))
	if err != nil || created.MerchantNo != "M1001" {
		t.Errorf("the task is %+v, %v", created, err)
	}
	passes(t, "the message is acknowledged, and so gone", func() bool {
		s, err := js.Stream(t.Context(), name)
		return err == nil && s.CachedInfo().State.Msgs == 0
	})
}
