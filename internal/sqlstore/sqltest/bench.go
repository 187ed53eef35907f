package sqltest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// task is the task of MEASURED's figures: a 300-byte body, a key, a merchant, an order.
func task(n int, due time.Time) *bellman.Task {
	body := make([]byte, 300)
	for i := 0; i < len(body); i += 8 {
		copy(body[i:], fmt.Sprintf("%08x", rand.Uint32()))
	}
	return &bellman.Task{
		ID: bellman.NewID(), Queue: "merchant-notify", Key: fmt.Sprintf("M%04d/%d/paid", n%1000, rand.Uint64()),
		MerchantNo: fmt.Sprintf("M%04d", n%1000), OrderNo: fmt.Sprintf("2026112%08d", rand.IntN(1e8)),
		Event: "payment.succeeded", URL: fmt.Sprintf("https://m%d.example:8443/notify", n%1000), Body: body,
		Header: map[string]string{"Content-Type": "application/json"}, Schedule: "wechat_notify", Success: "success_text",
		Timeout: 5 * time.Second, Endpoint: fmt.Sprintf("https://m%d.example:8443", n%1000),
		Status: bellman.Status{Version: 1, Shard: uint16(n % 64), Began: due, Due: due, VisibleAt: due, Updated: due},
	}
}

func adds(n, size int, due time.Time) *store.Batch {
	b := &store.Batch{Adds: make([]store.Add, size)}
	for i := range b.Adds {
		b.Adds[i].Task = task(n+i, due)
	}
	return b
}

// succeed ends the tasks that a batch added, each after one attempt.
func succeed(added *store.Batch, now time.Time) (changes []store.Change) {
	for _, a := range added.Adds {
		changes = append(changes, store.Change{ID: a.Task.ID, Version: 1,
			To: bellman.Status{State: bellman.Succeeded, Reason: "accepted", Shard: a.Task.Shard, Attempts: 1, Step: 1, Began: now, Updated: now, Finished: now},
			Attempt: &bellman.Attempt{Number: 1, Due: now, Started: now, Took: time.Millisecond, Result: bellman.Accepted, Status: 200,
				Response: "success", Node: "node-1"}})
	}
	return changes
}

// Fill adds tasks that wait for the day after tomorrow.
func Fill(tb testing.TB, s store.Store, n int) {
	tb.Helper()
	start := time.Now()
	later := start.Add(48 * time.Hour)
	for i := 0; i < n; i += 512 {
		b := &store.Batch{}
		for j := range min(512, n-i) {
			b.Adds = append(b.Adds, store.Add{Task: task(i+j, later.Add(time.Duration(rand.IntN(24*3600*1000))*time.Millisecond))})
		}
		if err := s.Commit(context.Background(), b); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Logf("%d tasks inserted in batches of 512: %.0f/s", n, float64(n)/time.Since(start).Seconds())
}

// Finish adds tasks and ends them, each after an attempt.
func Finish(tb testing.TB, s store.Store, n int) {
	tb.Helper()
	now := time.Now()
	for i := 0; i < n; i += 512 {
		b := adds(i, min(512, n-i), now)
		for _, batch := range []*store.Batch{b, {Changes: succeed(b, now)}} {
			if err := s.Commit(context.Background(), batch); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// Bench measures a store that has tasks already: inserts, and cycles, which
// insert a batch and end the one before it in one transaction that is fenced.
func Bench(b *testing.B, s store.Store) {
	ctx := context.Background()
	leases := leaseAll(b, s)
	for _, size := range []int{64, 512} {
		for _, lanes := range []int{1, 4} {
			name := fmt.Sprintf("batch=%d/lanes=%d", size, lanes)
			b.Run("insert/"+name, func(b *testing.B) {
				run(b, lanes, size, "tasks/s", func(lane, n int) error {
					return s.Commit(ctx, adds(n, size, time.Now().Add(48*time.Hour)))
				})
			})
			b.Run("cycle/"+name, func(b *testing.B) {
				before := make([]*store.Batch, lanes)
				run(b, lanes, size, "cycles/s", func(lane, n int) error {
					now := time.Now()
					batch := adds(n, size, now)
					each := len(leases) / lanes
					batch.Leases = leases[lane*each : (lane+1)*each]
					if before[lane] != nil {
						batch.Changes = succeed(before[lane], now)
					}
					before[lane] = batch
					return s.Commit(ctx, batch)
				})
			})
		}
	}
	b.Run("due", func(b *testing.B) {
		shards := make([]uint16, len(leases))
		for i, l := range leases {
			shards[i] = l.Shard
		}
		var buf []store.Entry
		var from store.Position
		for b.Loop() {
			var err error
			if buf, err = s.Due(ctx, shards, from, 1<<62, 1000, buf[:0]); err != nil {
				b.Fatal(err)
			}
			from = store.Position{}
			if len(buf) == 1000 {
				from = store.Position{VisibleAt: buf[999].VisibleAt, ID: buf[999].ID}
			}
		}
	})
	b.Run("load", func(b *testing.B) {
		entries, err := s.Due(ctx, []uint16{0, 1, 2, 3}, store.Position{}, 1<<62, 1000, nil)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := s.Load(ctx, entries); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(entries)*b.N)/b.Elapsed().Seconds(), "tasks/s")
	})
}

// run calls f from a number of lanes until b.N calls were made, and reports items per second.
func run(b *testing.B, lanes, size int, unit string, f func(lane, n int) error) {
	var group sync.WaitGroup
	calls := make(chan int)
	for lane := range lanes {
		group.Go(func() {
			for n := range calls {
				if err := f(lane, n*size); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.ResetTimer()
	for n := range b.N {
		calls <- n
	}
	close(calls)
	group.Wait()
	b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), unit)
}

// leaseAll takes all shards for one node.
func leaseAll(tb testing.TB, s store.Store) (leases []store.Lease) {
	tb.Helper()
	ctx := context.Background()
	name := bellman.NewID().String()
	if err := s.Join(ctx, store.Node{Name: name}, time.Hour); err != nil {
		tb.Fatal(err)
	}
	state, err := s.State(ctx, "")
	if err != nil {
		tb.Fatal(err)
	}
	for _, shard := range state.Shards {
		l, err := s.Claim(ctx, name, shard.Shard, shard.Epoch)
		if err != nil {
			tb.Fatal(err)
		}
		leases = append(leases, l)
	}
	return leases
}

// BenchChurn commits 64 new tasks at a time together with the ends of the 64 before them, and measures at the end
// how long that takes, and a look at what is due, from the beginning.
func BenchChurn(b *testing.B, s store.Store) {
	ctx := context.Background()
	leases := leaseAll(b, s)
	shards := make([]uint16, len(leases))
	for i, l := range leases {
		shards[i] = l.Shard
	}
	var before *store.Batch
	var commits, looks []time.Duration
	for n := 0; b.Loop(); n++ {
		now := time.Now()
		batch := adds(n, 64, now)
		batch.Leases = leases
		if before != nil {
			batch.Changes = succeed(before, now)
		}
		before = batch
		if err := s.Commit(ctx, batch); err != nil {
			b.Fatal(err)
		}
		commits = append(commits, time.Since(now))
	}
	for range 21 {
		now := time.Now()
		if _, err := s.Due(ctx, shards, store.Position{}, now.UnixMilli(), 1000, nil); err != nil {
			b.Fatal(err)
		}
		looks = append(looks, time.Since(now))
	}
	last := commits[max(len(commits)-200, 0):]
	slices.Sort(last)
	slices.Sort(looks)
	b.ReportMetric(float64(last[len(last)/2].Microseconds()), "commit-µs")
	b.ReportMetric(float64(looks[len(looks)/2].Microseconds()), "due-µs")
}
