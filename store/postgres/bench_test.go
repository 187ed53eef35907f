package postgres

import (
	"context"
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
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/storetest"
)

// BenchmarkChains measures the cost of a long chain of an ordering key.
func BenchmarkChains(b *testing.B) {
	storetest.Chains(b, func(b *testing.B) store.Store { return openTest(b, newDatabase(b), Options{}) })
}

// BenchmarkAddTx has 64 clients that each pay an order and add its notification in one transaction.
// With notify the transaction also has a NOTIFY: PostgreSQL commits such transactions one at a time
// for the whole server. The delay makes each commit longer, as a slower disk or a synchronous
// standby would; it is commit_delay, which a superuser may set. On a busy machine with two cores:
// 1,400 commits a second at each delay without NOTIFY, and 450, 200 and 110 with it.
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
	rules, err := engine.NewRules(engine.Queue{Name: "paid", Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict { return bellman.Verdict{} })})
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
