package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A member is one node of several on one store. It can be cut off from the store.
type member struct {
	*engine.Engine
	name  string
	store *wire
	stop  func()
}

// A wire is a node's connection to the store. While it is cut, calls fail at once and nothing is
// written.
type wire struct {
	store.Store
	cut atomic.Bool

	swallow atomic.Int64 // number of coming heartbeats that are never answered

	takeovers atomic.Int64 // shards claimed from another node that had not released them

	// stalled returns until when the store accepts no writes; they wait. Nil: it accepts them.
	stalled func() time.Time
}

// stall waits while the store accepts no writes.
func (w *wire) stall(ctx context.Context) error {
	if w.stalled == nil {
		return nil
	}
	select {
	case <-time.After(time.Until(w.stalled())):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *wire) under() store.Store {
	if w.cut.Load() {
		return nil
	}
	return w.Store
}

var errCut = errors.New("no route to the store")

func (w *wire) Commit(ctx context.Context, b *store.Batch) error {
	if w.cut.Load() {
		return errCut
	}
	if err := w.stall(ctx); err != nil {
		return err
	}
	return w.Store.Commit(ctx, b)
}

func (w *wire) Due(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, buf []store.Entry) ([]store.Entry, error) {
	if w.cut.Load() {
		return buf, errCut
	}
	return w.Store.Due(ctx, shards, from, to, limit, buf)
}

func (w *wire) Beat(ctx context.Context, node string) error {
	if w.cut.Load() {
		return errCut
	}
	if w.swallow.Add(-1) >= 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	if err := w.stall(ctx); err != nil {
		return err
	}
	return w.Store.Beat(ctx, node)
}

func (w *wire) Claim(ctx context.Context, node string, shard uint16, seen int64) (store.Lease, error) {
	if w.cut.Load() {
		return store.Lease{}, errCut
	}
	if err := w.stall(ctx); err != nil {
		return store.Lease{}, err
	}
	state, err := w.State(ctx, "")
	if err != nil {
		return store.Lease{}, err
	}
	lease, err := w.Store.Claim(ctx, node, shard, seen)
	was, _, _ := strings.Cut(state.Shards[shard].Owner, "/")
	if self, _, _ := strings.Cut(node, "/"); err == nil && was != "" && was != self {
		w.takeovers.Add(1)
	}
	return lease, err
}

func (w *wire) Join(ctx context.Context, n store.Node, ttl time.Duration) error {
	if w.cut.Load() {
		return errCut
	}
	if err := w.stall(ctx); err != nil {
		return err
	}
	return w.Store.Join(ctx, n, ttl)
}

func (w *wire) Leave(ctx context.Context, node string) error {
	if w.cut.Load() {
		return errCut
	}
	return w.Store.Leave(ctx, node)
}

func (w *wire) Release(ctx context.Context, node string, l store.Lease) error {
	if w.cut.Load() {
		return errCut
	}
	return w.Store.Release(ctx, node, l)
}

func (w *wire) State(ctx context.Context, kind string) (store.State, error) {
	if w.cut.Load() {
		return store.State{}, errCut
	}
	return w.Store.State(ctx, kind)
}

func (w *wire) Task(ctx context.Context, id bellman.ID) (*bellman.Task, error) {
	if w.cut.Load() {
		return nil, errCut
	}
	return w.Store.Task(ctx, id)
}

func (w *wire) Chain(ctx context.Context, queue, orderingKey string, id bellman.ID, limit int) (store.Chain, error) {
	if w.cut.Load() {
		return store.Chain{}, errCut
	}
	return w.Store.Chain(ctx, queue, orderingKey, id, limit)
}

func (w *wire) Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error) {
	if w.cut.Load() {
		return nil, errCut
	}
	return w.Store.Load(ctx, entries)
}

// A crew is several nodes on one store in the bubble of a test. The nodes send each other hints
// unless the crew is deaf.
type crew struct {
	t      *testing.T
	store  store.Store
	deaf   bool
	limits engine.Limits    // of nodes started from now on
	log    *slog.Logger     // of nodes started from now on; nil: no log
	wall   func() time.Time // of nodes started from now on; nil: time.Now

	stalled func() time.Time // until when the store accepts no writes of nodes started from now on; nil: it accepts them

	// lose may change a hint on its way; it returns true if the hint is lost. Nil: all hints
	// arrive.
	lose func(addr string, h *engine.Hint) bool

	mu      sync.Mutex
	members map[string]*member
	ahead   map[string]time.Duration // of the wall clocks that nodes report, by address
}

func newCrew(t *testing.T) *crew {
	return &crew{t: t, store: memory.New(), members: make(map[string]*member)}
}

// start starts a node named name and adds it to the crew.
func (c *crew) start(name string, queues ...engine.Queue) *member {
	c.t.Helper()
	m := &member{name: name, store: &wire{Store: c.store, stalled: c.stalled}}
	o := engine.Options{Store: m.store, Queues: queues, Node: name, Addr: name, Limits: c.limits, Wall: c.wall, Logger: cmp.Or(c.log, slog.New(slog.DiscardHandler))}
	if !c.deaf {
		o.Hint, o.Ask = c.tell, c.ask
	}
	var err error
	if m.Engine, err = engine.New(o); err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	c.members[name] = m
	c.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	checked := checkAgenda(c.t, m.Engine, m.store, 70*time.Second) // a sweep finds at last what other nodes did
	m.stop = sync.OnceFunc(func() {
		checked()
		cancel()
		if err := <-ended; err != nil {
			c.t.Errorf("Run of %s: %v", name, err)
		}
		c.mu.Lock()
		delete(c.members, name)
		c.mu.Unlock()
	})
	for _, ok := m.Resumed(); !ok; _, ok = m.Resumed() {
		time.Sleep(time.Millisecond)
	}
	return m
}

func (c *crew) tell(_ context.Context, addr string, h engine.Hint) {
	time.Sleep(2 * time.Millisecond)
	c.mu.Lock()
	m := c.members[addr]
	c.mu.Unlock()
	if m != nil && (c.lose == nil || !c.lose(addr, &h)) {
		m.Hinted(h)
	}
}

// ask is how one node asks another for its figures. A node that is cut off does not answer.
func (c *crew) ask(ctx context.Context, addr string, ask figures.Ask) (engine.Report, error) {
	time.Sleep(2 * time.Millisecond)
	c.mu.Lock()
	m := c.members[addr]
	c.mu.Unlock()
	if m == nil || m.store.cut.Load() {
		<-ctx.Done()
		return engine.Report{}, ctx.Err()
	}
	r := m.Report(ctx, ask)
	r.Wall = r.Wall.Add(c.ahead[addr])
	return r, nil
}

// owns returns the number of shards by node. The name "" stands for shards without an owner.
func (c *crew) owns() map[string]int {
	c.t.Helper()
	state, err := c.store.State(c.t.Context(), "")
	if err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := make(map[string]int)
	for _, s := range state.Shards {
		owner := s.Owner
		for name := range c.members {
			if len(owner) > len(name) && owner[:len(name)+1] == name+"/" {
				owner = name
			}
		}
		n[owner]++
	}
	return n
}

// A ledger records when each task was attempted, and how many attempts of a task overlapped.
type ledger struct {
	mu     sync.Mutex
	times  map[bellman.ID][]time.Time
	by     map[bellman.ID][]string
	flying map[bellman.ID]int
	over   int // attempts that overlapped another attempt of the same task
	late   time.Duration
}

func newLedger() *ledger {
	return &ledger{times: make(map[bellman.ID][]time.Time), by: make(map[bellman.ID][]string), flying: make(map[bellman.ID]int)}
}

// queue returns a queue whose attempts last took and are recorded in the ledger.
func (l *ledger) queue(node string, took time.Duration) engine.Queue {
	return engine.Queue{Name: "q", Handler: bellman.HandlerFunc(func(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
		l.mu.Lock()
		l.times[t.ID] = append(l.times[t.ID], time.Now())
		l.by[t.ID] = append(l.by[t.ID], node)
		l.late = max(l.late, time.Since(t.Due))
		if l.flying[t.ID]++; l.flying[t.ID] > 1 {
			l.over++
		}
		l.mu.Unlock()
		time.Sleep(took)
		l.mu.Lock()
		l.flying[t.ID]--
		l.mu.Unlock()
		return bellman.Verdict{Next: bellman.Succeed}
	})}
}

// once fails the test unless each of the tasks was attempted exactly once.
func (l *ledger) once(t *testing.T, ids []bellman.ID) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	none, more := 0, 0
	for _, id := range ids {
		switch n := len(l.times[id]); {
		case n == 0:
			none++
		case n > 1:
			more++
		}
	}
	if none > 0 || more > 0 {
		t.Errorf("of %d tasks %d were not attempted, and %d more than once; want each once", len(ids), none, more)
	}
}

// Three nodes share the shards, and each task is attempted once. A node that stops hands its shards
// over without a late task; so does a rolling restart of all three.
func TestCrewSharesAndHandsOver(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprintf("deaf %t", deaf), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, l := newCrew(t), newLedger()
				c.deaf = deaf
				names := []string{"a", "b", "c"}
				nodes := make(map[string]*member)
				for _, name := range names {
					nodes[name] = c.start(name, l.queue(name, 20*time.Millisecond))
				}
				time.Sleep(20 * time.Second) // few shards move per second
				for _, name := range names {
					if n := c.owns()[name]; n < 8 || n > 40 {
						t.Errorf("%s owns %d of 64 shards; want about a third: %v", name, n, c.owns())
					}
				}
				var ids []bellman.ID
				load := func(d time.Duration) {
					for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * min(fewer, 4) * time.Millisecond) {
						m := nodes[names[len(ids)%3]]
						added := m.Add(t.Context(), &bellman.Task{Queue: "q", Delay: time.Duration(len(ids)%7) * 300 * time.Millisecond})[0]
						for i := 0; errors.Is(added.Err, bellman.ErrClosed); i++ {
							added = nodes[names[i%3]].Add(t.Context(), &bellman.Task{Queue: "q"})[0]
						}
						if added.Err != nil {
							t.Fatal(added.Err)
						}
						ids = append(ids, added.ID)
					}
				}
				load(2 * time.Second)
				for _, name := range names {
					go nodes[name].stop()
					load(3 * time.Second)
					nodes[name] = c.start(name, l.queue(name, 20*time.Millisecond))
					load(10 * time.Second)
				}
				time.Sleep(10 * time.Second)
				for _, m := range nodes {
					defer m.stop()
				}
				l.once(t, ids)
				most := 500 * time.Millisecond
				if deaf {
					most = 3 * time.Second
				}
				if l.late > most {
					t.Errorf("a task was %v late; want at most %v", l.late, most)
				}
				t.Logf("late %v, owns %v", l.late, c.owns())
			})
		})
	}
}

// Long attempts do not delay the other tasks of their shards when the shards move. They are not
// repeated, and their outcomes are recorded.
func TestCrewHandsOverSlowAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		slow := l.queue("", 4*time.Second)
		slow.Name, slow.Schedule = "slow", "0s, 20s"
		quick := func(name string) engine.Queue { return l.queue(name, 20*time.Millisecond) }
		again := slow.Handler
		slow.Handler = bellman.HandlerFunc(func(ctx context.Context, task *bellman.Task, n int) bellman.Verdict {
			v := again.Attempt(ctx, task, n)
			if n == 1 {
				v.Next = bellman.Again
			}
			return v
		})
		a := c.start("a", slow, quick("a"))
		b := c.start("b", slow, quick("b"))
		defer b.stop()
		var quicks, slows []bellman.ID
		for i := range 2000 { // while shards move from a to b, and later when a stops
			if i == 1500 {
				go a.stop()
			}
			m := b
			if i < 1400 {
				m = a
			}
			quicks = append(quicks, add(t, m.Engine, &bellman.Task{Queue: "q", Delay: time.Duration(i%10) * 100 * time.Millisecond}))
			if i < 1400 && i%10 == 0 {
				slows = append(slows, add(t, m.Engine, &bellman.Task{Queue: "slow", Endpoint: fmt.Sprint(i)}))
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		l.once(t, quicks)
		if l.late > 500*time.Millisecond {
			t.Errorf("a task was %v late; want at most 500ms", l.late)
		}
		for _, id := range slows {
			task, log := get(t, c.store, id), attempts(t, c.store, id)
			if task.State != bellman.Succeeded || len(log) != 2 || len(l.times[id]) != 2 {
				t.Errorf("slow task: %v, attempted at %v, log %+v; want succeeded at the second attempt", task.State, l.times[id], log)
			} else if gap := l.times[id][1].Sub(l.times[id][0]); gap < 20*time.Second || gap > 20500*time.Millisecond {
				t.Errorf("the second attempt of a slow task came after %v; want 20s", gap)
			}
		}
		if l.over > 0 {
			t.Errorf("%d attempts overlapped another attempt of their task; want none", l.over)
		}
	})
}

// When a node dies, the others attempt its tasks within 3.5 s. The last writes of the dead
// node do not mix with theirs.
func TestCrewTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		a := c.start("a", l.queue("a", 20*time.Millisecond))
		b := c.start("b", l.queue("b", 20*time.Millisecond))
		d := c.start("d", l.queue("d", 20*time.Millisecond))
		defer b.stop()
		defer d.stop()
		time.Sleep(20 * time.Second)
		var ids []bellman.ID
		for i := range 3000 { // due throughout the time around the death
			ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q", Delay: 5*time.Second + time.Duration(i)*5*time.Millisecond}))
		}
		time.Sleep(10 * time.Second)
		a.store.cut.Store(true) // it goes on running, but cannot reach the store
		died := time.Now()
		time.Sleep(20 * time.Second)
		if n := c.owns()["a"]; n != 0 {
			t.Errorf("the dead node still owns %d shards", n)
		}
		l.mu.Lock()
		missing, twice := 0, 0
		for _, id := range ids {
			if len(l.times[id]) == 0 {
				missing++
			}
			if len(l.times[id]) > 1 {
				twice++
			}
			for i, at := range l.times[id] {
				if l.by[id][i] == "a" && at.Sub(died) > store.LeaseTTL {
					t.Errorf("node a attempted a task %v after it was cut off", at.Sub(died))
				}
			}
		}
		if l.late > 3500*time.Millisecond || l.late < 1500*time.Millisecond || missing > 0 {
			t.Errorf("an attempt was %v late, and %d tasks were not attempted; want at most 3.5s, and none", l.late, missing)
		}
		t.Logf("late %v, twice %d", l.late, twice)
		if twice > 200 {
			t.Errorf("%d tasks were attempted twice; want only those in flight or not yet recorded at the death", twice)
		}
		l.mu.Unlock()
		a.store.cut.Store(false)
		time.Sleep(30 * time.Second)
		if n := c.owns()["a"]; n < 8 {
			t.Errorf("the node that came back owns %d shards; want about a third", n)
		}
		a.stop()
		for _, id := range ids {
			if task := get(t, c.store, id); task.State != bellman.Succeeded {
				t.Errorf("task %s is %v", id, task.State)
			}
		}
	})
}
