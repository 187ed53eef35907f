package server

import (
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/config"
)

// What a link of a merchant may show of what names the merchant.
func TestTells(t *testing.T) {
	c, err := config.Parse([]byte(`
queues:
  notify: {on_end: {failed: alerts}}
  alerts: {url: "http://alerts.internal/"}
  archive: {url: "http://archive.internal/"}
`))
	if err != nil {
		t.Fatal(err)
	}
	var s Server
	s.facts.Store(factsOf(c))
	for _, tt := range []struct {
		name string
		task bellman.Task
		want bool
	}{
		{"to an address of its own", bellman.Task{Queue: "notify", URL: "https://m.example/n"}, true},
		{"to the merchant's registered address", bellman.Task{Queue: "notify"}, true},
		{"to the queue's own address", bellman.Task{Queue: "archive"}, false},
		{"of such a queue, to an address of its own", bellman.Task{Queue: "archive", URL: "HTTPS://m.example/n"}, true},
		{"a result that is told", bellman.Task{Queue: "alerts"}, false},
		{"a result that is told to an address", bellman.Task{Queue: "alerts", URL: "https://ops.example/"}, false},
		{"to a broker", bellman.Task{Queue: "notify", URL: "amqp://main/orders"}, false},
		{"of a queue that is not configured", bellman.Task{Queue: "gone", URL: "http://m.example/n"}, true},
	} {
		if got := s.tells(&tt.task); got != tt.want {
			t.Errorf("%s: shown %t; want %t", tt.name, got, tt.want)
		}
	}
}
