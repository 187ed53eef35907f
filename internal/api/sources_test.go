package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/brokers/source"
)

// twoSources are one that takes, and one whose broker is away.
func twoSources() []source.Info {
	return []source.Info{
		{Name: "main/order.paid", Into: "merchant-notify", State: "consuming", Since: t0, Stored: 7, Existing: 1, Dead: 2, InHand: 3},
		{Name: "bus/ORDERS/bellman", Into: "merchant-notify", State: "connecting", Since: t0, Why: "cannot connect: refused", Failures: 4,
			LastError: "cannot connect: refused", LastErrorAt: t0.Add(time.Minute)},
	}
}

// shut is a server that takes nothing in.
func shut() figures.Intake {
	return figures.Intake{Waiting: 200_001, High: 200_000, Low: 100_000, Heap: 90 << 20, HeapHigh: 512 << 20}
}

// A message becomes the same task as a create over HTTP with the same JSON, with a default queue
// and key. For a message that can never be a task, the error lists all mistakes.
func TestTaskOfMessage(t *testing.T) {
	a := make1(t, Options{Kinds: func(q string) string { return map[string]string{"orders": "order", "pay": "notify"}[q] }}).API
	tests := []struct{ text, queue, key, want string }{
		{`{"json":{"n":1}}`, "pay", "m1", ""},
		{`{"queue":"pay","key":"mine"}`, "other", "m1", ""},
		{`{"merchant_no":"M1","order_no":"1"}`, "orders", "m1", ""},
		{`{`, "pay", "m1", "malformed JSON: "},
		{`{"urll":"x","delay":"soon"}`, "pay", "m1", "3 fields are wrong; body.urll: there is no such field: want url?; body.delay: "},
		{`{}`, "", "m1", "2 fields are wrong; body.queue: is required"},
	}
	for _, tt := range tests {
		task, err := a.Task([]byte(tt.text), tt.queue, tt.key)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || len(err.Error()) < len(tt.want) || err.Error()[:len(tt.want)] != tt.want) {
			t.Errorf("%s: %v; want %q", tt.text, err, tt.want)
		}
		if err != nil {
			continue
		}
		key := map[string]string{"pay": "m1", "other": "mine", "orders": "M1/1"}[tt.queue]
		if task.Key != key || task.Queue != map[string]string{"pay": "pay", "other": "pay", "orders": "orders"}[tt.queue] {
			t.Errorf("%s is %q in %q; want key %q", tt.text, task.Key, task.Queue, key)
		}
	}
	a = make1(t, Options{CheckURL: func(*bellman.Task) error { return fmt.Errorf("read merchant M1: %w", bellman.ErrUnreachable) }}).API
	_, err := a.Task([]byte(`{"json":{"n":1}}`), "pay", "m1")
	if _, is := errors.AsType[*source.Later](err); !is || !strings.Contains(err.Error(), "the database cannot be reached") {
		t.Errorf("without a database: %v; want an error that may go away", err)
	}
	if _, err := a.Task(make([]byte, 10<<20), "pay", "m1"); err == nil || err.Error() != "the message is larger than 1638400 bytes" {
		t.Errorf("10 MiB: %v", err)
	}
}
