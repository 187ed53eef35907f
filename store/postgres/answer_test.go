package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/sqlstore"
)

// TestLostReply makes the server answer later than the time limit of an answer. The store must not
// wait forever.
func TestLostReply(t *testing.T) {
	ctx := context.Background()
	d, err := connect(ctx, newDatabase(t), Options{Answer: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	sleep := &sqlstore.Statement{Name: "sleep", Text: "SELECT pg_sleep(20)"}
	for name, call := range map[string]func() error{
		"Read": func() error { return d.Read(ctx, sleep) },
		"Send": func() error {
			tx, err := d.Begin(ctx)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			return tx.Send(ctx, sleep)
		},
		"Commit": func() error {
			tx, err := d.Begin(ctx)
			if err != nil {
				return err
			}
			return tx.Commit(ctx, sleep)
		},
	} {
		err = call()
		if kind := d.Kind(err); kind != sqlstore.Lost {
			t.Errorf("%s() = %v, of kind %d; want a lost connection at the time limit", name, err, kind)
		}
		if _, is := errors.AsType[*sqlstore.Failed](err); name == "Commit" && is {
			t.Errorf("Commit() = %v; want ErrUnknown, because the store cannot know whether it was written", err)
		}
	}
}
