package postgres_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/store/postgres"
)

// An order service marks an order as paid and adds the merchant's notification in one transaction:
// both are written, or neither.
func ExampleAddTx() {
	ctx, stop := context.WithCancel(context.Background())
	url := os.Getenv("DATABASE_URL")

	// An engine notifies merchants, in this process or in another one. Its handler is usually one
	// of package deliver.
	told := make(chan string)
	notify := engine.Queue{Name: "merchant-notify", Handler: bellman.HandlerFunc(func(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
		told <- t.OrderNo
		return bellman.Verdict{Next: bellman.Succeed}
	})}
	store, err := postgres.Open(ctx, url, postgres.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	e, err := engine.New(engine.Options{Store: store, Queues: []engine.Queue{notify}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	ran := make(chan error)
	go func() { ran <- e.Run(ctx) }()

	// The order service has its own pool, and the rules of the queue.
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "CREATE TABLE orders (no TEXT PRIMARY KEY, state TEXT NOT NULL)"); err != nil {
		log.Fatal(err)
	}
	rules, err := engine.NewRules(notify)
	if err != nil {
		log.Fatal(err)
	}
	paid := func(no string) error {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback(context.WithoutCancel(ctx)) // does nothing after Commit
		if _, err := tx.Exec(ctx, "INSERT INTO orders (no, state) VALUES ($1, 'PAID')", no); err != nil {
			return err
		}
		_, err = postgres.AddTx(ctx, tx, rules.Prepare(&bellman.Task{Queue: "merchant-notify", Key: no + "/paid", OrderNo: no, Body: []byte("…")})...)
		if err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
	if err := paid("20261120000001"); err != nil {
		log.Fatal(err)
	}
	fmt.Println("told of", <-told)
	fmt.Println("again:", paid("20261120000001") != nil) // the order exists already
	stop()
	if err := <-ran; err != nil {
		log.Fatal(err)
	}
	// Prints:
	// told of 20261120000001
	// again: true
}

// TestExample runs the example, which needs a database.
func TestExample(t *testing.T) {
	t.Setenv("DATABASE_URL", scratchtest.New(t, "postgres").URL)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = write
	defer func() { os.Stdout = stdout }()
	ExampleAddTx()
	write.Close()
	got, err := io.ReadAll(read)
	if want := "told of 20261120000001\nagain: true\n"; err != nil || string(got) != want {
		t.Errorf("the example prints %q, %v; want %q", got, err, want)
	}
}
