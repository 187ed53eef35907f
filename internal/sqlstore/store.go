package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

// A Store keeps tasks in a database. Its methods are safe for concurrent use.
type Store struct {
	d      Driver // leaves a connection to beats
	beats  Driver // for heartbeats
	shards int

	life   sync.RWMutex // held for reading by each call, for writing by Close
	closed bool

	wary   atomic.Int32 // number of commits that skip the short way
	folded atomic.Int64 // time of the last fold, Unix ns
	sifted atomic.Int64 // time of the last fold of all rows, Unix ns
	many   atomic.Int64 // when fewPending or more tasks were counted last, Unix ns
	count  counters

	loads loads

	prunes [bellman.Cancelled + 1]pruneStart // by state

	slots slots
}

var _ store.Store = (*Store)(nil)

// Close waits for calls in flight and closes the database. Later calls return ErrClosed.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.d.Close()
}

// enter begins a call, unless the store is closed.
func (s *Store) enter() error {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return bellman.ErrClosed
	}
	return nil
}

func (s *Store) leave() { s.life.RUnlock() }

// read runs statements outside of a transaction and retries if a connection breaks. Each retry
// calls start again and may repeat rows.
func (s *Store) read(ctx context.Context, start func() []*Statement) error {
	return s.readBy(ctx, s.d, start)
}

// readBy is read by one of the store's two drivers.
func (s *Store) readBy(ctx context.Context, d Driver, start func() []*Statement) error {
	for try := 1; ; try++ {
		err := d.Read(ctx, start()...)
		if err == nil || try == 3 || ctx.Err() != nil {
			return s.reached(ctx, err)
		}
		if s.d.Kind(err) == Lost {
			s.count.broken.Add(1)
		}
		if kind := s.d.Kind(err); kind != Lost && kind != Retry && kind != Blocked {
			return err
		}
	}
}

// tries is the maximum number of times a transaction runs, after conflicts or broken connections.
// lost is the time limit for retries after a broken connection.
const (
	tries = 12
	lost  = 5 * time.Second
)

// reached returns err. If a connection broke, the result also wraps ErrUnreachable. If the caller's
// context ended, the database is not at fault.
func (s *Store) reached(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || s.d.Kind(err) != Lost || errors.Is(err, bellman.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w: %w", bellman.ErrUnreachable, err)
}

// write calls f in a transaction and commits it with the statements that f returns. It retries
// after a conflict, or if the connection broke before COMMIT was sent.
func (s *Store) write(ctx context.Context, f func(tx Tx) ([]*Statement, error)) error {
	return s.writeBy(ctx, s.d, f)
}

// writeBy is write by one of the store's two drivers.
func (s *Store) writeBy(ctx context.Context, d Driver, f func(tx Tx) ([]*Statement, error)) error {
	began := time.Now()
	for try := 1; ; try++ {
		again, err := s.attemptBy(ctx, d, f)
		if err == nil || !again || try == tries || ctx.Err() != nil {
			return s.reached(ctx, err)
		}
		switch s.d.Kind(err) {
		case Lost:
			if time.Since(began) > lost {
				return s.reached(ctx, err)
			}
		case Blocked:
			if stuck := s.d.Unblock(ctx); stuck != nil {
				return errors.Join(err, stuck)
			}
		}
		if try > 2 {
			// The winning transaction ends within some milliseconds.
			if !sleep.For(ctx, rand.N(time.Millisecond<<min(try, 7))) {
				return err
			}
		}
	}
}

// awaitsCaller reports whether a lock wait that timed out was for the key or the alias of a new
// task. A caller's transaction may hold it for an hour, and all rows of the batch would wait as
// long. So the engine finds the row: see store.Tasks.
func awaitsCaller(err error) bool {
	failed, is := errors.AsType[*Failed](err)
	if !is || failed.Statement.Insert == nil {
		return false
	}
	into := failed.Statement.Insert.Into
	return into == "bellman_task" || into == "bellman_alias"
}

// attempt calls f in a transaction and commits it. It reports whether a retry is safe: nothing was
// written then.
func (s *Store) attempt(ctx context.Context, f func(tx Tx) ([]*Statement, error)) (again bool, err error) {
	return s.attemptBy(ctx, s.d, f)
}

// attemptBy is attempt by one of the store's two drivers.
func (s *Store) attemptBy(ctx context.Context, d Driver, f func(tx Tx) ([]*Statement, error)) (again bool, err error) {
	tx, err := d.Begin(ctx)
	if err != nil {
		return s.d.Kind(err) == Lost, err
	}
	last, err := f(tx)
	if err != nil {
		tx.Rollback()
	} else {
		if err = tx.Commit(ctx, last...); err == nil {
			s.count.transactions.Add(1)
			return false, nil
		}
		if _, is := errors.AsType[*Failed](err); !is && s.d.Kind(err) == Lost {
			s.count.unknown.Add(1)
			return false, fmt.Errorf("%w: %w", bellman.ErrUnknown, err)
		}
	}
	switch kind := s.d.Kind(err); kind {
	case Retry, Blocked, Duplicate:
		if kind == Blocked && awaitsCaller(err) {
			return false, fmt.Errorf("%w: %w", bellman.ErrLocked, err)
		}
		s.count.again.Add(1)
		return true, err
	case Lost:
		s.count.broken.Add(1)
		return true, err
	case Full:
		return false, fmt.Errorf("%w: %w", bellman.ErrFull, err)
	}
	return errors.Is(err, ErrRaced), err
}
