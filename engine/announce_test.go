package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A reluctant store fails or delays some of the transactions that announce attempts.
type reluctant struct {
	*memory.Store
	times   atomic.Int64
	unknown bool         // the commit is written, but the call fails at once; otherwise the commit takes longer than the node trusts its leases
	hanging atomic.Int64 // transactions that are still to be delayed
}

func (s *reluctant) Commit(ctx context.Context, b *store.Batch) error {
	for i := range b.Changes {
		if c := &b.Changes[i]; c.To.Phase != bellman.Announced || c.Attempt != nil || s.times.Add(-1) < 0 {
			continue
		}
		err := s.Store.Commit(ctx, b)
		if s.unknown {
			return errors.Join(bellman.ErrUnknown, err)
		}
		s.hanging.Add(1)
		defer s.hanging.Add(-1)
		time.Sleep(7 * time.Second)
		return err
	}
	return s.Store.Commit(ctx, b)
}

func (s *reluctant) Beat(ctx context.Context, node string) error {
	if s.hanging.Load() > 0 {
		return errors.New("too slow")
	}
	return s.Store.Beat(ctx, node)
}

// If the store is slow or its answer is lost, an announced attempt is not sent. Such an attempt is
// not logged and does not count as a death, because the node that announced it is alive.
func TestAnnouncedAndNotSent(t *testing.T) {
	for _, unknown := range []bool{false, true} {
		for _, times := range []int64{1, 3} {
			t.Run(fmt.Sprintf("unknown %t, %d times", unknown, times), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					kept := memory.New()
					dead := &mortal{kept, make(chan struct{})}
					l := newLedger()
					e, stop := run(t, dead, l.queue("n", 0))
					id := add(t, e, &bellman.Task{Queue: "q", Delay: time.Minute})
					close(dead.dead)
					stop()
					time.Sleep(2 * time.Minute)
					store := &reluctant{Store: kept, unknown: unknown}
					store.times.Store(times)
					_, stop = run(t, store, l.queue("n", 0))
					defer stop()
					time.Sleep(2 * time.Minute)
					l.once(t, []bellman.ID{id})
					if store.times.Load() == times {
						t.Error("no attempt was announced, so the test shows nothing")
					}
					if log := attempts(t, kept, id); len(log) != 1 || log[0].Result != bellman.Accepted || log[0].Trigger != bellman.ByTakeover {
						t.Errorf("log %+v; want one accepted attempt", log)
					}
				})
			})
		}
	}
}

// An attempt is announced while its queue is being paused. It is not sent, not logged, and does not
// count as a death.
func TestAnnouncedWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		dead := &mortal{kept, make(chan struct{})}
		l := newLedger()
		e, stop := run(t, dead, l.queue("n", 0))
		id := add(t, e, &bellman.Task{Queue: "q", Delay: time.Minute})
		close(dead.dead)
		stop()
		time.Sleep(2 * time.Minute)
		store := &reluctant{Store: kept}
		store.times.Store(1)
		e, stop = run(t, store, l.queue("n", 0))
		defer stop()
		time.Sleep(3 * time.Second) // the announcement is being committed
		go e.PauseQueue(context.WithoutCancel(t.Context()), "q", by)
		time.Sleep(time.Minute)
		if n := len(l.times[id]); n > 0 {
			t.Fatalf("%d attempts while the queue was paused; want none", n)
		}
		if log := attempts(t, kept, id); len(log) > 0 {
			t.Errorf("log %+v before the first attempt; want it empty", log)
		}
		if err := e.ResumeQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if log := attempts(t, kept, id); len(log) != 1 || log[0].Result != bellman.Accepted {
			t.Errorf("log %+v; want one accepted attempt", log)
		}
	})
}

// A musing store is slow to load tasks whose attempts have been announced.
type musing struct {
	store.Store
	announced atomic.Int64  // number of announced attempts
	read      chan struct{} // closed at the first slow load
}

func (s *musing) Commit(ctx context.Context, b *store.Batch) error {
	err := s.Store.Commit(ctx, b)
	if len(b.Changes) > 0 && b.Changes[0].To.Phase == bellman.Announced {
		s.announced.Add(int64(len(b.Changes)))
		time.Sleep(1500 * time.Millisecond) // long enough for the tasks to be loaded again
	}
	return err
}

func (s *musing) Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error) {
	if s.announced.Load() > 0 {
		<-s.read
	}
	return s.Store.Load(ctx, entries)
}

// An announced attempt is not sent because its shard moves to another node. It is not logged, and
// the new owner attempts the task at once. It does not count as a death when the new owner dies
// later.
func TestAnnouncedAndHandedOver(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("dies %t", dies), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, l := newCrew(t), newLedger()
				kept := c.store.(*memory.Store)
				dead := &mortal{kept, make(chan struct{})}
				queue := func(name string) engine.Queue {
					q := l.queue(name, 0)
					q.Timeout = 5 * time.Minute
					return q
				}
				e, stop := run(t, dead, queue("n"))
				var ids []bellman.ID
				for range 256 {
					ids = append(ids, add(t, e, &bellman.Task{Queue: "q", Endpoint: fmt.Sprint(len(ids)), Delay: time.Minute}))
				}
				close(dead.dead)
				stop()
				time.Sleep(2 * time.Minute)
				slow := &musing{Store: kept, read: make(chan struct{})}
				c.store = slow
				a := c.start("a", queue("a"))
				defer a.stop()
				time.Sleep(4 * time.Second)
				c.store = kept
				b := c.start("b", queue("b"))
				defer b.stop()
				if dies {
					if err := b.PauseQueue(t.Context(), "q", by); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Second) // some shards are moving to the new node
				close(slow.read)
				time.Sleep(20 * time.Second)
				if n := slow.announced.Load(); n == 0 {
					t.Error("no attempt was announced, so the test shows nothing")
				}
				if n := c.owns(); n["a"] == 0 || n["b"] == 0 {
					t.Errorf("shards per node %v; want some for each", n)
				}
				if dies {
					time.Sleep(10 * time.Minute)
					b.store.cut.Store(true)
					time.Sleep(20 * time.Second)
					if err := a.ResumeQueue(t.Context(), "q", by); err != nil {
						t.Fatal(err)
					}
					time.Sleep(20 * time.Second)
					b.store.cut.Store(false)
				}
				l.once(t, ids)
				for _, id := range ids {
					if log := attempts(t, kept, id); len(log) != 1 || log[0].Result != bellman.Accepted {
						t.Fatalf("log %+v; want one accepted attempt", log)
					}
				}
			})
		})
	}
}

// A tardy store does not say whether it wrote announcements, and writes them a moment later.
type tardy struct {
	store.Store
	until time.Time
	times atomic.Int64
}

func (s *tardy) Commit(ctx context.Context, b *store.Batch) error {
	if len(b.Changes) == 0 || b.Changes[0].To.Phase != bellman.Announced || time.Now().After(s.until) {
		return s.Store.Commit(ctx, b)
	}
	time.Sleep(1500 * time.Millisecond) // shards are left meanwhile
	late := &store.Batch{Leases: slices.Clone(b.Leases), Changes: slices.Clone(b.Changes)}
	go func() {
		time.Sleep(10 * time.Millisecond)
		if s.Store.Commit(context.WithoutCancel(ctx), late) == nil {
			s.times.Add(1)
		}
	}()
	return bellman.ErrUnknown
}

func (s *tardy) Release(ctx context.Context, node string, l store.Lease) error {
	time.Sleep(15 * time.Millisecond)
	return s.Store.Release(ctx, node, l)
}

// An announcement is written after its commit was given up, while its shard moves to another node.
// It is withdrawn before the shard is released: the new owner does not take it for an attempt.
func TestAnnouncedAfterUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		kept := c.store
		dead := &mortal{kept.(*memory.Store), make(chan struct{})}
		e, stop := run(t, dead, l.queue("n", 0))
		var ids []bellman.ID
		for range 256 {
			ids = append(ids, add(t, e, &bellman.Task{Queue: "q", Endpoint: fmt.Sprint(len(ids)), Delay: time.Minute}))
		}
		close(dead.dead)
		stop()
		time.Sleep(2 * time.Minute)
		late := &tardy{Store: kept, until: time.Now().Add(12 * time.Second)}
		c.store = late
		a := c.start("a", l.queue("a", 0))
		defer a.stop()
		time.Sleep(500 * time.Millisecond) // the first announcements are being committed
		c.store = kept
		b := c.start("b", l.queue("b", 0))
		defer b.stop()
		time.Sleep(2 * time.Minute)
		if late.times.Load() == 0 {
			t.Error("no announcement was written late, so the test shows nothing")
		}
		if n := c.owns(); n["a"] == 0 || n["b"] == 0 {
			t.Errorf("shards per node %v; want some for each", n)
		}
		l.once(t, ids)
		for _, id := range ids {
			if log := attempts(t, kept, id); len(log) != 1 || log[0].Result != bellman.Accepted {
				t.Fatalf("log %+v; want one accepted attempt", log)
			}
		}
	})
}

// A crammed store is exclusive, rejects every commit, and says at once that it is full.
type crammed struct {
	*memory.Store
	full    atomic.Bool
	commits atomic.Int64
}

func (s *crammed) Use() store.Use { return store.Use{Exclusive: true} }

func (s *crammed) Commit(ctx context.Context, b *store.Batch) error {
	if s.commits.Add(1); s.full.Load() {
		time.Sleep(time.Millisecond)
		return bellman.ErrFull
	}
	return s.Store.Commit(ctx, b)
}

// While the store is full, no attempt of a suspect can be announced. The engine retries with
// growing pauses, not as fast as the store rejects the commits.
func TestAnnouncedOnFullStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		dead := &mortal{kept, make(chan struct{})}
		l := newLedger()
		e, stop := run(t, dead, l.queue("n", 0))
		var ids []bellman.ID
		for range 50 {
			ids = append(ids, add(t, e, &bellman.Task{Queue: "q", Delay: time.Minute}))
		}
		close(dead.dead)
		stop()
		time.Sleep(2 * time.Minute)
		store := &crammed{Store: kept}
		store.full.Store(true)
		_, stop = run(t, store, l.queue("n", 0))
		defer stop()
		time.Sleep(time.Minute)
		if n := store.commits.Load(); n < 10 || n > 100 {
			t.Errorf("%d commits were tried in a minute; want 10 to 100", n)
		}
		store.full.Store(false)
		time.Sleep(5 * time.Second)
		l.once(t, ids)
	})
}
