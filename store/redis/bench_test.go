package redis

import (
	"context"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/storetest"
)

// BenchmarkCycle inserts tasks, finds them due, loads them and records their ends, 512 at a time.
// One iteration is one task.
func BenchmarkCycle(b *testing.B) {
	ctx := context.Background()
	s := openTest(b, newStore(b), Options{})
	for n := 0; b.Loop(); {
		now := time.Now()
		batch := &store.Batch{}
		for range 512 {
			n++
			t := waiting(n, now)
			t.Due, t.VisibleAt = now, now
			batch.Adds = append(batch.Adds, store.Add{Task: t, Digest: t.Digest()})
		}
		if err := s.Commit(ctx, batch); err != nil {
			b.Fatal(err)
		}
		shards := make([]uint16, 64)
		for i := range shards {
			shards[i] = uint16(i)
		}
		entries, err := s.Due(ctx, shards, store.Position{}, now.UnixMilli()+1, 512, nil)
		if err != nil || len(entries) != 512 {
			b.Fatal(len(entries), err)
		}
		tasks, err := s.Load(ctx, entries)
		if err != nil {
			b.Fatal(err)
		}
		batch = &store.Batch{}
		for _, t := range tasks {
			batch.Changes = append(batch.Changes, store.Change{ID: t.ID, Version: 1, Of: t, Attempt: &bellman.Attempt{Number: 1, Due: now, Started: now, Response: "success"},
				To: bellman.Status{State: bellman.Succeeded, Reason: "accepted", Attempts: 1, Began: now, Updated: now, Finished: now}})
		}
		if err := s.Commit(ctx, batch); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChains measures the cost of a long chain of an ordering key.
func BenchmarkChains(b *testing.B) {
	storetest.Chains(b, func(b *testing.B) store.Store { return openTest(b, newStore(b), Options{}) })
}
