package sqlstore

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
)

// pruneBatch is the number of tasks that one transaction of Prune deletes.
const pruneBatch = 256

// deleteTasks deletes cold rows by their ids and queues.
const deleteTasks = `DELETE FROM bellman_task WHERE (id, queue) IN (???)`

// Prune deletes up to limit tasks, with their attempts, that ended in state and finished before the
// given time. It deletes the earliest finished tasks first.
func (s *Store) Prune(ctx context.Context, state bellman.State, before time.Time, limit int) (int, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	if !state.Ended() || state > bellman.Cancelled {
		return 0, fmt.Errorf("prune %s tasks: want an end state", state)
	}
	slot := s.takeSlot()
	defer s.giveSlot(slot)
	total := 0
	for total < limit {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		want := min(limit-total, pruneBatch)
		n, err := s.prune(ctx, state, before, want, slot)
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
func (s *Store) prune(ctx context.Context, state bellman.State, before time.Time, limit int, slot int64) (n int, err error) {
	err = s.write(ctx, func(tx Tx) ([]*Statement, error) {
		g := s.newStage(tx, slot)
		var ids []bellman.ID
		var versions []int64
		var queues, aliases [][]byte
		var aliased []bellman.ID
		err := tx.Send(ctx, &Statement{Name: "find tasks", Args: []any{int64(state), before.UnixMilli(), int64(limit)},
			Text: `SELECT id, version, queue, (SELECT a.alias FROM bellman_alias a WHERE a.id = e.id LIMIT 1) FROM bellman_ended e
				WHERE state = ? AND finished < ? ORDER BY finished, id LIMIT ?`,
			Each: func(r Row) error {
				var id bellman.ID
				var version int64
				var queue, alias []byte
				if err := r.Scan(&id, &version, &queue, &alias); err != nil {
					return err
				}
				if alias != nil {
					aliases, aliased = append(aliases, bytes.Clone(alias)), append(aliased, id)
				}
				ids, versions = append(ids, id), append(versions, version)
				queues = append(queues, bytes.Clone(queue))
				g.count(string(queue), state, -1)
				return nil
			}})
		n = len(ids)
		if err != nil || n == 0 {
			return nil, err
		}
		writes := []*Statement{
			{Name: "delete statuses of ended tasks", Text: `DELETE FROM bellman_ended WHERE state = ? AND (id, version) IN (???)`,
				Args: []any{int64(state), ids, versions}, Want: int64(n)},
			{Name: "delete attempts", Text: `DELETE FROM bellman_attempt WHERE task_id IN (??)`, Args: []any{ids}},
			// Each row is deleted by its own key, so that no row of a caller's transaction is
			// locked: see fold.
			{Name: "delete tasks", Text: deleteTasks, Args: []any{ids, queues}},
		}
		if len(aliases) > 0 {
			writes = append(writes, &Statement{Name: "delete aliases", Text: `DELETE FROM bellman_alias WHERE (alias, id) IN (???)`, Args: []any{aliases, aliased}})
		}
		return append(writes, g.depthWrites()...), nil
	})
	if err != nil {
		n = 0
	}
	return n, err
}
