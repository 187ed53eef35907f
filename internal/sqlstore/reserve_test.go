package sqlstore

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
)

// A locked database has three connections. It answers heartbeats, and nothing else until it is
// unlocked, as if somebody had locked a table.
type locked struct {
	Driver
	conns    chan struct{}
	unlocked chan struct{}
}

func (l *locked) Pool() Pool { return Pool{Most: cap(l.conns)} }

func (l *locked) KeepsVersions() bool { return false }

func (l *locked) Kind(error) Kind { return Other }

func (l *locked) Read(ctx context.Context, statements ...*Statement) error {
	select {
	case l.conns <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.conns }()
	if statements[0].Name == "beat" {
		statements[0].Affected = 1
		return nil
	}
	select {
	case <-l.unlocked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *locked) Begin(context.Context) (Tx, error) {
	l.conns <- struct{}{}
	return lockedTx{l}, nil
}

type lockedTx struct{ l *locked }

func (t lockedTx) Send(context.Context, ...*Statement) error   { return nil }
func (t lockedTx) Commit(context.Context, ...*Statement) error { t.Rollback(); return nil }
func (t lockedTx) Rollback()                                   { <-t.l.conns }

// TestHeartbeatBesideReads reads more tasks at one time than there are connections, while the
// database answers none of these reads. Its heartbeats are answered, so the node keeps its shards.
func TestHeartbeatBesideReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &locked{conns: make(chan struct{}, 3), unlocked: make(chan struct{})}
		s := newStore(d)
		var readers sync.WaitGroup
		const many = 10
		errs := make(chan error, many)
		for range many {
			readers.Go(func() {
				_, err := s.Task(t.Context(), bellman.NewID())
				errs <- err
			})
		}
		synctest.Wait() // all of them have a connection, or wait for one
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Beat(ctx, "n"); err != nil {
			t.Errorf("Beat() = %v", err)
		}
		if waits := s.d.Pool().Waits; waits != 0 {
			t.Errorf("%d waits have ended, want none yet", waits)
		}
		time.Sleep(3*reserveWait + time.Second) // a read tries three times
		for range many - 2 {
			if err := <-errs; !errors.Is(err, bellman.ErrUnreachable) {
				t.Errorf("Task() without a connection = %v; want ErrUnreachable", err)
			}
		}
		if p := s.d.Pool(); p.Waits != 3*(many-2) || p.Waited < (many-2)*3*reserveWait {
			t.Errorf("%d waits of %v in all, want %d of %v each", p.Waits, p.Waited, 3*(many-2), reserveWait)
		}
		close(d.unlocked)
		readers.Wait()
		for range 2 {
			if err := <-errs; !errors.Is(err, bellman.ErrNotFound) {
				t.Errorf("Task() with a connection = %v; want ErrNotFound", err)
			}
		}
	})
}

// TestConnectionsComeBack ends more transactions than there are connections, in both ways.
func TestConnectionsComeBack(t *testing.T) {
	s := newStore(&locked{conns: make(chan struct{}, 3)})
	wrong := errors.New("wrong")
	for _, err := range []error{wrong, nil, wrong, nil, wrong, nil} {
		if _, got := s.attempt(t.Context(), func(Tx) ([]*Statement, error) { return nil, err }); !errors.Is(got, err) {
			t.Errorf("attempt() = %v, want %v", got, err)
		}
	}
	if left := len(s.d.(*reserving).inUse); left != 0 {
		t.Errorf("%d connections did not come back", left)
	}
}
