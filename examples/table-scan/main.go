// A replacement for a job that scanned a table each minute for orders whose merchants must be
// notified: the remaining rows are handed over, and new orders need no scan.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/postgres"
)

// The old job read the first hundred rows each minute:
//
//	SELECT … FROM example_scan WHERE pay_status = 1 AND notify_status = 0
//
// It left the others for later, and read finished rows again and again.
const table = `
DROP TABLE IF EXISTS example_scan;
CREATE TABLE example_scan (id BIGSERIAL PRIMARY KEY, order_no TEXT NOT NULL, merchant_no TEXT NOT NULL, pay_status INT NOT NULL, notify_status INT NOT NULL);
INSERT INTO example_scan (order_no, merchant_no, pay_status, notify_status)
	SELECT 'O' || n, 'M' || n % 7, (n % 3 > 0)::INT, (n % 5 = 0)::INT FROM generate_series(1, 1000) n`

// handedOver is a notify_status that the old job does not select.
const handedOver = 2

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // SIGTERM: Kubernetes, systemd
	defer stop()
	if err := run(ctx, os.Getenv("DATABASE_URL")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string) error {
	if url == "" {
		return errors.New("DATABASE_URL is not set: want postgres://USER@HOST:5432/DATABASE of a database for this example")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, table); err != nil {
		return err
	}
	var notified atomic.Int64
	notify := engine.Queue{Name: "merchant-notify", Schedule: "wechat_notify",
		Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
			notified.Add(1) // in production: package deliver, over HTTP
			return bellman.Verdict{Next: bellman.Succeed}
		})}
	store, err := postgres.Open(ctx, url, postgres.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	e, err := engine.New(engine.Options{Store: store, Queues: []engine.Queue{notify}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()

	var all []bellman.ID
	for pages := 0; ; pages++ {
		ids, err := handOver(ctx, pool, e, 100)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			fmt.Printf("%d orders were left by the old job: taken over in %d transactions\n", len(all), pages)
			break
		}
		all = append(all, ids...)
	}

	// From now on each order is handed over in the transaction that marks it as paid.
	id, err := paid(ctx, pool, e, "O-new", "M1")
	if err != nil {
		return err
	}
	for _, id := range append(all, id) {
		if _, err := e.Wait(ctx, id); err != nil {
			return err
		}
	}
	fmt.Println("notified, with one that was paid since:", notified.Load())
	stop()
	return <-ran
}

// handOver hands over up to limit rows that the old job would still select. It can be repeated
// safely, because each task has a key.
func handOver(ctx context.Context, pool *pgxpool.Pool, e *engine.Engine, limit int) (ids []bellman.ID, err error) {
	return ids, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `UPDATE example_scan SET notify_status = $1 WHERE id IN (
			SELECT id FROM example_scan WHERE pay_status = 1 AND notify_status = 0 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)
			RETURNING order_no, merchant_no`, handedOver, limit)
		if err != nil {
			return err
		}
		var tasks []*bellman.Task
		var no, merchant string
		if _, err := pgx.ForEachRow(rows, []any{&no, &merchant}, func() error {
			tasks = append(tasks, notification(no, merchant))
			return nil
		}); err != nil {
			return err
		}
		added, err := postgres.AddTx(ctx, tx, e.Prepare(tasks...)...)
		for _, a := range added {
			ids = append(ids, a.ID)
		}
		return err
	})
}

// paid is the service's code for a paid order.
func paid(ctx context.Context, pool *pgxpool.Pool, e *engine.Engine, no, merchant string) (id bellman.ID, err error) {
	return id, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO example_scan (order_no, merchant_no, pay_status, notify_status) VALUES ($1, $2, 1, $3)`, no, merchant, handedOver); err != nil {
			return err
		}
		added, err := postgres.AddTx(ctx, tx, e.Prepare(notification(no, merchant))...)
		if err == nil {
			id = added[0].ID
		}
		return err
	})
}

func notification(no, merchant string) *bellman.Task {
	return &bellman.Task{Queue: "merchant-notify", Key: no + "/paid", MerchantNo: merchant, OrderNo: no, Event: "payment.succeeded"}
}
