package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// A doubter notes for each attempt whether the task was in doubt.
type doubter struct {
	mu      sync.Mutex
	doubted map[bellman.ID][]bool
}

func (d *doubter) note(t *bellman.Task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.doubted == nil {
		d.doubted = make(map[bellman.ID][]bool)
	}
	d.doubted[t.ID] = append(d.doubted[t.ID], t.InDoubt())
}

// of returns what was noted of a task.
func (d *doubter) of(id bellman.ID) []bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.doubted[id])
}

func (d *doubter) Attempt(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
	d.note(t)
	return bellman.Verdict{Next: bellman.Succeed}
}

// A postponer moves a task by an hour when somebody completes it.
type postponer struct{ *doubter }

func (postponer) Complete(_ *bellman.Task, _ bellman.Completion, now time.Time) (bellman.Verdict, error) {
	return bellman.Verdict{Due: now.Add(time.Hour)}, nil
}

// changesOfDue are the changes that move a task's next attempt.
var changesOfDue = map[string]func(ctx context.Context, e *engine.Engine, id bellman.ID) error{
	"resend": func(ctx context.Context, e *engine.Engine, id bellman.ID) error {
		_, err := e.Resend(ctx, id, engine.ResendOnce, by)
		return err
	},
	"restart": func(ctx context.Context, e *engine.Engine, id bellman.ID) error {
		_, err := e.Resend(ctx, id, engine.ResendRestart, by)
		return err
	},
	"reschedule": func(ctx context.Context, e *engine.Engine, id bellman.ID) error {
		_, err := e.Reschedule(ctx, id, time.Now().Add(time.Hour), by)
		return err
	},
	"complete": func(ctx context.Context, e *engine.Engine, id bellman.ID) error {
		_, err := e.Complete(ctx, id, bellman.Completion{}, by)
		return err
	},
	"settle": func(ctx context.Context, e *engine.Engine, id bellman.ID) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		settled, err := e.Settle(ctx, by, id)
		if err == nil && !errors.Is(settled[0].Err, bellman.ErrWaiting) {
			err = fmt.Errorf("%+v; want that it waits", settled)
		}
		return err
	},
}

// A node dies, and somebody changes a task that was due then before its next attempt, at the owner
// of its shard or at another node. The task is in doubt all the same.
func TestDoubtOutlastsChange(t *testing.T) {
	for name, change := range changesOfDue {
		for _, atOwner := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, at the owner %t", name, atOwner), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					kept, d := memory.New(), new(doubter)
					q := engine.Queue{Name: "q", Handler: postponer{d}}
					id := dieWith(t, kept, q)
					time.Sleep(time.Minute)
					c := newCrew(t)
					c.store = kept
					at, other := c.start("a", q), c.start("b", q)
					defer at.stop()
					defer other.stop()
					time.Sleep(time.Minute)
					state, err := kept.State(t.Context(), "")
					if err != nil {
						t.Fatal(err)
					}
					if strings.HasPrefix(state.Shards[get(t, kept, id).Shard].Owner, "a/") != atOwner {
						at, other = other, at
					}
					if err := change(t.Context(), at.Engine, id); err != nil {
						t.Fatal(err)
					}
					if err := at.ResumeQueue(t.Context(), "q", by); err != nil {
						t.Fatal(err)
					}
					time.Sleep(2 * time.Hour)
					if got := d.of(id); len(got) != 1 || !got[0] {
						t.Errorf("attempts of a task in doubt: %v; want one, in doubt", got)
					}
				})
			})
		}
	}
}

// Somebody changes a task during its attempt, and the node dies before the outcome is recorded. The
// next attempt is in doubt.
func TestDoubtAfterChangeInFlight(t *testing.T) {
	for name, change := range changesOfDue {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept, d := memory.New(), new(doubter)
				dying := &mortal{kept, make(chan struct{})}
				q := engine.Queue{Name: "q", Schedule: "0s, 10m*", Handler: postponer{d}}
				slow := q
				slow.Handler = slowly{postponer{d}}
				e, stop := run(t, dying, slow)
				id := add(t, e, &bellman.Task{Queue: "q"})
				time.Sleep(2 * time.Second)
				if err := change(t.Context(), e, id); err != nil {
					t.Fatal(err)
				}
				close(dying.dead)
				stop()
				time.Sleep(time.Minute)
				_, stop = run(t, kept, q)
				defer stop()
				time.Sleep(2 * time.Hour)
				if got := d.of(id); len(got) != 2 || got[0] || !got[1] {
					t.Errorf("attempts of a task in doubt: %v; want two, the second in doubt", got)
				}
				if task := get(t, kept, id); task.WasDue != 0 {
					t.Errorf("after an attempt was recorded WasDue is %d; want 0", task.WasDue)
				}
			})
		})
	}
}

// A slowly handler takes ten seconds for an attempt.
type slowly struct{ postponer }

func (s slowly) Attempt(ctx context.Context, t *bellman.Task, number int) bellman.Verdict {
	s.note(t)
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
	}
	return bellman.Verdict{}
}

// A blind store cannot read tasks.
type blind struct {
	*memory.Store
	blind atomic.Bool
}

func (s *blind) Task(ctx context.Context, id bellman.ID) (*bellman.Task, error) {
	if s.blind.Load() {
		return nil, errors.New("cannot be read")
	}
	return s.Store.Task(ctx, id)
}

// A task is changed during its attempt, and cannot be read until the node has stopped, so both
// cannot be merged. The next owner takes that attempt for one that may have been made.
func TestUnmergedAtStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &blind{Store: memory.New()}, new(doubter)
		q := engine.Queue{Name: "q", Handler: bellman.HandlerFunc(func(ctx context.Context, task *bellman.Task, number int) bellman.Verdict {
			time.Sleep(time.Second)
			return d.Attempt(ctx, task, number)
		})}
		e, stop := run(t, s, q)
		id := add(t, e, &bellman.Task{Queue: "q", Delay: time.Second})
		time.Sleep(1500 * time.Millisecond)
		was := get(t, s, id)
		if err := s.Commit(t.Context(), &store.Batch{Changes: []store.Change{{ID: id, Version: was.Version, To: was.Status}}}); err != nil {
			t.Fatal(err)
		}
		s.blind.Store(true)
		time.Sleep(10 * time.Second)
		stop()
		s.blind.Store(false)
		_, stop = run(t, s, q)
		defer stop()
		time.Sleep(time.Minute)
		if got := d.of(id); len(got) != 2 || !got[1] {
			t.Errorf("attempts of a task in doubt: %v; want two, the second in doubt", got)
		}
	})
}

// A sundered store does not know whether it wrote the first outcome. It then makes the next claim,
// does not answer it, and is away until the node's registration has expired. When the node has
// joined again, it asks for that shard first.
type sundered struct {
	*memory.Store
	mu      sync.Mutex
	rejects bool      // the first outcome was rejected
	until   time.Time // it is away; zero: not yet
	joined  bool
	asked   bool
}

// gone returns an error while the store is away, and for a while longer as said.
func (s *sundered) gone(longer func() bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.until.IsZero() && (time.Now().Before(s.until) || longer()) {
		return errCut
	}
	return nil
}

func (s *sundered) untilJoined() bool { return !s.joined }
func (s *sundered) untilAsked() bool  { return !s.asked }
func no() bool                        { return false }

func (s *sundered) Commit(ctx context.Context, b *store.Batch) error {
	s.mu.Lock()
	first := !s.rejects && len(b.Changes) > 0 && b.Changes[0].Attempt != nil
	s.rejects = s.rejects || first
	s.mu.Unlock()
	if first {
		return bellman.ErrUnknown
	}
	if err := s.gone(s.untilJoined); err != nil {
		return err
	}
	return s.Store.Commit(ctx, b)
}

func (s *sundered) Claim(ctx context.Context, node string, shard uint16, seen int64) (store.Lease, error) {
	if err := s.gone(s.untilJoined); err != nil {
		return store.Lease{}, err
	}
	lease, err := s.Store.Claim(ctx, node, shard, seen)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rejects && s.until.IsZero() && err == nil {
		s.until = time.Now().Add(5 * time.Second)
		return store.Lease{}, errCut
	}
	return lease, err
}

func (s *sundered) State(ctx context.Context, kind string) (store.State, error) {
	longer := s.untilJoined
	if kind != "" {
		longer = s.untilAsked
	}
	if err := s.gone(longer); err != nil {
		return store.State{}, err
	}
	s.mu.Lock()
	s.asked = !s.until.IsZero()
	s.mu.Unlock()
	return s.Store.State(ctx, kind)
}

func (s *sundered) Beat(ctx context.Context, node string) error {
	if err := s.gone(no); err != nil {
		return err
	}
	return s.Store.Beat(ctx, node)
}

func (s *sundered) Join(ctx context.Context, n store.Node, ttl time.Duration) error {
	if err := s.gone(no); err != nil {
		return err
	}
	err := s.Store.Join(ctx, n, ttl)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined = !s.until.IsZero()
	return err
}

func (s *sundered) under() store.Store {
	if s.gone(s.untilAsked) != nil {
		return nil
	}
	return s.Store
}

// A node loses the outcome of an attempt with a shard that no other node took. It makes the attempt
// again, and the task is in doubt.
func TestShardLostToItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &sundered{Store: memory.New()}, new(doubter)
		e, stop := run(t, s, engine.Queue{Name: "q", Handler: d})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q", Delay: time.Second})
		time.Sleep(time.Minute)
		if got := d.of(id); len(got) != 2 || got[0] || !got[1] {
			t.Errorf("attempts of a task in doubt: %v; want two, the second in doubt", got)
		}
	})
}

// The heartbeats of a node are lost. What it attempts until it no longer trusts its leases is in
// doubt at the other node. Its clock may be ahead, and the clock of the other node may be far
// behind.
func TestDoubtAcrossClocks(t *testing.T) {
	t.Run("ahead", func(t *testing.T) { doubtAcrossClocks(t, 900*time.Millisecond, 0) })
	t.Run("far behind", func(t *testing.T) { doubtAcrossClocks(t, 0, -15*time.Second) })
}

func doubtAcrossClocks(t *testing.T, dead, other time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t)
		var mu sync.Mutex
		first := make(map[bellman.ID]bool) // attempted by a
		twice := 0
		queue := func(name string) engine.Queue {
			return engine.Queue{Name: "q", Timeout: time.Minute, Handler: bellman.HandlerFunc(func(ctx context.Context, task *bellman.Task, _ int) bellman.Verdict {
				mu.Lock()
				again := first[task.ID]
				first[task.ID] = first[task.ID] || name == "a"
				mu.Unlock()
				if name == "a" {
					time.Sleep(20 * time.Second)
				} else if again {
					mu.Lock()
					twice++
					mu.Unlock()
					if !task.InDoubt() {
						t.Errorf("a task due at %v was attempted by both nodes, and not in doubt at the second", task.Due)
					}
				}
				return bellman.Verdict{Next: bellman.Succeed}
			})}
		}
		c.wall = func() time.Time { return time.Now().Add(dead) }
		a := c.start("a", queue("a"))
		c.wall = func() time.Time { return time.Now().Add(other) }
		b := c.start("b", queue("b"))
		defer b.stop()
		time.Sleep(30 * time.Second)
		for i := range 300 {
			add(t, a.Engine, &bellman.Task{Queue: "q", Endpoint: fmt.Sprint(i), Delay: time.Second + time.Duration(i)*20*time.Millisecond})
		}
		a.store.swallow.Store(10)
		time.Sleep(2 * time.Minute)
		a.stop()
		mu.Lock()
		defer mu.Unlock()
		if twice == 0 {
			t.Error("no task was attempted by both nodes, so the test shows nothing")
		}
	})
}

// A slow store gives up the first claims of shards that a dead node had, until the other node has
// claimed them.
type slower struct {
	store.Store
	failed atomic.Int64
}

func (s *slower) Claim(ctx context.Context, node string, shard uint16, seen int64) (store.Lease, error) {
	state, err := s.State(ctx, "")
	if err != nil {
		return store.Lease{}, err
	}
	if owner := state.Shards[shard].Owner; strings.HasPrefix(owner, "d/") {
		s.failed.Add(1)
		return store.Lease{}, errors.New("too slow")
	}
	return s.Store.Claim(ctx, node, shard, seen)
}

// A node tries to claim the shards of a dead node, and another node is quicker. It still ends its
// registration when it stops.
func TestLeavesAfterFailedClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		kept := c.store
		slow := &slower{Store: kept}
		c.store = slow
		a := c.start("a", l.queue("a", 0))
		c.store = kept
		b, d := c.start("b", l.queue("b", 0)), c.start("d", l.queue("d", 0))
		defer b.stop()
		time.Sleep(30 * time.Second)
		d.store.cut.Store(true)
		time.Sleep(30 * time.Second)
		if n := c.owns(); n["d"] > 0 || slow.failed.Load() == 0 {
			t.Fatalf("shards per node %v, %d claims failed; want none of the dead node, and failures", n, slow.failed.Load())
		}
		a.stop()
		state, err := kept.State(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range state.Nodes {
			if strings.HasPrefix(n.Name, "a/") {
				t.Errorf("node %s is registered after its stop", n.Name)
			}
		}
		d.store.cut.Store(false)
		d.stop()
	})
}
