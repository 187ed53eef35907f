package postgres

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/storetest"
)

var waiting = flag.Int("waiting", 200_000, "tasks that wait in the store that is measured")

func BenchmarkStore(b *testing.B) {
	s := openTest(b, newDatabase(b), Options{})
	sqltest.Fill(b, s, *waiting)
	sqltest.Bench(b, s)
}

// TestStatementsPerTask lets an engine work through what is stored: statements
// are for many tasks at once.
func TestStatementsPerTask(t *testing.T) {
	perTask, perSecond := sqltest.Drain(t, connectTest(t, newDatabase(t)), *drained)
	t.Logf("%.3f statements a task, %.0f tasks a second", perTask, perSecond)
	if perTask > 0.1 {
		t.Errorf("%.3f statements a task, want at most 0.1", perTask)
	}
}

var drained = flag.Int("drained", 10_000, "tasks that an engine works through")

// BenchmarkChains measures what a long chain of an ordering key costs.
func BenchmarkChains(b *testing.B) {
	storetest.Chains(b, func(b *testing.B) store.Store { return openTest(b, newDatabase(b), Options{}) })
}

// BenchmarkSnapshot is tasks that come and go while somebody has a transaction open that reads, such as a backup: what
// they leave behind cannot be cleaned up. After 300 commits of 64 tasks, on a busy machine, a look at what is due took 22 ms
// instead of 0.6, and a commit 12 ms instead of 8; it grows with what has come and gone since the transaction began.
func BenchmarkSnapshot(b *testing.B) {
	for _, open := range []bool{false, true} {
		b.Run(fmt.Sprintf("open=%t", open), func(b *testing.B) {
			ctx := context.Background()
			url := newDatabase(b)
			s := openTest(b, url, Options{})
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close(ctx)
			if open {
				if _, err := conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM bellman_shard"); err != nil {
					b.Fatal(err)
				}
			}
			sqltest.BenchChurn(b, s)
		})
	}
}

// BenchmarkAddTx is 64 clients that each pay an order and add its notification in one
// transaction. With notify the transaction also has a NOTIFY: PostgreSQL commits such transactions one at a
// time for the whole server. The delay is how much longer a commit takes than on this machine, as on a slower disk or
// with a synchronous standby; it is commit_delay, which a superuser may set. On a busy machine with two cores: 1,400 commits a second at
// each delay without NOTIFY, and 450, 200 and 110 with it.
func BenchmarkAddTx(b *testing.B) {
	ctx := context.Background()
	url := newDatabase(b)
	openTest(b, url, Options{})
	const clients = 64
	open := func(delay time.Duration) *pgxpool.Pool {
		config, err := pgxpool.ParseConfig(url)
		if err != nil {
			b.Fatal(err)
		}
		config.MaxConns = clients
		config.ConnConfig.RuntimeParams["commit_delay"] = strconv.FormatInt(delay.Microseconds(), 10)
		config.ConnConfig.RuntimeParams["commit_siblings"] = "1"
		pool, err := pgxpool.NewWithConfig(ctx, config)
		if err != nil {
			b.Fatal(err)
		}
		return pool
	}
	first := open(0)
	_, err := first.Exec(ctx, "CREATE TABLE paid (id BIGSERIAL PRIMARY KEY, amount BIGINT NOT NULL)")
	first.Close()
	if err != nil {
		b.Fatal(err)
	}
	rules, err := engine.NewRules(engine.Queue{Name: "paid", Handler: bellman.HandlerFunc(nil)})
	if err != nil {
		b.Fatal(err)
	}
	pay := func(pool *pgxpool.Pool, notify bool) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO paid (amount) VALUES (1)"); err != nil {
				return err
			}
			if _, err := AddTx(ctx, tx, rules.Prepare(&bellman.Task{Queue: "paid", Delay: time.Hour})...); err != nil || !notify {
				return err
			}
			_, err := tx.Exec(ctx, "SELECT pg_notify('bench', 'paid')")
			return err
		})
	}
	for _, way := range []struct {
		delay  time.Duration
		notify bool
	}{{0, false}, {0, true}, {5 * time.Millisecond, false}, {5 * time.Millisecond, true}, {20 * time.Millisecond, false}, {20 * time.Millisecond, true}} {
		b.Run(fmt.Sprintf("delay=%v/notify=%t", way.delay, way.notify), func(b *testing.B) {
			pool := open(way.delay)
			defer pool.Close()
			var left atomic.Int64
			left.Store(int64(b.N))
			var group sync.WaitGroup
			for range clients {
				group.Go(func() {
					for left.Add(-1) >= 0 {
						if err := pay(pool, way.notify); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}
