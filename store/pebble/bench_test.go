//go:build unix

package pebble

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/storetest"
)

// benchTask is the task behind the measured figures: a 300-byte body, four indexes.
func benchTask(n int, due time.Time) *bellman.Task {
	body := make([]byte, 300)
	rnd := rand.NewPCG(rand.Uint64(), 7) // no two keys are alike
	for i := 0; i < len(body); i += 8 {
		copy(body[i:], fmt.Sprintf("%08x", uint32(rnd.Uint64())))
	}
	return &bellman.Task{
		ID: bellman.NewID(), Queue: "merchant-notify", Key: fmt.Sprintf("M%04d/%d/paid", n%1000, rnd.Uint64()),
		MerchantNo: fmt.Sprintf("M%04d", n%1000), OrderNo: fmt.Sprintf("2026112%08d", rnd.Uint64()%1e8),
		Event: "payment.succeeded", URL: "http://127.0.0.1:8080/notify", Body: body,
		Header: map[string]string{"Content-Type": "application/json"}, Schedule: "wechat_notify", Success: "success_text",
		Timeout: 5 * time.Second, Endpoint: "http://127.0.0.1:8080",
		Status: bellman.Status{Version: 1, Shard: uint16(n % 64), Began: due, Due: due, VisibleAt: due, Updated: due},
	}
}

// filled returns a directory with n tasks that wait for about a day. It is created once for all
// benchmarks.
var filled = sync.OnceValue(func() string {
	madeFilled = true
	dir, err := os.MkdirTemp("", "bellman-bench")
	if err != nil {
		panic(err)
	}
	s, err := Open(dir, Options{})
	if err != nil {
		panic(err)
	}
	start := time.Now()
	fill(s, *waiting)
	fmt.Printf("# %d tasks inserted in batches of 512: %.0f/s\n", *waiting, float64(*waiting)/time.Since(start).Seconds())
	if err := s.Close(); err != nil {
		panic(err)
	}
	return dir
})

func fill(s *Store, n int) {
	tomorrow := time.Now().Add(24 * time.Hour)
	for i := 0; i < n; i += 512 {
		b := &store.Batch{}
		for j := range min(512, n-i) {
			due := tomorrow.Add(time.Duration(rand.IntN(24*3600*1000)) * time.Millisecond)
			b.Adds = append(b.Adds, store.Add{Task: benchTask(i+j, due)})
		}
		if err := s.Commit(bg, b); err != nil {
			panic(err)
		}
	}
}

// million opens a copy of the directory with 1,000,000 tasks.
func million(b *testing.B) *Store {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS(filled())); err != nil {
		b.Fatal(err)
	}
	s, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func TestMain(m *testing.M) {
	code := m.Run()
	if madeFilled {
		os.RemoveAll(filled())
	}
	os.Exit(code)
}

var (
	waiting = flag.Int("waiting", 1_000_000, "tasks that wait in the store that is measured")

	madeFilled bool
	bg         = context.Background()
)

// BenchmarkChains measures the cost of a long chain of an ordering key.
func BenchmarkChains(b *testing.B) {
	storetest.Chains(b, func(b *testing.B) store.Store {
		s, err := Open(b.TempDir(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		return s
	})
}

func BenchmarkInsert(b *testing.B) {
	for _, size := range []int{64, 512} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			s := million(b)
			n := 0
			cpu(b, &n)
			for b.Loop() {
				b.StopTimer()
				batch := newBatch(n, size, time.Now().Add(24*time.Hour))
				n += size
				b.StartTimer()
				if err := s.Commit(bg, batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "tasks/s")
		})
	}
}

// cpu reports the processor time per task, which a busy machine changes little. It includes
// flushes, compactions and the creation of the task.
func cpu(b *testing.B, tasks *int) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := used()
	b.Cleanup(func() {
		b.ReportMetric(float64((used()-start).Nanoseconds())/1e3/float64(*tasks), "cpu-µs/task")
	})
}

func newBatch(n, size int, due time.Time) *store.Batch {
	batch := &store.Batch{Adds: make([]store.Add, size)}
	for i := range batch.Adds {
		batch.Adds[i].Task = benchTask(n+i, due)
	}
	return batch
}

// BenchmarkCycle measures a transaction that inserts a batch and ends the batch before it.
func BenchmarkCycle(b *testing.B) {
	for _, size := range []int{64, 512} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			s := million(b)
			n := 0
			cpu(b, &n)
			var before []bellman.ID
			for b.Loop() {
				b.StopTimer()
				now := time.Now()
				batch := newBatch(n, size, now)
				for _, id := range before {
					batch.Changes = append(batch.Changes, succeed(id, now))
				}
				n += size
				b.StartTimer()
				if err := s.Commit(bg, batch); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				before = before[:0]
				for _, a := range batch.Adds {
					before = append(before, a.Task.ID)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "cycles/s")
		})
	}
}

func BenchmarkAddOne(b *testing.B) {
	s := million(b)
	var took []time.Duration
	n := 0
	for b.Loop() {
		batch := newBatch(n, 1, time.Now())
		n++
		start := time.Now()
		if err := s.Commit(bg, batch); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkDue(b *testing.B) {
	s := million(b)
	shards := allShards()
	var buf []store.Entry
	var from store.Position
	b.ReportAllocs()
	for b.Loop() {
		var err error
		buf, err = s.Due(bg, shards, from, 1<<62, 1000, buf[:0])
		if err != nil || len(buf) != 1000 {
			b.Fatal(len(buf), err)
		}
		from = store.Position{VisibleAt: buf[999].VisibleAt, ID: buf[999].ID}
		if from.VisibleAt > time.Now().Add(40*time.Hour).UnixMilli() {
			from = store.Position{}
		}
	}
}

// BenchmarkLoad loads tasks that were due at random times, which is in random order, and tasks that
// became due in the order in which they were added.
func BenchmarkLoad(b *testing.B) {
	b.Run("random", func(b *testing.B) {
		s := million(b)
		entries, err := s.Due(bg, allShards(), store.Position{}, 1<<62, 100_000, nil)
		if err != nil {
			b.Fatal(err)
		}
		load(b, s, entries)
	})
	b.Run("in order", func(b *testing.B) {
		s := million(b)
		now := time.Now()
		for n := 0; n < 100_000; n += 500 {
			if err := s.Commit(bg, newBatch(n, 500, now.Add(time.Duration(n)*time.Millisecond/100))); err != nil {
				b.Fatal(err)
			}
		}
		entries, err := s.Due(bg, allShards(), store.Position{}, now.Add(time.Hour).UnixMilli(), 100_000, nil)
		if err != nil || len(entries) != 100_000 {
			b.Fatal(len(entries), err)
		}
		load(b, s, entries)
	})
}

func load(b *testing.B, s *Store, entries []store.Entry) {
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		tasks, err := s.Load(bg, entries[n:n+1000])
		if err != nil || slices.Contains(tasks, nil) {
			b.Fatal(err)
		}
		n = (n + 1000) % len(entries)
	}
}

// BenchmarkLookup finds tasks by their keys and reads them, as the API does: tasks that wait, and
// tasks that ended with their first attempt. Their blocks are in the cache.
func BenchmarkLookup(b *testing.B) {
	const tasks = 3000
	s := million(b)
	entries, err := s.Due(bg, allShards(), store.Position{}, 1<<62, 2*tasks, nil)
	if err != nil {
		b.Fatal(err)
	}
	all, err := s.Load(bg, entries)
	if err != nil {
		b.Fatal(err)
	}
	end := &store.Batch{}
	for _, t := range all[:tasks] {
		end.Changes = append(end.Changes, succeed(t.ID, time.Now()))
	}
	if err := s.Commit(bg, end); err != nil {
		b.Fatal(err)
	}
	for name, of := range map[string][]*bellman.Task{"ended": all[:tasks], "pending": all[tasks:]} {
		b.Run(name, func(b *testing.B) {
			read := func(t *bellman.Task) {
				id, err := store.Lookup(bg, s, t.Queue, t.Key)
				if err == nil {
					_, err = s.Task(bg, id)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			for _, t := range of {
				read(t)
			}
			n := 0
			cpu(b, &n)
			b.ReportAllocs()
			for b.Loop() {
				read(of[n%tasks])
				n++
			}
		})
	}
}

// succeed ends a task with its first attempt.
func succeed(id bellman.ID, now time.Time) store.Change {
	return store.Change{ID: id, Version: 1,
		To: bellman.Status{State: bellman.Succeeded, Reason: "accepted", Attempts: 1, Step: 1, Began: now, Updated: now, Finished: now},
		Attempt: &bellman.Attempt{Number: 1, Due: now, Started: now, Took: time.Millisecond, Result: bellman.Accepted, Status: 200,
			Response: "success", Node: "node-1"}}
}

// BenchmarkDueAfterMany scans from the front after many tasks were due and ended, with and without
// a remembered front.
func BenchmarkDueAfterMany(b *testing.B) {
	s := million(b)
	work(b, s, *waiting)
	for _, forget := range []bool{false, true} {
		b.Run(fmt.Sprint("forget=", forget), func(b *testing.B) {
			for b.Loop() {
				if forget {
					s.front.low = firstPosition
				}
				if _, err := s.Due(bg, allShards(), store.Position{}, time.Now().UnixMilli(), 1000, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkListPending lists the newest pending tasks, behind many that have ended since.
func BenchmarkListPending(b *testing.B) {
	s := million(b)
	work(b, s, *waiting)
	pending := bellman.Pending
	for b.Loop() {
		tasks, _, err := s.List(bg, store.Filter{State: &pending}, bellman.ID{}, 1000)
		if err != nil || len(tasks) != 1000 {
			b.Fatal(len(tasks), err)
		}
	}
}

// work adds n tasks and ends them.
func work(b *testing.B, s *Store, n int) {
	var before []bellman.ID
	for i := 0; i < n; i += 512 {
		now := time.Now()
		batch := newBatch(i, 512, now)
		for _, id := range before {
			batch.Changes = append(batch.Changes, succeed(id, now))
		}
		if err := s.Commit(bg, batch); err != nil {
			b.Fatal(err)
		}
		before = before[:0]
		for _, a := range batch.Adds {
			before = append(before, a.Task.ID)
		}
	}
}

// BenchmarkOpen opens a store with a million tasks after a kill.
func BenchmarkOpen(b *testing.B) {
	s := million(b)
	work(b, s, 20_000) // so that the log is not empty
	for b.Loop() {
		b.StopTimer()
		dir := filepath.Join(b.TempDir(), "copy")
		if err := s.Backup(dir); err != nil { // the copy's log is not yet flushed to table files
			b.Fatal(err)
		}
		runtime.GC()
		var m1, m2 runtime.MemStats
		runtime.ReadMemStats(&m1)
		b.StartTimer()
		c, err := Open(dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&m2)
		b.ReportMetric(float64(m2.HeapInuse-m1.HeapInuse)/(1<<20), "heap-MiB")
		c.Close()
		os.RemoveAll(dir)
		b.StartTimer()
	}
}

// BenchmarkCheck checks a store with a million tasks.
func BenchmarkCheck(b *testing.B) {
	s := million(b)
	b.ReportAllocs()
	for b.Loop() {
		if r, err := s.Check(bg); err != nil || r.Wrong != 0 || r.Tasks != int64(*waiting) {
			b.Fatal(r, err)
		}
	}
}
