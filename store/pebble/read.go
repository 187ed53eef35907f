package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// get calls f with the row of key. f must not keep the row. If the row does not exist, get returns
// bellman.ErrNotFound.
func get(r lsm.Reader, key []byte, f func(row []byte) error) error {
	row, closer, err := r.Get(key)
	if errors.Is(err, lsm.ErrNotFound) {
		return bellman.ErrNotFound
	}
	if err != nil {
		return err
	}
	return errors.Join(f(row), closer.Close())
}

// get is the function get, faster if r is the store itself.
func (s *Store) get(r lsm.Reader, key []byte, f func(row []byte) error) error {
	if r == lsm.Reader(s.db) {
		return s.seek(key, f)
	}
	return get(r, key, f)
}

// status reads the status of a pending or ended task.
func (s *Store) status(r lsm.Reader, id bellman.ID) (st status, err error) {
	var key [32]byte
	for _, state := range [...]bellman.State{bellman.Pending, bellman.Succeeded, bellman.Failed, bellman.Cancelled} {
		err = s.get(r, statusKey(key[:0], state, id), func(row []byte) error { return parseStatus(row, id, &st) })
		if !errors.Is(err, bellman.ErrNotFound) {
			return st, err
		}
	}
	return st, err
}

// cold reads the part of a task that never changes.
func (s *Store) cold(r lsm.Reader, id bellman.ID) (*bellman.Task, error) {
	t := new(bellman.Task)
	err := s.get(r, coldKey(make([]byte, 0, 32), id), func(row []byte) error { return s.parseTask(row, id, t) })
	return t, err
}

// parseTask decodes a cold row, including the name of the queue.
func (s *Store) parseTask(row []byte, id bellman.ID, t *bellman.Task) error {
	queue, err := parseCold(row, id, t)
	if err != nil {
		return fmt.Errorf("task %s: %w", id, err)
	}
	name, ok := s.queues.name(queue)
	if !ok {
		return fmt.Errorf("task %s: queue number %d has no name", id, queue)
	}
	t.Queue = name
	return nil
}

// last reads the newest of the first attempts of a task; nil if the task has none.
func (s *Store) last(r lsm.Reader, id bellman.ID, attempts int) (*bellman.Attempt, error) {
	if attempts == 0 {
		return nil, nil
	}
	a := new(bellman.Attempt)
	err := s.get(r, attemptKey(make([]byte, 0, 32), id, attempts), func(row []byte) error {
		return parseAttempt(row, id, attempts, a)
	})
	if !errors.Is(err, bellman.ErrNotFound) {
		return a, err
	}
	// An attempt may have no record, for example if its node died.
	iter, err := r.NewIter(within(attemptKey(nil, id, 0)[:17]))
	if err != nil {
		return nil, err
	}
	defer iter.Close()
	if !iter.SeekLT(attemptKey(nil, id, attempts)) {
		return nil, iter.Error()
	}
	return a, parseAttempt(iter.Value(), id, attemptNumber(iter.Key()), a)
}

func attemptNumber(key []byte) int { return int(binary.BigEndian.Uint32(key[17:])) }

// Task reads a task, with Last. ErrNotFound: no task has this id.
func (s *Store) Task(_ context.Context, id bellman.ID) (*bellman.Task, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	t, err := s.task(s.db, id)
	if !errors.Is(err, bellman.ErrNotFound) {
		return t, err
	}
	// A task that ends, or is pending again, moves between tables. Only a snapshot shows it for
	// sure.
	snapshot := s.db.NewSnapshot()
	defer snapshot.Close()
	return s.task(snapshot, id)
}

// task reads a task, with Last. Without a snapshot, task may return ErrNotFound for a task that
// moves between tables. Otherwise its rows belong together, because only the status row ever
// changes.
func (s *Store) task(r lsm.Reader, id bellman.ID) (*bellman.Task, error) {
	t, err := s.cold(r, id)
	if err != nil {
		return nil, err
	}
	st, err := s.status(r, id)
	if err != nil {
		return nil, fmt.Errorf("task %s: status: %w", id, err)
	}
	t.Status = st.Status
	t.Last, err = s.last(r, id, int(st.Attempts))
	return t, err
}

// Find returns the task that has each key or alias.
func (s *Store) Find(ctx context.Context, keys []store.Key) ([]store.Found, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	found := make([]store.Found, len(keys))
	for i, k := range keys {
		queue, known := uint32(aliases), true
		if k.Queue != "" {
			queue, known = s.queues.number(k.Queue)
		}
		if !known || k.Key == "" || len(k.Key) > maxName {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := s.lookup(s.db, queue, k.Key)
		if err != nil && !errors.Is(err, bellman.ErrNotFound) {
			return nil, fmt.Errorf("look up key %q of queue %q: %w", k.Key, k.Queue, err)
		}
		found[i] = store.Found{ID: c.id, Digest: c.digest}
	}
	return found, nil
}

// lookup returns the task that has a key, or an alias. ErrNotFound: no task has it.
func (s *Store) lookup(r lsm.Reader, queue uint32, key string) (c claimed, err error) {
	err = s.get(r, keyKey(nil, queue, key), func(row []byte) (err error) {
		c, err = parseClaimed(row)
		return err
	})
	return c, err
}

// Attempts reads up to limit attempts of a task with numbers above after, in ascending order.
func (s *Store) Attempts(ctx context.Context, id bellman.ID, after, limit int) ([]bellman.Attempt, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	iter, err := s.db.NewIterWithContext(ctx, within(attemptKey(nil, id, 0)[:17]))
	if err != nil {
		return nil, err
	}
	defer iter.Close()
	var attempts []bellman.Attempt
	for ok := iter.SeekGE(attemptKey(nil, id, max(after, 0)+1)); ok && len(attempts) < limit; ok = iter.Next() {
		row, err := iter.ValueAndErr()
		if err != nil {
			return nil, err
		}
		var a bellman.Attempt
		if err := parseAttempt(row, id, attemptNumber(iter.Key()), &a); err != nil {
			return nil, fmt.Errorf("attempt of task %s: %w", id, err)
		}
		attempts = append(attempts, a)
	}
	return attempts, iter.Error()
}
