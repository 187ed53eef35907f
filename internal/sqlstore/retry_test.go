package sqlstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
)

// A refusing driver answers some calls with an error after which the database has undone the
// transaction.
type refusing struct {
	sqlstore.Driver
	err   error
	at    string // "send" or "commit"
	times int
}

func (r *refusing) refuses(call string) bool {
	if call != r.at || r.times == 0 {
		return false
	}
	r.times--
	return true
}

func (r *refusing) Begin(ctx context.Context) (sqlstore.Tx, error) {
	tx, err := r.Driver.Begin(ctx)
	return &refusingTx{tx, r}, err
}

type refusingTx struct {
	sqlstore.Tx
	r *refusing
}

func (t *refusingTx) Send(ctx context.Context, statements ...*sqlstore.Statement) error {
	if t.r.refuses("send") {
		return &sqlstore.Failed{Statement: statements[0], Err: t.r.err}
	}
	return t.Tx.Send(ctx, statements...)
}

func (t *refusingTx) Commit(ctx context.Context, statements ...*sqlstore.Statement) error {
	if t.r.refuses("commit") {
		t.Tx.Rollback()
		return t.r.err
	}
	return t.Tx.Commit(ctx, statements...)
}

// TestRetries makes a database reject transactions with errors that call for a retry, at a
// statement and at COMMIT. Databases that check for conflicts at COMMIT do this. The caller does
// not see these errors, but gets any other error at once.
func TestRetries(t *testing.T) { each(t, testRetries) }

func testRetries(t *testing.T, kind database) {
	d := kind.driver(t)
	ctx := context.Background()
	r := &refusing{Driver: d}
	s, err := sqlstore.New(ctx, r)
	must(t, err)
	leases := sqltest.LeaseAll(t, s)
	for _, err := range kind.again {
		for _, at := range []string{"commit", "send"} {
			b := sqltest.Adds(0, 3, time.Now())
			b.Leases = leases
			if at == "send" { // only a commit of several steps uses Send
				must(t, s.Commit(ctx, &store.Batch{Adds: b.Adds[:1]}))
			}
			r.err, r.at, r.times = err, at, 4
			if err := s.Commit(ctx, b); err != nil || r.times != 0 {
				t.Errorf("after %d times %v at %s: Commit() = %v; want it retried with success", 4-r.times, r.err, at, err)
			}
			for _, a := range b.Adds {
				if _, err := s.Task(ctx, a.Task.ID); err != nil {
					t.Errorf("Task() = %v", err)
				}
			}
		}
	}
	r.err, r.at, r.times = kind.denied, "commit", 1
	b := sqltest.Adds(0, 1, time.Now())
	if err := s.Commit(ctx, b); !errors.Is(err, kind.denied) || errors.Is(err, bellman.ErrUnknown) {
		t.Errorf("Commit() = %v, want %v", err, kind.denied)
	}
	if _, err := s.Task(ctx, b.Adds[0].Task.ID); !errors.Is(err, bellman.ErrNotFound) {
		t.Errorf("Task() = %v, want ErrNotFound", err)
	}
}
