package sqltest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Task returns a typical task: a 300-byte body, a key, a merchant, an order. The measured figures
// use it.
func Task(n int, due time.Time) *bellman.Task {
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

// Adds returns a batch of size due tasks.
func Adds(n, size int, due time.Time) *store.Batch {
	b := &store.Batch{Adds: make([]store.Add, size)}
	for i := range b.Adds {
		b.Adds[i].Task = Task(n+i, due)
	}
	return b
}

// Succeed returns changes that end the tasks of a batch, each after one attempt.
func Succeed(added *store.Batch, now time.Time) (changes []store.Change) {
	for _, a := range added.Adds {
		changes = append(changes, store.Change{ID: a.Task.ID, Version: 1,
			To: bellman.Status{State: bellman.Succeeded, Reason: "accepted", Shard: a.Task.Shard, Attempts: 1, Step: 1, Began: now, Updated: now, Finished: now},
			Attempt: &bellman.Attempt{Number: 1, Due: now, Started: now, Took: time.Millisecond, Result: bellman.Accepted, Status: 200,
				Response: "success", Node: "node-1"}})
	}
	return changes
}

// Fill adds n tasks that are due the day after tomorrow.
func Fill(tb testing.TB, s store.Store, n int) {
	tb.Helper()
	start := time.Now()
	later := start.Add(48 * time.Hour)
	for i := 0; i < n; i += 512 {
		b := &store.Batch{}
		for j := range min(512, n-i) {
			b.Adds = append(b.Adds, store.Add{Task: Task(i+j, later.Add(time.Duration(rand.IntN(24*3600*1000))*time.Millisecond))})
		}
		if err := s.Commit(context.Background(), b); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Logf("%d tasks inserted in batches of 512: %.0f/s", n, float64(n)/time.Since(start).Seconds())
}

// Finish adds n tasks and ends them, each after an attempt.
func Finish(tb testing.TB, s store.Store, n int) {
	tb.Helper()
	now := time.Now()
	for i := 0; i < n; i += 512 {
		b := Adds(i, min(512, n-i), now)
		for _, batch := range []*store.Batch{b, {Changes: Succeed(b, now)}} {
			if err := s.Commit(context.Background(), batch); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// LeaseAll claims all shards for one node.
func LeaseAll(tb testing.TB, s store.Store) (leases []store.Lease) {
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
