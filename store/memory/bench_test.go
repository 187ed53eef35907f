package memory_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

var t0 = time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)

// waiting returns a store with n tasks in 64 shards, due at random times in the hour after t0.
func waiting(b *testing.B, n int) *memory.Store {
	s, random := memory.New(), rand.New(rand.NewPCG(1, 2))
	adds := make([]store.Add, n)
	for i := range adds {
		adds[i].Task = task(i, t0.Add(time.Duration(random.Int64N(int64(time.Hour)))))
	}
	if err := s.Commit(b.Context(), &store.Batch{Adds: adds}); err != nil {
		b.Fatal(err)
	}
	return s
}

func task(i int, due time.Time) *bellman.Task {
	return &bellman.Task{
		ID:     bellman.NewID(),
		Queue:  "q",
		Key:    strconv.Itoa(i),
		Status: bellman.Status{Version: 1, Shard: uint16(i % 64), Due: due, VisibleAt: due},
	}
}

// BenchmarkDue reads a page from a random position, for half of the shards.
func BenchmarkDue(b *testing.B) {
	var shards []uint16
	for i := range uint16(32) {
		shards = append(shards, 2*i)
	}
	for _, n := range []int{1_000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s, random := waiting(b, n), rand.New(rand.NewPCG(3, 4))
			buf := make([]store.Entry, 0, 512)
			b.ReportAllocs()
			for b.Loop() {
				from := store.Position{VisibleAt: t0.UnixMilli() + random.Int64N(time.Hour.Milliseconds())}
				if _, err := s.Due(b.Context(), shards, from, t0.Add(time.Hour).UnixMilli(), cap(buf), buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAdd adds a task with a key, due among the waiting tasks.
func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s, random := waiting(b, n), rand.New(rand.NewPCG(3, 4))
			b.ReportAllocs()
			for i := n; b.Loop(); i++ {
				due := t0.Add(time.Duration(random.Int64N(int64(time.Hour))))
				if err := s.Commit(b.Context(), &store.Batch{Adds: []store.Add{{Task: task(i, due)}}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
