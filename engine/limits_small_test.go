package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// small is a hundredth of the default limits.
var small = engine.Limits{Line: 40, Lines: 650, Pending: 160, Agenda: 1000, Page: 20, Chunk: 3, Uncommitted: 80, Batch: 8, Changed: 10}

// sized is the default limits. Under the race detector it is a tenth of them, for tests with a
// tenth of the tasks.
var sized = engine.Limits{Line: 4096 / fewer, Lines: 65_536 / fewer, Pending: 16_000 / fewer, Agenda: 100_000 / fewer, Page: 2000 / fewer,
	Chunk: 256 / fewer, Uncommitted: 8192 / fewer, Batch: 512 / fewer}

// An exclusive store is written by one engine alone, like the embedded store. The engine does not
// look for changes of others each second.
type exclusive struct{ *memory.Store }

func (exclusive) Use() store.Use { return store.Use{Exclusive: true} }

// runSmall starts an engine with small limits and a small pool.
func runSmall(t *testing.T, store store.Store, queues ...engine.Queue) (*engine.Engine, func()) {
	t.Helper()
	return runWith(t, engine.Options{Store: store, Queues: queues, MaxInFlight: 20, PoolFloor: 2, Limits: small})
}

// An exclusive store has one engine at a time. Two would share its shards, and neither would look
// for the tasks that the other adds.
func TestSecondEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, r := exclusive{memory.New()}, &receiver{answer: accept}
		queue := engine.Queue{Name: "q", Handler: r}
		first, stop := run(t, store, queue)
		time.Sleep(time.Minute)
		second, err := engine.New(engine.Options{Store: store, Queues: []engine.Queue{queue}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := second.Run(ctx); err == nil || !strings.Contains(err.Error(), "another engine uses this store") {
			t.Errorf("Run of the second engine: %v; want an error that says so", err)
		}
		add(t, first, &bellman.Task{Queue: "q"})
		stop()
		third, stop := run(t, store, queue)
		defer stop()
		add(t, third, &bellman.Task{Queue: "q"})
		time.Sleep(time.Second)
		if n := len(r.times()); n != 2 {
			t.Errorf("%d attempts; want one of each task", n)
		}
	})
}

// With small limits each task is attempted once, because tasks that find no room in memory wait on
// disk.
func TestSmallLimits(t *testing.T) {
	for _, sole := range []bool{false, true} {
		t.Run(fmt.Sprintf("sole %t", sole), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var store store.Store = memory.New()
				if sole {
					store = exclusive{store.(*memory.Store)}
				}
				l := newLedger()
				q := l.queue("n", 20*time.Millisecond)
				q.EndpointConcurrency = 8
				e, stop := runSmall(t, store, q)
				defer stop()
				var ids []bellman.ID
				for i := range max(4000/fewer, 1000) {
					task := &bellman.Task{Queue: "q", Endpoint: fmt.Sprintf("http://%d", i%7)}
					if i%4 == 0 {
						task.Delay = 30 * time.Second
					}
					ids = append(ids, add(t, e, task))
				}
				time.Sleep(20 * time.Minute)
				l.once(t, ids)
			})
		})
	}
}

// Due tasks find room however many tasks wait for their time. Tasks that are all due at one moment
// minutes ahead, such as retries of a busy time, do not fill the agenda.
func TestSmallLimitsLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		e, stop := runSmall(t, exclusive{memory.New()}, l.queue("n", 0))
		defer stop()
		var ids []bellman.ID
		for i := range 3 * small.Agenda {
			ids = append(ids, add(t, e, &bellman.Task{Queue: "q", Endpoint: fmt.Sprintf("http://%d", i%100), Delay: 4 * time.Minute}))
		}
		for i := range 200 {
			ids = append(ids, add(t, e, &bellman.Task{Queue: "q", Endpoint: fmt.Sprintf("http://%d", i%100), Delay: 10 * time.Second}))
		}
		time.Sleep(3 * time.Minute)
		l.once(t, ids[3*small.Agenda:])
		l.mu.Lock()
		late := l.late
		l.mu.Unlock()
		if late > time.Second {
			t.Errorf("a task was %v late while others waited for their time; want at most 1s", late)
		}
		time.Sleep(5 * time.Minute)
		l.once(t, ids)
	})
}

// A sluggish store delays each commit.
type sluggish struct{ changing }

func (s *sluggish) Use() store.Use { return store.Use{Exclusive: true} }

func (s *sluggish) Commit(ctx context.Context, b *store.Batch) error {
	time.Sleep(25 * time.Millisecond)
	return s.changing.Commit(ctx, b)
}

// When a pause ends, its deferred tasks come back as fast as their line sends. A task that finds no
// room in the line is deferred once more, not again and again.
func TestSmallLimitsResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, db := newLedger(), &sluggish{changing{Store: memory.New()}}
		q := l.queue("n", time.Second)
		q.EndpointConcurrency = 4
		e, stop := runSmall(t, db, q)
		defer stop()
		if err := e.PauseQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		var ids []bellman.ID
		for range 40 {
			var tasks []*bellman.Task
			for range 10 {
				tasks = append(tasks, &bellman.Task{Queue: "q", Endpoint: "http://a"})
			}
			for _, a := range e.Add(t.Context(), tasks...) {
				ids = append(ids, a.ID)
			}
		}
		paused := db.changes.Load()
		if err := e.ResumeQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Minute)
		l.once(t, ids)
		if n := db.changes.Load() - paused; paused > 400 || n > 400+100 {
			t.Errorf("%d changes while the queue of 400 tasks was paused, and %d after that; want at most 400, and then the outcomes and few others", paused, n)
		}
	})
}

// An unreadable store fails to load tasks while it is told to.
type unreadable struct {
	exclusive
	fails atomic.Bool
}

func (s *unreadable) Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error) {
	if s.fails.Load() {
		return nil, errors.New("the connection broke")
	}
	return s.exclusive.Load(ctx, entries)
}

// If deferred tasks cannot be read when a pause ends, they are read again a second later, not
// minutes later at their VisibleAt.
func TestSmallLimitsUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, db := newLedger(), &unreadable{exclusive: exclusive{memory.New()}}
		e, stop := runSmall(t, db, l.queue("n", 0))
		defer stop()
		if err := e.PauseQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		var ids []bellman.ID
		for range 100 {
			ids = append(ids, add(t, e, &bellman.Task{Queue: "q", Endpoint: "http://a"}))
		}
		time.Sleep(10 * time.Second)
		db.fails.Store(true)
		if err := e.ResumeQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		db.fails.Store(false)
		time.Sleep(10 * time.Second)
		l.once(t, ids)
	})
}

// An invalid pool size is rejected, at the start and later, and changes nothing.
func TestSetPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, o := range []engine.Options{{PoolFloor: -1}, {PoolFloor: 100, MaxInFlight: 99}, {MaxInFlight: -1}} {
			o.Store, o.Queues = memory.New(), []engine.Queue{{Name: "q", Handler: &receiver{answer: accept}}}
			if _, err := engine.New(o); err == nil {
				t.Errorf("New() with a pool from %d to %d: no error", o.PoolFloor, o.MaxInFlight)
			}
		}
		l := newLedger()
		e, stop := run(t, memory.New(), l.queue("n", time.Hour))
		defer stop()
		for i := range 100 {
			add(t, e, &bellman.Task{Queue: "q", Endpoint: fmt.Sprintf("http://%d", i)})
		}
		time.Sleep(time.Second)
		if g := e.Gauges(t.Context()); g.PoolFloor != 64 || g.PoolCeiling != 2048 || g.InFlight != 100 {
			t.Errorf("%d in flight with a pool from %d to %d; want 100, 64, 2048", g.InFlight, g.PoolFloor, g.PoolCeiling)
		}
		for _, pool := range [][2]int{{-1, 8}, {9, 8}, {-1, -1}} {
			if err := e.SetPool(pool[0], pool[1]); err == nil {
				t.Errorf("SetPool(%d, %d): no error", pool[0], pool[1])
			}
		}
		if err := e.SetPool(7, 80); err != nil {
			t.Fatal(err)
		}
		add(t, e, &bellman.Task{Queue: "q", Endpoint: "http://last"})
		time.Sleep(time.Second)
		if g := e.Gauges(t.Context()); g.PoolFloor != 7 || g.PoolCeiling != 80 || g.InFlight != 100 || g.Waiting != 1 {
			t.Errorf("%d in flight, %d waiting, with a pool from %d to %d; want 100, 1, 7, 80", g.InFlight, g.Waiting, g.PoolFloor, g.PoolCeiling)
		}
		if err := e.SetPool(7, 2048); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if g := e.Gauges(t.Context()); g.InFlight != 101 || g.Waiting != 0 {
			t.Errorf("%d in flight and %d waiting after the pool grew; want 101, 0", g.InFlight, g.Waiting)
		}
	})
}
