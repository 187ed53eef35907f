package sqlstore_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/mysql"
)

// weekStep is how many simulated hours one step takes.
const weekStep = 2

// weekly says, by state, how many tasks end at each step, how many attempts each has, and for how
// many hours it is kept.
var weekly = map[bellman.State]struct{ tasks, attempts, keep int }{
	bellman.Succeeded: {40, 1, 24},
	bellman.Failed:    {8, 3, 48},
	bellman.Cancelled: {4, 0, 12},
}

// TestWeek simulates a week of steady load, in which tasks end and are deleted when their retention
// is over. From the third day on no table has more rows than on the day before.
func TestWeek(t *testing.T) { each(t, testWeek) }

func testWeek(t *testing.T, kind database) {
	d := kind.driver(t)
	ctx := context.Background()
	s, err := sqlstore.New(ctx, d)
	must(t, err)
	tables := []string{"task", "live", "ended", "attempt", "alias", "depth", "count", "doc", "audit", "node", "shard"}
	rows := func() (n []int64) {
		for _, table := range tables {
			must(t, d.Read(ctx, &sqlstore.Statement{Name: "count", Text: "SELECT COUNT(*) FROM bellman_" + table, Each: func(r sqlstore.Row) error {
				var rows int64
				err := r.Scan(&rows)
				n = append(n, rows)
				return err
			}}))
		}
		return n
	}
	start := time.Now().Add(-7 * 24 * time.Hour)
	var before []int64
	for hour := 0; hour <= 7*24; hour += weekStep {
		now := start.Add(time.Duration(hour) * time.Hour)
		for state, w := range weekly {
			live(t, s, now, state, w.tasks, w.attempts)
			for n := 500; n == 500; { // deletes in pages, like the engine
				n, err = s.Prune(ctx, state, now.Add(-time.Duration(w.keep)*time.Hour), 500)
				must(t, err)
			}
		}
		if hour%24 != 0 {
			continue
		}
		have := rows()
		if hour > 2*24 && !slices.Equal(have[:5], before[:5]) {
			t.Errorf("day %d: %v rows of %v, %v the day before; want no growth", hour/24, have, tables, before)
		}
		before = have
	}
	var tasks, attempts int64
	for _, w := range weekly {
		tasks += int64(w.tasks * (w.keep/weekStep + 1))
		attempts += int64(w.tasks * max(w.attempts-1, 0) * (w.keep/weekStep + 1)) // the last attempt is in the row of the task's end
	}
	if want := []int64{tasks, 0, tasks, attempts, tasks / 2}; !slices.Equal(before[:5], want) {
		t.Errorf("%v rows of %v, want %v", before[:5], tables[:5], want)
	}
	if counters := before[5]; counters > 4*64 { // states × slots
		t.Errorf("%d counters; want at most %d", counters, 4*64)
	}
}

// live adds n tasks and ends them in a state, after a number of attempts.
func live(t *testing.T, s store.Store, now time.Time, state bellman.State, n, attempts int) {
	t.Helper()
	ctx := context.Background()
	b := aliased(sqltest.Adds(0, n, now))
	must(t, s.Commit(ctx, b))
	for number := 1; number <= max(attempts, 1); number++ {
		to := bellman.Status{State: bellman.Pending, Attempts: int32(number), Due: now, VisibleAt: now, Updated: now}
		if number >= attempts {
			to = bellman.Status{State: state, Reason: "so it is", Attempts: int32(attempts), Updated: now, Finished: now}
		}
		change := &store.Batch{}
		for _, a := range b.Adds {
			to.Shard = a.Task.Shard
			c := store.Change{ID: a.Task.ID, Version: uint32(number), To: to}
			if attempts > 0 {
				c.Attempt = &bellman.Attempt{Number: number, Due: now, Started: now, Result: bellman.Accepted, Status: 200}
			}
			change.Changes = append(change.Changes, c)
		}
		must(t, s.Commit(ctx, change))
		for _, c := range change.Changes {
			must(t, c.Err)
		}
	}
}

// aliased gives every other task of a batch an alias.
func aliased(b *store.Batch) *store.Batch {
	for i := range b.Adds {
		if t := b.Adds[i].Task; i%2 == 0 {
			t.SetAlias("account/" + t.Key)
		}
	}
	return b
}

// A halting driver stops transactions that delete tasks before they commit.
type halting struct {
	sqlstore.Driver
	reached, on chan struct{}
}

func (h *halting) Begin(ctx context.Context) (sqlstore.Tx, error) {
	tx, err := h.Driver.Begin(ctx)
	return &haltingTx{tx, h}, err
}

type haltingTx struct {
	sqlstore.Tx
	h *halting
}

func (t *haltingTx) Commit(ctx context.Context, statements ...*sqlstore.Statement) error {
	if !slices.ContainsFunc(statements, func(s *sqlstore.Statement) bool { return s.Name == "delete tasks" }) {
		return t.Tx.Commit(ctx, statements...)
	}
	if err := t.Tx.Send(ctx, statements...); err != nil {
		t.Rollback()
		return err
	}
	close(t.h.reached)
	<-t.h.on
	return t.Tx.Commit(ctx)
}

// stopped is how long a test lets a transaction wait for its client, and how long locks are waited
// for. It exceeds everything that others do meanwhile.
const stopped = 4 * time.Minute

// TestPruneBlocksNobody stops a prune in the middle of its transaction, while it holds all its
// locks. Meanwhile tasks of the same queue are added, attempted, ended in the same state, listed
// and counted, and none of these calls waits.
func TestPruneBlocksNobody(t *testing.T) { each(t, testPruneBlocksNobody) }

func testPruneBlocksNobody(t *testing.T, kind database) {
	ctx := context.Background()
	d := kind.with(t, kind.empty(t), mysql.Options{Stopped: stopped}).Driver()
	h := &halting{d, make(chan struct{}), make(chan struct{})}
	s, err := sqlstore.New(ctx, h)
	must(t, err)
	old := time.Now().Add(-time.Hour)
	live(t, s, old, bellman.Succeeded, 300, 1)
	pruned := make(chan int, 1)
	go func() {
		n, err := s.Prune(ctx, bellman.Succeeded, time.Now().Add(-time.Minute), 100)
		if err != nil {
			t.Error(err)
		}
		pruned <- n
	}()
	<-h.reached
	goOn := sync.OnceFunc(func() { close(h.on) })
	defer goOn()
	leases := sqltest.LeaseAll(t, s)
	soon, cancel := context.WithTimeout(ctx, stopped/2) // shorter than locks are waited for
	defer cancel()
	for range 10 {
		now := time.Now()
		b := aliased(sqltest.Adds(0, 50, now))
		b.Leases = leases
		if err := s.Commit(soon, b); err != nil {
			t.Fatalf("beside a prune: Commit() = %v", err)
		}
		if err := s.Commit(soon, &store.Batch{Leases: leases, Changes: sqltest.Succeed(b, now)}); err != nil {
			t.Fatalf("beside a prune: Commit() = %v", err)
		}
		succeeded := bellman.Succeeded
		if _, _, err := s.List(soon, store.Filter{State: &succeeded}, bellman.ID{}, 100); err != nil {
			t.Fatalf("beside a prune: List() = %v", err)
		}
		if _, err := s.Depths(soon); err != nil {
			t.Fatalf("beside a prune: Depths() = %v", err)
		}
	}
	goOn()
	if n := <-pruned; n != 100 {
		t.Errorf("Prune() = %d, want 100", n)
	}
	if n := count(t, s); n != [2]int64{0, 300 + 500 - 100} {
		t.Errorf("%v tasks are pending and succeeded, want 0 and 700", n)
	}
}

// BenchmarkPrune measures commits of 64 added tasks and 64 ended ones, alone and beside a prune
// that never stops.
func BenchmarkPrune(b *testing.B) {
	for _, d := range databases {
		b.Run(d.name, func(b *testing.B) { benchPrune(b, d.store(b)) })
	}
}

func benchPrune(b *testing.B, s store.Store) {
	ctx := context.Background()
	const kept = 100_000
	leases := sqltest.LeaseAll(b, s)
	for _, beside := range []bool{false, true} {
		name := map[bool]string{false: "alone", true: "beside"}[beside]
		b.Run(name, func(b *testing.B) {
			sqltest.Finish(b, s, kept)
			var stop atomic.Bool
			ended := make(chan int)
			go func() {
				total := 0
				for beside && !stop.Load() {
					n, err := s.Prune(ctx, bellman.Succeeded, time.Now().Add(time.Minute), 500)
					if err != nil {
						b.Error(err)
						break
					}
					total += n
				}
				ended <- total
			}()
			var took []time.Duration
			var before *store.Batch
			for b.Loop() {
				now := time.Now()
				batch := sqltest.Adds(0, 64, now.Add(time.Hour))
				batch.Leases = leases
				if before != nil {
					batch.Changes = sqltest.Succeed(before, now.Add(time.Hour)) // these are not due for pruning
				}
				before = batch
				if err := s.Commit(ctx, batch); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(now))
			}
			stop.Store(true)
			total := <-ended
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "pruned/s")
		})
	}
}
