package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// dieWith runs a node that dies while a task of its paused queue is due.
func dieWith(t *testing.T, kept *memory.Store, q engine.Queue) bellman.ID {
	t.Helper()
	dying := &mortal{kept, make(chan struct{})}
	e, stop := run(t, dying, q)
	if err := e.PauseQueue(t.Context(), q.Name, by); err != nil {
		t.Fatal(err)
	}
	id := add(t, e, &bellman.Task{Queue: q.Name})
	time.Sleep(time.Second)
	close(dying.dead)
	stop()
	return id
}

// An unanswered store loses the answer to the first claim of one shard.
type unanswered struct {
	*memory.Store
	shard uint16
	once  sync.Once
	lost  chan struct{} // closed then
}

func (s *unanswered) Claim(ctx context.Context, node string, shard uint16, seen int64) (store.Lease, error) {
	l, err := s.Store.Claim(ctx, node, shard, seen)
	if err == nil && shard == s.shard {
		s.once.Do(func() {
			close(s.lost)
			l, err = store.Lease{}, errors.New("the answer was lost")
		})
	}
	return l, err
}

// An overtaken store gives up the first claim of one shard. That claim arrives just before the next
// one.
type overtaken struct {
	*memory.Store
	shard uint16
	times int
}

func (s *overtaken) Claim(ctx context.Context, node string, shard uint16, seen int64) (store.Lease, error) {
	if shard == s.shard {
		switch s.times++; s.times {
		case 1:
			return store.Lease{}, errors.New("no answer")
		case 2:
			if _, err := s.Store.Claim(ctx, node, shard, seen); err != nil {
				return store.Lease{}, err
			}
		}
	}
	return s.Store.Claim(ctx, node, shard, seen)
}

// While it is cut, a store tells no state until the node joins again.
type cutUntilJoined struct {
	store.Store
	cut atomic.Bool
}

func (s *cutUntilJoined) State(ctx context.Context, kind string) (store.State, error) {
	if s.cut.Load() {
		return store.State{}, errCut
	}
	return s.Store.State(ctx, kind)
}

func (s *cutUntilJoined) Join(ctx context.Context, n store.Node, ttl time.Duration) error {
	err := s.Store.Join(ctx, n, ttl)
	if err == nil {
		s.cut.Store(false)
	}
	return err
}

// A node dies, and a task that was due then waits in a paused queue. When it is attempted at last,
// the attempt is announced, however often the task's shard has changed its owner meanwhile.
func TestDeathIsRemembered(t *testing.T) {
	q := engine.Queue{Name: "q", Handler: &receiver{answer: accept}}
	resume := func(t *testing.T, e *engine.Engine) {
		t.Helper()
		if err := e.ResumeQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
	}
	restart := func(t *testing.T, s store.Store) {
		t.Helper()
		_, stop := run(t, s, q)
		time.Sleep(10 * time.Second)
		stop()
	}
	for name, course := range map[string]func(t *testing.T, kept *memory.Store, shard uint16){
		"two restarts": func(t *testing.T, kept *memory.Store, _ uint16) {
			time.Sleep(time.Minute) // until the dead node's registration expires
			restart(t, kept)
			restart(t, kept)
			e, stop := run(t, kept, q)
			defer stop()
			resume(t, e)
		},
		"handed over": func(t *testing.T, kept *memory.Store, _ uint16) {
			time.Sleep(time.Minute)
			c := newCrew(t)
			c.store = kept
			a := c.start("a", q)
			time.Sleep(10 * time.Second)
			b := c.start("b", q)
			time.Sleep(20 * time.Second)
			a.stop()
			time.Sleep(10 * time.Second)
			defer b.stop()
			resume(t, b.Engine)
		},
		"a claim without an answer": func(t *testing.T, kept *memory.Store, shard uint16) {
			e, stop := run(t, &unanswered{Store: kept, shard: shard, lost: make(chan struct{})}, q)
			defer stop()
			time.Sleep(time.Minute)
			resume(t, e)
		},
		"a claim that arrives late": func(t *testing.T, kept *memory.Store, shard uint16) {
			e, stop := run(t, &overtaken{Store: kept, shard: shard}, q)
			defer stop()
			time.Sleep(time.Minute)
			resume(t, e)
		},
		"a shard that comes back": func(t *testing.T, kept *memory.Store, shard uint16) {
			time.Sleep(time.Minute)
			c := newCrew(t)
			nodes := make(map[string]*member)
			away := make(map[string]*cutUntilJoined)
			for _, name := range []string{"a", "b"} {
				away[name] = &cutUntilJoined{Store: kept}
				c.store = away[name]
				nodes[name] = c.start(name, q)
			}
			time.Sleep(20 * time.Second)
			state, err := kept.State(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			owner, _, _ := strings.Cut(state.Shards[shard].Owner, "/")
			other := map[string]string{"a": "b", "b": "a"}[owner]
			nodes[owner].store.cut.Store(true)
			away[owner].cut.Store(true)
			time.Sleep(10 * time.Second)
			nodes[other].stop() // it has taken over, and releases all shards
			nodes[owner].store.cut.Store(false)
			defer nodes[owner].stop()
			time.Sleep(10 * time.Second)
			resume(t, nodes[owner].Engine)
		},
		"a stop after a claim without an answer": func(t *testing.T, kept *memory.Store, shard uint16) {
			s := &unanswered{Store: kept, shard: shard, lost: make(chan struct{})}
			_, stop := run(t, s, q)
			<-s.lost
			stop()
			time.Sleep(time.Minute)
			e, stop := run(t, kept, q)
			defer stop()
			resume(t, e)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept := memory.New()
				id := dieWith(t, kept, q)
				course(t, kept, get(t, kept, id).Shard)
				log := attempts(t, kept, id)
				if len(log) != 1 || log[0].Trigger != bellman.ByTakeover {
					t.Errorf("%+v; want one attempt by %v", log, bellman.ByTakeover)
				}
			})
		})
	}
}

// Another node claims a shard of this one and dies, and this node learns of both at once. Tasks
// that were due at that death are announced.
func TestDeathBetweenTwoLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		e, stop := run(t, kept, engine.Queue{Name: "q", Handler: &receiver{answer: accept}})
		defer stop()
		if err := e.PauseQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		id := add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(20 * time.Second)
		state, err := kept.State(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		s := state.Shards[get(t, kept, id).Shard]
		if err := errors.Join(kept.Join(t.Context(), store.Node{Name: "other"}, time.Millisecond), kept.Release(t.Context(), s.Owner, s.Lease)); err != nil {
			t.Fatal(err)
		}
		if _, err := kept.Claim(t.Context(), "other", s.Lease.Shard, s.Epoch); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if err := e.ResumeQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if log := attempts(t, kept, id); len(log) != 1 || log[0].Trigger != bellman.ByTakeover {
			t.Errorf("%+v; want one attempt by %v", log, bellman.ByTakeover)
		}
	})
}

// The store rejects the outcome of an attempt until the node has stopped. The next owner takes that
// attempt for one that may have been made, as after a death.
func TestUnrecordedAtStop(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		t.Run(fmt.Sprintf("exclusive %t", exclusive), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept := &troubled{Store: memory.New()}
				var s store.Store = kept
				if exclusive {
					s = alone{kept}
				}
				q := engine.Queue{Name: "q", Handler: &receiver{answer: accept}}
				e, stop := run(t, s, q)
				id := add(t, e, &bellman.Task{Queue: "q", Delay: time.Second})
				full := func() (error, bool) { return bellman.ErrFull, false }
				kept.fail.Store(&full)
				time.Sleep(10 * time.Second)
				stop()
				kept.fail.Store(nil)
				_, stop = run(t, s, q)
				defer stop()
				time.Sleep(time.Minute)
				if log := attempts(t, s, id); len(log) != 1 || log[0].Trigger != bellman.ByTakeover {
					t.Errorf("%+v; want one attempt by %v", log, bellman.ByTakeover)
				}
			})
		})
	}
}

// One of three nodes dies while tasks of its shards are due. Their queue has a limit afterwards, so
// they move to shards whose owner has a quota, and most of those had no owner that died. Their
// attempts are announced there too.
func TestDeathBeforeShardChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t)
		q := engine.Queue{Name: "q", Handler: &receiver{answer: accept}}
		a, b, d := c.start("a", q), c.start("b", q), c.start("d", q)
		time.Sleep(20 * time.Second)
		if err := a.PauseQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		var ids []bellman.ID
		for range 100 {
			ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q"}))
		}
		a.store.cut.Store(true)
		time.Sleep(20 * time.Second)
		q.Concurrency = 1
		for _, n := range []*member{b, d} {
			defer n.stop()
			if err := n.SetQueues([]engine.Queue{q}); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.ResumeQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for _, id := range ids {
			log := attempts(t, c.store, id)
			if last := len(log) - 1; last < 0 || log[last].Result != bellman.Accepted || log[last].Trigger != bellman.ByTakeover {
				t.Errorf("%+v; want an accepted attempt by %v", log, bellman.ByTakeover)
			}
		}
		a.store.cut.Store(false)
		a.stop()
	})
}
