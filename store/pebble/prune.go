package pebble

import (
	"context"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
)

// pruneBatch is the number of tasks that one transaction of Prune deletes.
const pruneBatch = 256

// Prune deletes up to limit tasks, with their attempts, that ended in state and finished before the
// given time.
//
// Prune reads only tasks created before that time. If the clock was set back, a task may finish
// before its creation time, and is deleted later by the difference.
func (s *Store) Prune(ctx context.Context, state bellman.State, before time.Time, limit int) (int, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	if !state.Ended() || state > bellman.Cancelled {
		return 0, fmt.Errorf("prune %s tasks: want an end state", state)
	}
	before = cut(before)
	total := 0
	for total < limit {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		want := min(limit-total, pruneBatch)
		n, err := s.prune(state, before, want)
		total += n
		if err != nil {
			return total, fmt.Errorf("prune %s tasks: %w", state, err)
		}
		if n < want {
			break
		}
	}
	return total, nil
}

// prune deletes up to limit tasks in one transaction.
func (s *Store) prune(state bellman.State, before time.Time, limit int) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return 0, err
	}
	s.stage.reset(s)

	// The mark skips the tombstones of earlier calls.
	bounds := within([]byte{tableEnded, byte(state)})
	bounds.LowerBound = endedKey(nil, state, s.pruned[state])
	bounds.UpperBound = endedKey(nil, state, bellman.FirstID(before))
	iter, err := s.db.NewIter(bounds)
	if err != nil {
		return 0, err
	}
	defer iter.Close()
	mark, kept := s.pruned[state], false
	for ok := iter.First(); ok && n < limit; ok = iter.Next() {
		id := idOf(iter.Key())
		var st status
		if err := parseStatus(iter.Value(), id, &st); err != nil {
			return 0, fmt.Errorf("task %s: status: %w", id, err)
		}
		if !st.Finished.Before(before) {
			kept = true
			continue
		}
		if !kept {
			mark = id
		}
		if err := s.remove(id, &st); err != nil {
			return 0, fmt.Errorf("task %s: %w", id, err)
		}
		n++
	}
	if err := iter.Error(); err != nil || n == 0 {
		return 0, err
	}
	if err := s.putCounts(); err != nil {
		return 0, err
	}
	if err := s.flush(); err != nil {
		return 0, err
	}
	s.pruned[state] = mark
	return n, nil
}

// remove deletes all rows of a task that ended.
func (s *Store) remove(id bellman.ID, st *status) error {
	t, err := s.cold(s.db, id)
	if err != nil {
		return err
	}
	g := &s.stage
	keys := [][]byte{endedKey(nil, st.State, id), coldKey(nil, id)}
	if t.Key != "" {
		keys = append(keys, keyKey(nil, st.queue, t.Key))
	}
	if t.Alias() != "" {
		keys = append(keys, keyKey(nil, aliases, t.Alias()))
	}
	if t.MerchantNo != "" {
		keys = append(keys, merchantKey(nil, t.MerchantNo, id))
	}
	if t.OrderNo != "" {
		keys = append(keys, orderKey(nil, t.OrderNo, id))
	}
	for _, key := range keys {
		if err := s.del(key, false); err != nil {
			return err
		}
	}
	err = s.scan(attemptKey(g.key[:0], id, 0)[:17], func(key, _ []byte) error { return s.del(key, false) })
	if err != nil {
		return err
	}
	s.count(st.queue, st.State, -1)
	return nil
}
