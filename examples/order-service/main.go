// An order service that marks an order as paid and adds the notification of its merchant in one
// transaction of its own: both happen, or neither.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/postgres"
)

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

	// A merchant that is unavailable at first.
	var asked atomic.Int64
	merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if asked.Add(1) == 1 {
			fmt.Printf("merchant: %s: busy\n", body)
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		fmt.Printf("merchant: %s: success\n", body)
		io.WriteString(w, "success")
	}))
	defer merchant.Close()

	// Engines attempt the tasks in the database: in this process, or in others.
	client, err := deliver.NewClient(deliver.Options{AllowPrivate: true}) // the merchant is on loopback
	if err != nil {
		return err
	}
	defer client.Close()
	handler, err := client.Handler(deliver.Rules{Success: "success_text"})
	if err != nil {
		return err
	}
	notify := engine.Queue{Name: "merchant-notify", Handler: handler, Schedule: "0s, 1s, 15s, 30s, 3m"}
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

	// The service needs its own pool and the queue's rules. No engine has to run in it.
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS example_order (no TEXT PRIMARY KEY, state TEXT NOT NULL)"); err != nil {
		return err
	}
	rules, err := engine.NewRules(notify)
	if err != nil {
		return err
	}
	orders := orders{pool, rules, merchant.URL + "/notify"}

	no := bellman.NewID().String()
	_, err = orders.paid(ctx, no, func() error { return errors.New("the stock could not be booked") })
	fmt.Println("rolled back, and nobody is notified:", err)
	notification, err := orders.paid(ctx, no, func() error { return nil })
	if err != nil {
		return err
	}
	fmt.Println("paid, and committed with the notification")
	task, err := e.Wait(ctx, notification)
	if err != nil {
		return err
	}
	fmt.Println("notified:", task.State, "after", task.Attempts, "attempts")
	stop()
	return <-ran
}

type orders struct {
	pool     *pgxpool.Pool
	rules    *engine.Rules
	merchant string
}

// paid marks an order as paid, adds the notification, and calls also, all in one transaction.
func (o orders) paid(ctx context.Context, no string, also func() error) (notification bellman.ID, err error) {
	tx, err := o.pool.Begin(ctx)
	if err != nil {
		return notification, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // does nothing after Commit
	if _, err := tx.Exec(ctx, "INSERT INTO example_order (no, state) VALUES ($1, 'PAID')", no); err != nil {
		return notification, err
	}
	added, err := postgres.AddTx(ctx, tx, o.rules.Prepare(&bellman.Task{
		Queue: "merchant-notify", Key: no + "/paid", MerchantNo: "M1001", OrderNo: no, Event: "payment.succeeded",
		URL:    o.merchant,
		Header: map[string]string{"Content-Type": "application/json"},
		Body:   []byte(`{"state":"PAID"}`),
	})...)
	if err != nil {
		return notification, err
	}
	if err := also(); err != nil {
		return notification, err
	}
	return added[0].ID, tx.Commit(ctx)
}
