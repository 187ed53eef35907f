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
	slot := s.slots.take()
	defer s.slots.give(slot)
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
func (s *Store) prune(ctx context.Context, state bellman.State, before time.Time, limit int, slot int64) (int, error) {
	start := &s.prunes[state]
	var from int64
	var old oldTasks
	err := s.write(ctx, func(tx Tx) ([]*Statement, error) {
		from, old = start.at(time.Now()), oldTasks{last: earliest}
		if err := old.read(ctx, tx, state, from, before, limit); err != nil || len(old.ids) == 0 {
			return nil, err
		}
		g := s.newStage(tx, slot)
		for _, queue := range old.queues {
			g.count(string(queue), state, -1)
		}
		return append(old.deletes(state), g.depthWrites()...), nil
	})
	if err != nil {
		return 0, err
	}
	start.searched(from, &old)
	return len(old.ids), nil
}

// oldTasks are the tasks that one transaction deletes.
type oldTasks struct {
	ids             []bellman.ID
	versions        []int64
	queues, aliases [][]byte
	aliased         []bellman.ID // the tasks of aliases
	last            int64        // when the last of ids finished, Unix ms
	began           time.Time    // of the search
	took            time.Duration
}

// read finds up to limit tasks that finished at from or later.
func (o *oldTasks) read(ctx context.Context, tx Tx, state bellman.State, from int64, before time.Time, limit int) error {
	o.began = time.Now()
	err := tx.Send(ctx, &Statement{Name: "find tasks", Args: []any{int64(state), from, before.UnixMilli(), int64(limit)},
		Text: `SELECT id, version, finished, queue, (SELECT a.alias FROM bellman_alias a WHERE a.id = e.id LIMIT 1) FROM bellman_ended e
			WHERE state = ? AND finished >= ? AND finished < ? ORDER BY finished, id LIMIT ?`,
		Each: func(r Row) error {
			var id bellman.ID
			var version int64
			var queue, alias []byte
			if err := r.Scan(&id, &version, &o.last, &queue, &alias); err != nil {
				return err
			}
			if alias != nil {
				o.aliases, o.aliased = append(o.aliases, bytes.Clone(alias)), append(o.aliased, id)
			}
			o.ids, o.versions, o.queues = append(o.ids, id), append(o.versions, version), append(o.queues, bytes.Clone(queue))
			return nil
		}})
	o.took = time.Since(o.began)
	return err
}

// deletes are the statements that delete the tasks. Each cold row is deleted by its own key, so
// that no row of a caller's transaction is locked: see fold.
func (o *oldTasks) deletes(state bellman.State) []*Statement {
	writes := []*Statement{
		{Name: "delete statuses of ended tasks", Text: `DELETE FROM bellman_ended WHERE state = ? AND (id, version) IN (???)`,
			Args: []any{int64(state), o.ids, o.versions}, Want: int64(len(o.ids))},
		{Name: "delete attempts", Text: `DELETE FROM bellman_attempt WHERE task_id IN (??)`, Args: []any{o.ids}},
		{Name: "delete tasks", Text: deleteTasks, Args: []any{o.ids, o.queues}},
	}
	if len(o.aliases) > 0 {
		writes = append(writes, &Statement{Name: "delete aliases", Text: `DELETE FROM bellman_alias WHERE (alias, id) IN (???)`, Args: []any{o.aliases, o.aliased}})
	}
	return writes
}
