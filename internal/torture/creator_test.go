package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/eventually"
)

// A creator creates tasks, one by one and in batches, and keeps a ledger of accepted tasks. It
// repeats requests without an answer at another node, which is safe with the same keys.
type creator struct {
	name  string
	url   string // URL of the receiver
	nodes []*node
	dice  *rand.Rand

	made     int
	open     []client.CreateTask // requests without an answer
	asked    int                 // number of requests without an answer or with an error
	accepted map[string]receipt  // by task id
	wrong    []string            // answers that violate a promise
}

// A receipt is what is known of an accepted task.
type receipt struct {
	key string
	at  time.Time // time of the answer
}

func newCreator(number int, url string, nodes []*node, dice *rand.Rand) *creator {
	return &creator{name: fmt.Sprintf("creator-%d", number), url: url, nodes: nodes, dice: rand.New(rand.NewPCG(dice.Uint64(), 0)), accepted: map[string]receipt{}}
}

// pace is how long a creator waits between requests.
const pace = 40 * time.Millisecond

// load creates tasks until ctx ends.
func (c *creator) load(ctx context.Context) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if len(c.open) == 0 {
			c.next()
		}
		c.ask(ctx)
	}
}

// next makes up tasks. Some are due later, so that every owner of a shard has waiting tasks.
func (c *creator) next() {
	for range 1 + c.dice.IntN(2)*c.dice.IntN(12) {
		c.made++
		task := client.CreateTask{
			Queue: "default", Key: fmt.Sprintf("%s/%d", c.name, c.made), URL: c.url,
			JSON: fmt.Appendf(nil, `{"n":%d}`, c.made), Schedule: "0s, 100ms*5, 500ms*400",
		}
		if c.made%4 == 0 {
			task.Delay = fmt.Sprintf("%dms", c.dice.IntN(8000))
		}
		c.open = append(c.open, task)
	}
}

// ask sends the open requests to a node, and records which tasks it accepted.
func (c *creator) ask(ctx context.Context) {
	to := c.nodes[c.dice.IntN(len(c.nodes))]
	results, err := to.client.CreateBatch(ctx, c.open)
	switch status := client.StatusOf(err); {
	case err == nil:
	case status == 0, status == 429, status >= 500: // no answer, or the node says that it cannot
		c.asked++
		return
	default:
		c.wrong = append(c.wrong, fmt.Sprintf("%s: node %d refused: %v", c.name, to.number, err))
		return
	}
	left := c.open[:0:0]
	for i, r := range results {
		switch {
		case r.Error == nil:
			c.accepted[r.Task.ID] = receipt{c.open[i].Key, time.Now()}
		case r.Error.Status == 429, r.Error.Status >= 500:
			left = append(left, c.open[i])
		default:
			c.wrong = append(c.wrong, fmt.Sprintf("%s: node %d refused task %s: %v", c.name, to.number, c.open[i].Key, r.Error))
		}
	}
	c.open = left
}

// finish repeats requests until none is open.
func (c *creator) finish(t testing.TB) {
	eventually.True(t, "accepted: what "+c.name+" asked for", func() bool {
		if len(c.open) > 0 {
			c.ask(t.Context())
		}
		return len(c.open) == 0
	})
}

// creators is a number of creators at work.
type creators struct {
	each []*creator
	stop context.CancelFunc
	work sync.WaitGroup
}

func create(t testing.TB, n int, url string, nodes []*node, dice *rand.Rand) *creators {
	ctx, stop := context.WithCancel(t.Context())
	c := &creators{stop: stop}
	for i := range n {
		one := newCreator(i, url, nodes, dice)
		c.each = append(c.each, one)
		c.work.Go(func() { one.load(ctx) })
	}
	t.Cleanup(func() {
		stop()
		c.work.Wait()
	})
	return c
}

// finish stops the load, repeats open requests, and returns the ledger.
func (c *creators) finish(t testing.TB) map[string]receipt {
	t.Helper()
	c.stop()
	c.work.Wait()
	ledger := map[string]receipt{}
	keys := map[string]string{}
	for _, one := range c.each {
		one.finish(t)
		for _, text := range one.wrong {
			t.Error(text)
		}
		for id, r := range one.accepted {
			ledger[id] = r
			if other, twice := keys[r.key]; twice {
				t.Errorf("key %s was accepted as task %s and as task %s", r.key, other, id)
			}
			keys[r.key] = id
		}
	}
	return ledger
}
