package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/mysql"
	"github.com/bellmanhq/bellman/store/storetest"
)

// A Fault is a way in which a call fails.
type Fault int

const (
	None   Fault = iota
	Before       // the connection breaks before the call, and nothing is done
	After        // the connection breaks after the call: it is done, but the caller gets an error
)

// Lost is the error of a call that failed on purpose.
type Lost struct {
	Call string
	Done bool // whether the call was done all the same
}

func (l *Lost) Error() string { return "injected: connection lost at " + l.Call }

// A Faulty is a Driver whose calls fail when Plan says so.
type Faulty struct {
	sqlstore.Driver
	Plan func(ctx context.Context, call string) Fault // call is "begin", "read", "send" or "commit"
}

// Kind also knows the injected errors.
func (f *Faulty) Kind(err error) sqlstore.Kind {
	if _, is := errors.AsType[*Lost](err); is {
		return sqlstore.Lost
	}
	return f.Driver.Kind(err)
}

// fail calls do, or fails before or after it, as Plan says.
func (f *Faulty) fail(ctx context.Context, call string, do func() error) error {
	fault := f.Plan(ctx, call)
	if fault == Before {
		return &Lost{Call: call}
	}
	if err := do(); err != nil || fault == None {
		return err
	}
	return &Lost{Call: call, Done: true}
}

// Read may fail after rows were returned.
func (f *Faulty) Read(ctx context.Context, statements ...*sqlstore.Statement) error {
	return f.fail(ctx, "read", func() error { return f.Driver.Read(ctx, statements...) })
}

// Begin may fail before or after the transaction has begun.
func (f *Faulty) Begin(ctx context.Context) (sqlstore.Tx, error) {
	if f.Plan(ctx, "begin") != None {
		return nil, &Lost{Call: "begin"}
	}
	tx, err := f.Driver.Begin(ctx)
	return &faultyTx{tx, f}, err
}

type faultyTx struct {
	sqlstore.Tx
	f *Faulty
}

func (t *faultyTx) Send(ctx context.Context, statements ...*sqlstore.Statement) error {
	return t.f.fail(ctx, "send", func() error { return t.Tx.Send(ctx, statements...) })
}

func (t *faultyTx) Commit(ctx context.Context, statements ...*sqlstore.Statement) error {
	err := t.f.fail(ctx, "commit", func() error { return t.Tx.Commit(ctx, statements...) })
	if lost, is := errors.AsType[*Lost](err); is && !lost.Done {
		t.Tx.Rollback()
	}
	return err
}

// wrapped returns a function that opens stores on one database, each with its driver wrapped by
// wrap.
func wrapped(t *testing.T, kind database) func(*testing.T, func(sqlstore.Driver) sqlstore.Driver) *sqlstore.Store {
	made := scratchtest.New(t, kind.name)
	return func(t *testing.T, wrap func(sqlstore.Driver) sqlstore.Driver) *sqlstore.Store {
		t.Helper()
		d := kind.with(t, made.URL, mysql.Options{}).Driver()
		scratchtest.Empty(t, made)
		s, err := sqlstore.New(context.Background(), wrap(d))
		must(t, err)
		return s
	}
}

// TestStoreWithFaults runs storetest on a store whose connections break often, before and after a
// call is done.
func TestStoreWithFaults(t *testing.T) { each(t, testStoreWithFaults) }

func testStoreWithFaults(t *testing.T, kind database) {
	open := wrapped(t, kind)
	var broken atomic.Int64
	storetest.Run(t, func(t *testing.T) store.Store {
		var mu sync.Mutex
		calls, quiet := 0, 8 // no faults while the store opens
		plan := func(ctx context.Context, call string) Fault {
			mu.Lock()
			defer mu.Unlock()
			// Calls fail often, but a quick retry succeeds.
			if calls++; calls <= quiet || call == "commit" && ctx.Value(asked{}) == nil {
				return None
			}
			quiet = calls + 10 + calls%7
			broken.Add(1)
			return Before + Fault(broken.Load()%2)
		}
		return &patient{open(t, func(d sqlstore.Driver) sqlstore.Driver { return &Faulty{d, plan} })}
	})
	if broken.Load() == 0 {
		t.Error("no call failed, so the test shows nothing")
	}
}

// A patient store acts like a caller that retries. It finds out the outcome of an unknown commit,
// here by asking the fault itself.
type patient struct{ *sqlstore.Store }

// asked marks calls whose unknown outcome was resolved.
type asked struct{}

func (p *patient) Commit(ctx context.Context, b *store.Batch) error {
	for {
		err := p.Store.Commit(context.WithValue(ctx, asked{}, true), b)
		var lost *Lost
		switch {
		case !errors.As(err, &lost):
			return err
		case errors.Is(err, bellman.ErrUnknown) && lost.Done:
			return nil
		} // otherwise nothing was written
	}
}

// TestOutcomes breaks the connection at each call of a commit, before and after it, once and
// permanently. It compares the error that the caller gets with what was written.
func TestOutcomes(t *testing.T) { each(t, testOutcomes) }

func testOutcomes(t *testing.T, kind database) {
	ctx, open := context.Background(), wrapped(t, kind)
	at, fault, forever := 0, None, false
	calls := 0
	plan := func(_ context.Context, call string) Fault {
		if calls++; calls == at || forever && calls > at {
			return fault
		}
		return None
	}
	s := open(t, func(d sqlstore.Driver) sqlstore.Driver { return &Faulty{d, plan} })
	leases := sqltest.LeaseAll(t, s)
	seen := map[string]int{}
	for _, forever = range []bool{false, true} {
		for _, way := range []Fault{Before, After} {
			for n := 1; ; n++ {
				at, fault = 0, None
				old, fresh, follow := sqltest.Task(n, time.Now()), sqltest.Task(n+1, time.Now()), sqltest.Task(n+2, time.Now())
				if err := s.Commit(ctx, &store.Batch{Adds: []store.Add{{Task: old}}}); err != nil {
					t.Fatal(err)
				}
				before := count(t, s)
				b := &store.Batch{Leases: leases, Adds: []store.Add{{Task: fresh}},
					Changes: sqltest.Succeed(&store.Batch{Adds: []store.Add{{Task: old}}}, time.Now())}
				b.Changes[0].Follow = []store.Add{{Task: follow}}
				calls, at, fault = 0, n, way
				err := s.Commit(ctx, b)
				made := calls
				at, fault = 0, None
				if made < n {
					break // the commit has fewer calls, so all were tried
				}
				_, freshErr := s.Task(ctx, fresh.ID)
				_, followErr := s.Task(ctx, follow.ID)
				ended, oldErr := s.Task(ctx, old.ID)
				if oldErr != nil {
					t.Fatal(oldErr)
				}
				log, logErr := s.Attempts(ctx, old.ID, 0, 10)
				if logErr != nil {
					t.Fatal(logErr)
				}
				written := freshErr == nil
				if written != (followErr == nil) || written != (ended.State == bellman.Succeeded) || written != (len(log) == 1) {
					t.Errorf("call %d, fault %d: only a part was written: %v, %v, %+v, %v", n, way, freshErr, followErr, ended.Status, log)
				}
				var lost *Lost
				errors.As(err, &lost)
				switch {
				case err == nil && written:
					seen["survived"]++
				case errors.Is(err, bellman.ErrUnknown) && lost.Call == "commit" && written == lost.Done:
					seen[fmt.Sprint("unknown, written: ", written)]++
				case forever && lost != nil && lost.Call != "commit" && !errors.Is(err, bellman.ErrUnknown) && !written:
					seen["failed"]++
				default:
					t.Errorf("call %d, fault %d, forever %t: Commit() = %v, and the batch was written: %t", n, way, forever, err, written)
				}
				want := before
				if written {
					want[0]++ // two more pending, one less
					want[1]++
				}
				if got := count(t, s); got != want {
					t.Errorf("call %d, fault %d: %v tasks are counted, want %v", n, way, got, want)
				}
				// The caller commits the batch again because the outcome was unknown.
				if err := s.Commit(ctx, b); err != nil {
					t.Errorf("second Commit() = %v", err)
				}
				if a := b.Adds[0]; a.Err != nil || written && a.Existing != fresh.ID {
					t.Errorf("second Commit(): Existing = %v, Err = %v; want %v", a.Existing, a.Err, fresh.ID)
				}
				if err := b.Changes[0].Err; written != errors.Is(err, bellman.ErrConflict) {
					t.Errorf("second Commit(): the change has %v, and it was written before: %t", err, written)
				}
			}
		}
	}
	for _, want := range []string{"survived", "unknown, written: true", "unknown, written: false", "failed"} {
		if seen[want] == 0 {
			t.Errorf("no commit ended with %s, only with %v, so the test shows too little", want, seen)
		}
	}
}

// count returns the number of pending and of succeeded tasks in all queues.
func count(t *testing.T, s store.Store) (n [2]int64) {
	t.Helper()
	depths, err := s.Depths(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range depths {
		n[0], n[1] = n[0]+d.Pending, n[1]+d.Succeeded
	}
	return n
}
