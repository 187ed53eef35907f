package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/store/mysql"
)

// An order service marks an order as paid and adds the merchant's notification in one transaction:
// both are written, or neither.
func ExampleAddTx() {
	ctx, stop := context.WithCancel(context.Background())
	url := os.Getenv("DATABASE_URL") // mysql://user:password@host:3306/database

	// An engine notifies merchants, in this process or in another one. Its handler is usually one
	// of package deliver.
	told := make(chan string)
	notify := engine.Queue{Name: "merchant-notify", Handler: bellman.HandlerFunc(func(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
		told <- t.OrderNo
		return bellman.Verdict{Next: bellman.Succeed}
	})}
	store, err := mysql.Open(ctx, url, mysql.Options{})
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
	db, err := sql.Open("mysql", os.Getenv("DATABASE_DSN")) // user:password@tcp(host:3306)/database
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE TABLE orders (no VARCHAR(64) PRIMARY KEY, state TEXT NOT NULL)"); err != nil {
		log.Fatal(err)
	}
	rules, err := engine.NewRules(notify)
	if err != nil {
		log.Fatal(err)
	}
	paid := func(no string) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // does nothing after Commit
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (no, state) VALUES (?, 'PAID')", no); err != nil {
			return err
		}
		_, err = mysql.AddTx(ctx, tx, rules.Prepare(&bellman.Task{Queue: "merchant-notify", Key: no + "/paid", OrderNo: no, Body: []byte("…")})...)
		if err != nil {
			return err
		}
		return tx.Commit()
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
	url := scratchtest.New(t, "mysql").URL
	t.Setenv("DATABASE_URL", url)
	t.Setenv("DATABASE_DSN", mysql.DSN(t, url))
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
