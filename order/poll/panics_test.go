package poll

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// Code of the program that panics costs what it would have returned. The refund is decided, and the
// merchant is notified.
func TestPanicsOfRules(t *testing.T) {
	var log bytes.Buffer
	h := newHouse(t, func(r *Rules) {
		r.Log = slog.New(slog.NewTextHandler(&log, nil))
		r.Then.Taken = func(*order.Order, *order.QueryAnswer, string) (map[string]any, error) { panic("no fields") }
		r.Alert = func(*bellman.Task, order.Alert) []bellman.Task { panic("nobody to call") }
	})
	h.channel.query = func(*order.Order) Answer {
		return Answer{Reading: Done, Answer: said("done"), Person: "look at it"}
	}
	task := h.refund("")
	if v := h.attempt(task); v.Next != bellman.Succeed || v.Reason != "done" || len(v.Follow) != 1 || v.Follow[0].Queue != "merchant-notify" {
		t.Errorf("%+v; want that the refund is DONE, and that the merchant is notified", v)
	}
	for _, want := range []string{"no fields", "handler panicked", "nobody to call", "a refund or transfer needs manual action", "look at it"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, &log)
		}
	}
}
