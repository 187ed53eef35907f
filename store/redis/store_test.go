package redis

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
	"github.com/bellmanhq/bellman/store/storetest"
)

// newStore returns the address of a store that is deleted when the test ends.
func newStore(t testing.TB) string { return scratchtest.New(t, "redis").URL }

// openTest opens a store that is closed when the test ends.
func openTest(t testing.TB, address string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

// A node that is alone reads the due tasks of the largest number of shards with one call.
func TestMostShards(t *testing.T) {
	s, now := openTest(t, newStore(t), Options{Shards: store.MaxShards}), time.Now()
	task := waiting(1, now)
	task.Shard = store.MaxShards - 1
	if err := s.Commit(t.Context(), &store.Batch{Adds: []store.Add{{Task: task}}}); err != nil {
		t.Fatal(err)
	}
	shards := make([]uint16, store.MaxShards)
	for i := range shards {
		shards[i] = uint16(i)
	}
	to := now.Add(48 * time.Hour).UnixMilli()
	if entries, err := s.Due(t.Context(), shards, store.Position{}, to, 1000, nil); err != nil || len(entries) != 1 || entries[0].ID != task.ID {
		t.Errorf("Due() = %+v, %v; want the task of the last shard", entries, err)
	}
	if n, err := s.CountDue(t.Context(), shards, store.Position{}, to, 1000); err != nil || n != 1 {
		t.Errorf("CountDue() = %d, %v; want 1", n, err)
	}
}

// After FLUSHALL a commit is rejected as a whole. A half-written task would hold its key.
func TestCommitAfterFlush(t *testing.T) {
	s, ctx := openTest(t, newStore(t), Options{}), t.Context()
	keys := func() []string {
		t.Helper()
		found, err := s.single.Keys(ctx, s.prefix+"*").Result()
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if err := s.single.Del(ctx, keys()...).Err(); err != nil {
		t.Fatal(err)
	}
	task := waiting(1, time.Now())
	task.Key = "k"
	if err := s.Commit(ctx, &store.Batch{Adds: []store.Add{{Task: task}}}); !errors.Is(err, bellman.ErrUnreachable) || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("Commit() = %v; want ErrUnreachable that says that the store is gone", err)
	}
	if left := keys(); len(left) > 0 {
		t.Errorf("the commit left the keys %q", left)
	}
}

// Ids of tasks whose rows somebody has deleted do not keep retention from the tasks behind them.
func TestPruneWithoutRows(t *testing.T) {
	s := openTest(t, newStore(t), Options{})
	task := waiting(1, time.Now())
	task.Status = bellman.Status{Version: 1, State: bellman.Succeeded, Finished: time.UnixMilli(5000)}
	if err := s.Commit(t.Context(), &store.Batch{Adds: []store.Add{{Task: task}}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for n := range pruneStep + 1 {
		id := bellman.ID{15: byte(n), 14: byte(n >> 8)}
		add := func(c *client.Client) (any, error) {
			return c.ZAdd(ctx, s.prefix+"e1", client.Z{Score: 1000, Member: string(id[:])}).Result()
		}
		if _, err := s.do(ctx, true, add); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Prune(ctx, bellman.Succeeded, time.UnixMilli(6000), 1000); n != 1 || err != nil {
		t.Errorf("Prune() = %d, %v; want 1", n, err)
	}
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return openTest(t, newStore(t), Options{Connections: 4}) })
}

func TestLikeMemory(t *testing.T) {
	storetest.Like(t, 1, 30, func(t *testing.T) (store.Store, store.Store) {
		return openTest(t, newStore(t), Options{Connections: 4}), memory.New()
	})
}
