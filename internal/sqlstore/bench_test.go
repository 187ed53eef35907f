package sqlstore_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/mysql"
)

var waiting = flag.Int("waiting", 200_000, "tasks that wait in the store that is measured")

// BenchmarkStore measures a store that already has tasks: inserts, and cycles. A cycle is one
// fenced transaction that inserts a batch and ends the batch before it.
func BenchmarkStore(b *testing.B) {
	for _, d := range databases {
		b.Run(d.name, func(b *testing.B) {
			s := d.store(b)
			sqltest.Fill(b, s, *waiting)
			benchStore(b, s)
		})
	}
}

func benchStore(b *testing.B, s store.Store) {
	ctx := context.Background()
	leases := sqltest.LeaseAll(b, s)
	for _, size := range []int{64, 512} {
		for _, lanes := range []int{1, 4} {
			name := fmt.Sprintf("batch=%d/lanes=%d", size, lanes)
			b.Run("insert/"+name, func(b *testing.B) {
				run(b, lanes, size, "tasks/s", func(lane, n int) error {
					return s.Commit(ctx, sqltest.Adds(n, size, time.Now().Add(48*time.Hour)))
				})
			})
			b.Run("cycle/"+name, func(b *testing.B) {
				before := make([]*store.Batch, lanes)
				run(b, lanes, size, "cycles/s", func(lane, n int) error {
					now := time.Now()
					batch := sqltest.Adds(n, size, now)
					each := len(leases) / lanes
					batch.Leases = leases[lane*each : (lane+1)*each]
					if before[lane] != nil {
						batch.Changes = sqltest.Succeed(before[lane], now)
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

// run calls f from several lanes until b.N calls were made, and reports items per second.
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

// BenchmarkSnapshot measures a store while another transaction stays open for reading, such as a
// backup. PostgreSQL cannot clean up rows that end meanwhile. After 300 commits of 64 tasks, on a
// busy machine, reading due tasks took 22 ms instead of 0.6, and a commit 12 ms instead of 8. Both
// grow with the number of tasks since the transaction began.
func BenchmarkSnapshot(b *testing.B) {
	d := databases[0]
	for _, open := range []bool{false, true} {
		b.Run(fmt.Sprintf("open=%t", open), func(b *testing.B) {
			ctx := context.Background()
			url := d.empty(b)
			s := d.with(b, url, mysql.Options{})
			conn, err := pgx.Connect(ctx, url)
			must(b, err)
			defer conn.Close(ctx)
			if open {
				_, err := conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM bellman_shard")
				must(b, err)
			}
			benchChurn(b, s)
		})
	}
}

// benchChurn commits 64 new tasks at a time together with the ends of the 64 before them. At the
// end it measures such a commit, and a read of the due tasks from the beginning.
func benchChurn(b *testing.B, s store.Store) {
	ctx := context.Background()
	leases := sqltest.LeaseAll(b, s)
	shards := make([]uint16, len(leases))
	for i, l := range leases {
		shards[i] = l.Shard
	}
	var before *store.Batch
	var commits, looks []time.Duration
	for n := 0; b.Loop(); n++ {
		now := time.Now()
		batch := sqltest.Adds(n, 64, now)
		batch.Leases = leases
		if before != nil {
			batch.Changes = sqltest.Succeed(before, now)
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
