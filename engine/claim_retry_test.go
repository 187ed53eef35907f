package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A slept store is exclusive. While it is away its node expires, as it does when the process stands
// still. The first claim after that fails.
type slept struct {
	*memory.Store
	away, failing atomic.Bool
}

var errAway = errors.New("the disk is away for a moment")

func (s *slept) Use() store.Use { return store.Use{Exclusive: true} }

func (s *slept) Beat(ctx context.Context, name string) error {
	if s.away.Load() {
		return errAway
	}
	return s.Store.Beat(ctx, name)
}

func (s *slept) Claim(ctx context.Context, name string, shard uint16, seen int64) (store.Lease, error) {
	if s.failing.CompareAndSwap(true, false) {
		return store.Lease{}, errAway
	}
	return s.Store.Claim(ctx, name, shard, seen)
}

// A node with an exclusive store registers again after it had expired. If it cannot claim its
// shards at once, it claims them soon after.
func TestClaimedAtLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slept{Store: memory.New()}
		r := &receiver{answer: accept}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: r, Schedule: "0s"})
		defer stop()
		time.Sleep(10 * time.Second)
		store.away.Store(true)
		store.failing.Store(true)
		time.Sleep(8 * time.Second)
		store.away.Store(false)
		time.Sleep(5 * time.Second)
		began := time.Now()
		add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(time.Minute)
		if seen := r.times(); len(seen) != 1 || seen[0].Sub(began) > 10*time.Second {
			t.Errorf("attempts at %v; want one within 10 s of %v", seen, began)
		}
	})
}

// slowClaims is a store that takes half a second for each claim.
type slowClaims struct{ *memory.Store }

func (s slowClaims) Claim(ctx context.Context, name string, shard uint16, seen int64) (store.Lease, error) {
	select {
	case <-time.After(500 * time.Millisecond):
		return s.Store.Claim(ctx, name, shard, seen)
	case <-ctx.Done():
		return store.Lease{}, ctx.Err()
	}
}

// A node starts on a store where the claims of all shards take half a minute.
func TestClaimedSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: accept}
		e, stop := run(t, slowClaims{memory.New()}, engine.Queue{Name: "q", Handler: r, Schedule: "0s"})
		defer stop()
		add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(time.Minute)
		if seen := r.times(); len(seen) != 1 {
			t.Errorf("attempts at %v; want one", seen)
		}
	})
}
