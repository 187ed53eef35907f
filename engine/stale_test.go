package engine_test

import (
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
)

// A task that waits in line at its node and is cancelled at another is not attempted
// any more.
func TestCancelledInLineElsewhere(t *testing.T) {
	hearing(t, func(t *testing.T, c *crew, _ time.Duration) {
		l := newLedger()
		queue := func(name string) engine.Queue {
			q := l.queue(name, 10*time.Second)
			q.Timeout, q.Concurrency = time.Minute, 1
			return q
		}
		a, b := c.start("a", queue("a")), c.start("b", queue("b"))
		defer a.stop()
		defer b.stop()
		time.Sleep(20 * time.Second)
		var ids []bellman.ID
		for range 20 {
			ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q"}))
		}
		time.Sleep(15 * time.Second)
		cancelled := make(map[bellman.ID]bool)
		made := func(id bellman.ID) int {
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.times[id])
		}
		for i, id := range ids {
			if made(id) > 0 {
				continue
			}
			if _, err := []*member{a, b}[i%2].Cancel(t.Context(), id, by); err != nil {
				t.Fatal(err)
			}
			cancelled[id] = true
		}
		time.Sleep(10 * time.Minute)
		n := 0
		for id := range cancelled {
			n += made(id)
		}
		if n > 0 || len(cancelled) == 0 {
			t.Errorf("%d attempts of %d tasks after they were cancelled; want none", n, len(cancelled))
		}
	})
}
