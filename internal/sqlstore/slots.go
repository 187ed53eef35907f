package sqlstore

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// slots hands out the slots of the counters: each commit updates the counters' rows of its own
// slot. The slots are used in turn. While a long transaction keeps PostgreSQL from removing old
// versions of rows, an update passes all versions of its row. So a store moves to new slots, and
// new rows, before there are many. The rows of old slots are added to those of slot foldedSlot.
type slots struct {
	moves bool // Driver.KeepsVersions

	mu    sync.Mutex
	first int64   // the present slots are first to first+slotCount-1
	free  []int64 // the longest unused first
	left  int     // commits until the store moves

	moved atomic.Bool // rows of old slots are to be folded
}

const (
	slotCount  = 64          // number of commits that can count concurrently without contention
	slotUses   = 64          // commits of each slot until a store moves
	foldedSlot = -1          // not handed out
	slotPast   = time.Minute // slots that are older than this are folded
	slotFolds  = int64(1000) // most rows that one transaction folds
)

// init begins with new slots too, because those of a process before may have many versions.
func (s *slots) init(moves bool) {
	s.moves = moves
	s.begin(0)
	if moves {
		s.begin(slotAt(time.Now()))
		s.moved.Store(true)
	}
}

// begin begins to hand out the slots from first.
func (s *slots) begin(first int64) {
	s.first, s.free, s.left = first, nil, slotCount*slotUses
	for _, i := range rand.Perm(slotCount) {
		s.free = append(s.free, first+int64(i))
	}
}

// slotAt returns the first of the slots to which a store moves at a time.
func slotAt(now time.Time) int64 { return now.UnixMilli() * slotCount }

// take takes a slot for one commit.
func (s *slots) take() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left < 0 && s.moves {
		s.begin(max(slotAt(time.Now()), s.first+slotCount))
		s.moved.Store(true)
	}
	if len(s.free) == 0 {
		return s.first + rand.Int64N(slotCount) // more commits at once than slots: two wait for one another
	}
	slot := s.free[0]
	s.free = s.free[1:]
	return slot
}

func (s *slots) give(slot int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < slotCount && slot >= s.first && slot < s.first+slotCount {
		s.free = append(s.free, slot)
	}
}

// afterMove folds some rows of old slots, after each commit from a move until none are left. What a
// failure leaves is folded after the next move.
func (s *Store) afterMove(ctx context.Context) {
	if s.slots.moved.CompareAndSwap(true, false) {
		folded, err := s.foldSlots(ctx, slotAt(time.Now().Add(-slotPast)))
		if err == nil && folded > 0 {
			s.slots.moved.Store(true)
		}
	}
}

// foldSlots folds up to slotFolds rows of the slots to which stores have moved, if they are before
// a slot. Another store may still use them. It skips rows that a commit has locked, and returns the
// number of rows into which it folded.
func (s *Store) foldSlots(ctx context.Context, before int64) (into int64, err error) {
	fold := &Statement{Name: "fold counters", Args: []any{int64(slotCount), before, slotFolds, int64(foldedSlot)},
		Text: `WITH old AS (
				SELECT queue, state, slot FROM bellman_depth WHERE slot >= ? AND slot < ? LIMIT ? FOR UPDATE SKIP LOCKED
			), gone AS (
				DELETE FROM bellman_depth WHERE (queue, state, slot) IN (SELECT queue, state, slot FROM old) RETURNING queue, state, tasks
			) INSERT INTO bellman_depth AS d (queue, state, slot, tasks) SELECT queue, state, CAST(? AS BIGINT), SUM(tasks) FROM gone GROUP BY queue, state ORDER BY queue, state
			ON CONFLICT (queue, state, slot) DO UPDATE SET tasks = d.tasks + EXCLUDED.tasks`}
	_, err = s.attempt(ctx, func(Tx) ([]*Statement, error) { return []*Statement{fold}, nil })
	return fold.Affected, err
}
