package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A reluctant store has trouble with the transactions that announce attempts, some times.
type reluctant struct {
	*memory.Store
	times   atomic.Int64
	unknown bool         // the answer is lost at once; otherwise it takes longer than the node trusts its leases
	hanging atomic.Int64 // transactions that take long now
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

// An attempt that was announced and never sent, since the store took too long or its answer was lost,
// is none in the log, and does not count as a death: the node that announced it lives.
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
						t.Error("nothing was announced")
					}
					if log := attempts(t, kept, id); len(log) != 1 || log[0].Result != bellman.Accepted || log[0].Trigger != bellman.ByTakeover {
						t.Errorf("%+v; want one attempt, which was accepted", log)
					}
				})
			})
		}
	}
}

// The same holds for a task that is set aside, since its queue is paused while its attempt is announced.
func TestAnnouncedAndSetAside(t *testing.T) {
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
		time.Sleep(3 * time.Second) // it is being announced
		go e.PauseQueue(context.WithoutCancel(t.Context()), "q", by)
		time.Sleep(time.Minute)
		if n := len(l.times[id]); n > 0 {
			t.Fatalf("%d attempts in a pause", n)
		}
		if log := attempts(t, kept, id); len(log) > 0 {
			t.Errorf("%+v before an attempt was made; want none", log)
		}
		if err := e.ResumeQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if log := attempts(t, kept, id); len(log) != 1 || log[0].Result != bellman.Accepted {
			t.Errorf("%+v; want one attempt, which was accepted", log)
		}
	})
}

// A musing store takes long to say what tasks are whose attempts have been announced.
type musing struct {
	store.Store
	announced atomic.Int64  // attempts
	read      chan struct{} // closed when it says so
}

func (s *musing) Commit(ctx context.Context, b *store.Batch) error {
	err := s.Store.Commit(ctx, b)
	if len(b.Changes) > 0 && b.Changes[0].To.Phase == bellman.Announced {
		s.announced.Add(int64(len(b.Changes)))
		time.Sleep(1500 * time.Millisecond) // long enough for the tasks to be read again
	}
	return err
}

func (s *musing) Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error) {
	if s.announced.Load() > 0 {
		<-s.read
	}
	return s.Store.Load(ctx, entries)
}

// An attempt that was announced, and not sent before its shard was given to another node, is none in
// the log, and that node makes it at once. Nor does it count when that node dies later.
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
				time.Sleep(time.Second) // it is being given some shards
				close(slow.read)
				time.Sleep(20 * time.Second)
				if n := slow.announced.Load(); n == 0 {
					t.Error("nothing was announced")
				}
				if n := c.owns(); n["a"] == 0 || n["b"] == 0 {
					t.Errorf("shards are %v's, want both to have some", n)
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
						t.Fatalf("%+v; want one attempt, which was accepted", log)
					}
				}
			})
		})
	}
}

// A crammed store is an exclusive one that takes nothing at all, and says at once that it is full.
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

// While nothing can be announced because the store is full, a suspect is tried again after growing
// pauses, and not as fast as the store refuses it.
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
