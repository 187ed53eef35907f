package engine_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
)

// Tasks of a queue that a node does not know wait there. The log reports them at once and every ten
// minutes, and a gauge counts them. They are attempted when the queue is known.
func TestStray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		c, l := newCrew(t), newLedger()
		q := l.queue("", 0)
		r := q
		r.Name = "r"
		a := c.start("a", q, r)
		defer a.stop()
		c.log = slog.New(slog.NewTextHandler(&text, nil))
		b := c.start("b", q)
		defer b.stop()
		time.Sleep(20 * time.Second)
		var tasks []*bellman.Task
		for i := range 64 {
			tasks = append(tasks, &bellman.Task{Queue: "r", Key: fmt.Sprint(i)})
		}
		adds := a.Prepare(tasks...)
		var ids, his []bellman.ID
		owns := c.owns()["b"]
		for i := range adds {
			adds[i].Task.Shard = uint16(i) // shards of both nodes
			ids = append(ids, tasks[i].ID)
		}
		if err := c.store.Commit(t.Context(), &store.Batch{Adds: adds}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(35*time.Minute + 3*time.Second)
		l.mu.Lock()
		for _, id := range ids {
			if len(l.times[id]) == 0 {
				his = append(his, id)
			}
		}
		l.mu.Unlock()
		if len(his) != owns || owns == 0 {
			t.Errorf("%d tasks of the unknown queue wait; want one for each of b's %d shards", len(his), owns)
		}
		if here, there := a.Gauges(t.Context()).Stray, b.Gauges(t.Context()).Stray; here != 0 || there != owns {
			t.Errorf("the gauge of stray tasks is %d at a and %d at b; want 0 and %d", here, there, owns)
		}
		said := func() int { return strings.Count(text.String(), "a queue that is not configured") }
		if said() != 4 || !strings.Contains(text.String(), fmt.Sprintf("queue=r waiting=%d oldest_due=", owns)) {
			t.Errorf("b logged %d times in 35 minutes that tasks wait; want 4:\n%s", said(), &text)
		}
		if err := b.SetQueues([]engine.Queue{q, r}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute)
		l.once(t, ids)
		if stray := b.Gauges(t.Context()).Stray; stray != 0 || said() != 4 {
			t.Errorf("after the queue was configured %d tasks are stray, and b logged it %d times; want 0, and still 4", stray, said())
		}
	})
}
