package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
)

// A shop receives the attempts of tasks with ordering keys, and compares them with the order in
// which the tasks were added.
type shop struct {
	c   *crew
	rnd *rand.Rand

	mu     sync.Mutex
	wares  map[bellman.ID]*ware
	flying map[string]*trip // by ordering key
	lost   map[string]int   // how often each node is cut off now; nobody knows what a node does while it is cut off
	events []string         // what happened to nodes and in attempts
	faults []string
}

// A trip is an attempt in flight.
type trip struct {
	id   bellman.ID
	node string
}

// A ware is one task as its caller and the shop know it.
type ware struct {
	key        string // the ordering key
	nth        int    // its place among the tasks of its key, in the order in which the adds returned
	supersedes bool
	resent     bool
	attempts   int
	changed    time.Time // when somebody last cancelled, completed or resent it
}

// describe says what is known of a task, for messages.
func (s *shop) describe(id bellman.ID) string {
	is, err := s.c.store.Task(context.Background(), id)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%v (%+v: %v %q, due %v, shard %d)", id, s.wares[id], is.State, is.Reason, is.Due, is.Shard)
}

// event records what happened, for messages. The caller holds mu.
func (s *shop) event(format string, args ...any) {
	s.events = append(s.events, time.Now().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

func (s *shop) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// attempt takes a random time and ends in a random way. It reports a fault if another attempt of
// the same ordering key is in flight, or if an earlier task has not ended. An attempt of a
// superseded task is a fault too.
func (s *shop) attempt(ctx context.Context, node string, t *bellman.Task) bellman.Verdict {
	s.mu.Lock()
	key, mine := t.OrderingKey, &trip{id: t.ID, node: node}
	lost := s.lost[node] > 0
	s.event("%s attempts %v of %s, lost %t", node, t.ID, key, lost)
	defer func() {
		s.mu.Lock()
		s.event("%s has attempted %v", node, t.ID)
		s.mu.Unlock()
	}()
	other := s.flying[key]
	switch {
	case other == nil || lost:
	case other.id == t.ID: // a resend of the same task, which may overlap
	case other.node != node && s.wares[other.id] != nil && time.Since(s.wares[other.id].changed) < 15*time.Second:
		// The task was ended or resent while its shard moved between nodes. The new owner does not
		// know then that the former owner's attempt is still in flight.
	default:
		s.fault("%v is attempted by %s while %v is by %s, of the same key", s.describe(t.ID), node, s.describe(other.id), other.node)
	}
	if !lost {
		s.flying[key] = mine
	}
	if w := s.wares[t.ID]; w != nil && !lost { // otherwise its Add has not returned yet
		w.attempts++
		for id, other := range s.wares {
			if other.key != key || other == w {
				continue
			}
			is, err := s.c.store.Task(context.Background(), id)
			switch {
			case err != nil:
				s.fault("%v: %v", id, err)
			case other.nth < w.nth && !is.State.Ended() && !other.resent:
				s.fault("%v (%d of %s) is attempted before %v (%d) has ended", t.ID, w.nth, key, id, other.nth)
			}
		}
		if is, err := s.c.store.Task(context.Background(), t.ID); err != nil || is.WasSuperseded() {
			s.fault("%v, which was superseded, is attempted (%v)", t.ID, err)
		}
	}
	took := time.Duration(s.rnd.IntN(300)) * time.Millisecond
	if s.rnd.IntN(20) == 0 {
		took = 4 * time.Second
	}
	end := s.rnd.IntN(10)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		if s.flying[key] == mine {
			delete(s.flying, key)
		}
		s.mu.Unlock()
	}()
	select {
	case <-ctx.Done():
	case <-time.After(took):
	}
	switch {
	case end < 4:
		return bellman.Verdict{Next: bellman.Succeed}
	case end < 5:
		return bellman.Verdict{Next: bellman.GiveUp}
	case end < 7:
		return bellman.Verdict{Result: bellman.Unreachable}
	}
	return bellman.Verdict{Result: bellman.Refused}
}

// byHand records that somebody cancels, completes or resends a task.
func (s *shop) byHand(id bellman.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.event("%v is changed by hand", id)
	s.wares[id].changed = time.Now()
}

// lose records that a node is cut off. Its attempts in flight may be repeated by other nodes.
func (s *shop) lose(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost[node]++
	s.event("%s is lost", node)
	maps.DeleteFunc(s.flying, func(_ string, t *trip) bool { return t.node == node })
}

func (s *shop) find(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost[node]--
	s.event("%s is found", node)
}

// Tasks of one ordering key are attempted one after the other in their order, and none waits
// forever. This holds while callers add, cancel, complete and resend, and while nodes start, stop
// and lose the store.
func TestChainOrderHolds(t *testing.T) {
	for seed := range uint64(max(12/fewer, 4)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { holdOrder(t, seed) })
		})
	}
}

func holdOrder(t *testing.T, seed uint64) {
	c := newCrew(t)
	rnd := rand.New(rand.NewPCG(seed, 1))
	s := &shop{c: c, rnd: rand.New(rand.NewPCG(seed, 2)), wares: make(map[bellman.ID]*ware), flying: make(map[string]*trip), lost: make(map[string]int)}
	c.deaf = seed%3 == 2
	queue := engine.Queue{Name: "q", Schedule: "0s, 1s*3, 5s*2", Timeout: 10 * time.Second}
	if seed%2 == 1 {
		queue.Concurrency = 40 // split into quotas, which some shards have
	}
	names := []string{"a", "b", "c"}
	nodes := make(map[string]*member)
	start := func(name string) {
		queue.Handler = bellman.HandlerFunc(func(ctx context.Context, t *bellman.Task, _ int) bellman.Verdict { return s.attempt(ctx, name, t) })
		nodes[name] = c.start(name, queue)
	}
	for _, name := range names {
		start(name)
	}
	time.Sleep(10 * time.Second)
	ids := make(map[string][]bellman.ID)
	for step := range 600 {
		m := nodes[names[rnd.IntN(3)]]
		key := fmt.Sprint("k", rnd.IntN(12))
		some := ids[key]
		switch n := rnd.IntN(100); {
		case n < 60:
			task := &bellman.Task{Queue: "q", OrderingKey: key, Supersedes: rnd.IntN(8) == 0, Delay: time.Duration(rnd.IntN(4)-2) * 500 * time.Millisecond}
			added := m.Add(t.Context(), task)[0]
			if added.Err != nil {
				continue // the node is stopping or cut off: nothing was added
			}
			s.mu.Lock()
			s.wares[added.ID] = &ware{key: key, nth: len(some), supersedes: task.Supersedes}
			s.mu.Unlock()
			ids[key] = append(some, added.ID)
		case n < 66 && len(some) > 0:
			id := some[rnd.IntN(len(some))]
			s.byHand(id)
			_, _ = m.Cancel(t.Context(), id, bellman.By{})
		case n < 72 && len(some) > 0:
			id := some[rnd.IntN(len(some))]
			s.byHand(id)
			s.mu.Lock()
			s.wares[id].resent = true // from now on it may be attempted out of order, but not beside another
			s.mu.Unlock()
			mode := []engine.ResendMode{engine.ResendOnce, engine.ResendRestart}[rnd.IntN(2)]
			if task := get(t, c.store, id); task.WasSuperseded() {
				if _, err := m.Resend(t.Context(), id, mode, bellman.By{}); err == nil {
					t.Errorf("Resend of a superseded task: no error")
				}
			} else {
				_, err := m.Resend(t.Context(), id, mode, bellman.By{})
				if err != nil && !errors.Is(err, bellman.ErrConflict) && !errors.Is(err, bellman.ErrClosed) && !errors.Is(err, errCut) {
					t.Errorf("Resend: %v", err)
				}
			}
		case n < 75 && len(some) > 0:
			id := some[rnd.IntN(len(some))]
			s.byHand(id)
			_, _ = m.Complete(t.Context(), id, bellman.Completion{}, bellman.By{})
		case n < 78 && step > 50: // a node stops or starts
			name := names[rnd.IntN(3)]
			nodes[name].stop()
			start(name)
		case n < 79 && step > 50 && step < 500: // a node loses the store for longer than its leases last
			name := names[rnd.IntN(3)]
			if m := nodes[name]; !m.store.cut.Load() {
				s.lose(name)
				m.store.cut.Store(true)
				go func() {
					time.Sleep(12 * time.Second)
					m.store.cut.Store(false)
					time.Sleep(12 * time.Second) // until its attempts in flight are over
					s.find(name)
				}()
			}
		}
		time.Sleep(time.Duration(rnd.IntN(200)) * time.Millisecond)
	}
	time.Sleep(max(time.Hour/fewer, 20*time.Minute))
	for key, some := range ids {
		for i, id := range some {
			if task := get(t, c.store, id); !task.State.Ended() {
				turn, err := c.store.Chain(t.Context(), "q", key, id, 1)
				t.Errorf("task %d of key %s, %v, has not ended: %+v, %+v, %v", i, key, id, task.Status, turn, err)
			}
		}
		if left, err := c.store.Chain(t.Context(), "q", key, bellman.ID{}, 10); len(left.First) > 0 || err != nil {
			t.Errorf("key %s still has places in its chain: %v, %v", key, left, err)
			for i, id := range some {
				log, err := c.store.Attempts(t.Context(), id, 0, 100)
				is := get(t, c.store, id)
				t.Logf("%d of %s: %v, trigger %v, began %v, look %v, finished %v, %v", i, key, is.State, is.Trigger, is.Began, is.VisibleAt, is.Finished, err)
				for _, a := range log {
					t.Logf("    %+v", a)
				}
			}
		}
	}
	for _, m := range nodes {
		m.stop()
	}
	slices.Sort(s.faults)
	for _, f := range slices.Compact(s.faults)[:min(10, len(slices.Compact(s.faults)))] {
		t.Error(f)
	}
	if len(s.faults) > 0 {
		t.Log("what happened:\n" + strings.Join(s.events, "\n"))
	}
	superseded, attempted := 0, 0
	for id, w := range s.wares {
		attempted += w.attempts
		if is := get(t, c.store, id); is.WasSuperseded() {
			superseded++
		}
	}
	t.Logf("seed %d: %d tasks, %d attempts, %d superseded", seed, len(s.wares), attempted, superseded)
	if len(s.wares) < 200 || attempted < 100 || superseded < 5 {
		t.Errorf("fewer tasks, attempts or superseded tasks than a useful run has")
	}
}
