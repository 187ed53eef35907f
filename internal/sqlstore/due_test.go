package sqlstore_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/mysql"
)

// TestMostShards reads due tasks of the largest number of shards with one call, as a node that is
// alone does.
func TestMostShards(t *testing.T) { each(t, testMostShards) }

func testMostShards(t *testing.T, kind database) {
	ctx := context.Background()
	s := kind.with(t, kind.empty(t), mysql.Options{Shards: store.MaxShards})
	state, err := s.State(ctx, "")
	must(t, err)
	shards := make([]uint16, len(state.Shards))
	for i, shard := range state.Shards {
		shards[i] = shard.Shard
	}
	now := time.Now()
	b := sqltest.Adds(0, 3, now)
	for i, shard := range []int{0, store.MaxShards / 2, store.MaxShards - 1} {
		b.Adds[i].Task.Shard = uint16(shard)
	}
	must(t, s.Commit(ctx, b))
	entries, err := s.Due(ctx, shards, store.Position{}, now.Add(time.Hour).UnixMilli(), 1000, nil)
	if err != nil || len(shards) != store.MaxShards || len(entries) != 3 {
		t.Errorf("Due() of %d shards = %d entries, %v; want 3 of %d", len(shards), len(entries), err, store.MaxShards)
	}
	if n, err := s.CountDue(ctx, shards, store.Position{}, now.Add(time.Hour).UnixMilli(), 1000); err != nil || n != 3 {
		t.Errorf("CountDue() = %d, %v; want 3", n, err)
	}
}

// TestCountDue compares CountDue with what Due reads, for many ranges.
func TestCountDue(t *testing.T) { each(t, testCountDue) }

func testCountDue(t *testing.T, kind database) {
	d := kind.driver(t)
	ctx := context.Background()
	s, err := sqlstore.New(ctx, d)
	must(t, err)
	now := time.Now()
	b := sqltest.Adds(0, 400, now)
	for i := range b.Adds {
		st := &b.Adds[i].Task.Status
		st.VisibleAt = now.Add(time.Duration(i/8) * time.Millisecond)
		st.Due = st.VisibleAt
	}
	must(t, s.Commit(ctx, b))
	for range 200 {
		shards := make([]uint16, rand.IntN(70))
		for i := range shards {
			shards[i] = uint16(rand.IntN(64))
		}
		from := store.Position{VisibleAt: now.UnixMilli() + rand.Int64N(60) - 5}
		if rand.IntN(2) == 0 {
			from.ID = b.Adds[rand.IntN(400)].Task.ID
		}
		to, most := now.UnixMilli()+rand.Int64N(60)-5, 1+rand.Int64N(500)
		entries, err := s.Due(ctx, shards, from, to, int(most), nil)
		must(t, err)
		if n, err := s.CountDue(ctx, shards, from, to, most); err != nil || n != int64(len(entries)) {
			t.Fatalf("CountDue(%v, %v, %d, %d) = %d, %v; Due reads %d", shards, from, to, most, n, err, len(entries))
		}
	}
}
