package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Task reads a task, with Last. ErrNotFound: no task has this id.
func (s *Store) Task(ctx context.Context, id bellman.ID) (*bellman.Task, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	tasks, err := s.whole(ctx, []bellman.ID{id}, nil)
	if err != nil {
		return nil, err
	}
	if tasks[0] == nil {
		return nil, bellman.ErrNotFound
	}
	return tasks[0], nil
}

// whole reads tasks with their status and Last. ids must be distinct. An element is nil if the task
// does not exist, or has another state than in; nil: any state.
func (s *Store) whole(ctx context.Context, ids []bellman.ID, in *bellman.State) ([]*bellman.Task, error) {
	cold := make(map[bellman.ID]*bellman.Task, len(ids))
	status := make(map[bellman.ID]bellman.Status, len(ids))
	last := map[bellman.ID]*bellman.Attempt{}
	err := s.read(ctx, func() []*Statement {
		row := newColdRow()
		dest := row.dest()
		statuses := readStatuses(in, ids, "NULL", "attempt", func(id bellman.ID, st bellman.Status, attempt []byte) (err error) {
			status[id] = st
			last[id], err = parseAttempt(id, attempt)
			return err
		})
		return []*Statement{statuses, {Name: "read tasks", Text: `SELECT ` + coldColumns + ` FROM bellman_task t WHERE t.id IN (??)`, Args: []any{ids},
			Each: func(r Row) error {
				if err := r.Scan(dest...); err != nil {
					return err
				}
				t, err := row.task()
				cold[row.id] = t
				return err
			}}}
	})
	if err != nil {
		return nil, err
	}
	tasks := make([]*bellman.Task, len(ids))
	for i, id := range ids {
		st, there := status[id]
		t := cold[id]
		if !there || t == nil {
			continue // added or deleted between the two reads, or in another state
		}
		t.Status, t.Last = st, last[id]
		tasks[i] = t
	}
	return tasks, s.readLast(ctx, tasks)
}

// brief reads tasks as whole does, for a brief list.
func (s *Store) brief(ctx context.Context, ids []bellman.ID, in *bellman.State) ([]*bellman.Task, error) {
	var found map[bellman.ID]*bellman.Task
	err := s.read(ctx, func() []*Statement {
		found = make(map[bellman.ID]*bellman.Task, len(ids))
		queue := ""
		return []*Statement{readStatuses(in, ids, "queue", "queue", func(id bellman.ID, st bellman.Status, name []byte) error {
			queue = same(queue, name)
			found[id] = &bellman.Task{ID: id, Queue: queue, Status: st}
			return nil
		})}
	})
	tasks := make([]*bellman.Task, len(ids))
	for i, id := range ids {
		tasks[i] = found[id]
	}
	return tasks, err
}

// readStatuses reads the statuses of tasks in one state; nil: in any state. Each of them goes to
// each, with a further column of bellman_live or bellman_ended. One statement reads all states, so
// that a moving task is seen exactly once. Pending tasks are not looked for among the ended ones,
// where each would be looked for in three states.
func readStatuses(in *bellman.State, ids []bellman.ID, ofLive, ofEnded string, each func(bellman.ID, bellman.Status, []byte) error) *Statement {
	live := `SELECT id, 0, version, shard, attempts, look, due, 0, NULL, rest, ` + ofLive + ` FROM bellman_live WHERE id IN (??)`
	ended := `SELECT id, state, version, shard, attempts, 0, 0, finished, reason, rest, ` + ofEnded + ` FROM bellman_ended WHERE state IN (1, 2, 3) AND id IN (??)`
	s := &Statement{Name: "read statuses", Text: live + ` UNION ALL ` + ended, Args: []any{ids, ids},
		Each: func(r Row) error {
			var row statusRow
			var further []byte
			if err := r.Scan(&row.id, &row.state, &row.version, &row.shard, &row.attempts, &row.look, &row.due, &row.finished, &row.reason, &row.rest, &further); err != nil {
				return err
			}
			st, err := row.status()
			if err != nil || in != nil && *in != st.State {
				return err
			}
			return each(row.id, st, further)
		}}
	if in != nil && !in.Ended() {
		s.Text, s.Args = live, []any{ids}
	}
	return s
}

// readLast sets Last of attempted tasks whose ended row has no attempt.
func (s *Store) readLast(ctx context.Context, tasks []*bellman.Task) error {
	last := map[bellman.ID]*bellman.Task{}
	var ids []bellman.ID
	var numbers []int64
	for _, t := range tasks {
		if t != nil && t.Attempts > 0 && (t.Last == nil || t.Last.Number < int(t.Attempts)) {
			last[t.ID] = t
			ids, numbers = append(ids, t.ID), append(numbers, int64(t.Attempts))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	set := func(r Row) error {
		var row attemptRow
		if err := r.Scan(row.dest()...); err != nil {
			return err
		}
		a, err := row.attempt()
		if t := last[row.id]; t.Last == nil || a.Number > t.Last.Number {
			t.Last = &a
		}
		return err
	}
	err := s.read(ctx, func() []*Statement {
		return []*Statement{{Name: "read newest attempts", Text: `SELECT ` + attemptColumns + ` FROM bellman_attempt WHERE (task_id, number) IN (???)`,
			Args: []any{ids, numbers}, Each: set}}
	})
	if err != nil {
		return err
	}
	// An attempt may have no record, for example if its node died.
	var older []*Statement
	for _, id := range ids {
		if last[id].Last == nil {
			older = append(older, &Statement{Name: "read newest attempt", Args: []any{id}, Each: set,
				Text: `SELECT ` + attemptColumns + ` FROM bellman_attempt WHERE task_id = ? ORDER BY number DESC LIMIT 1`})
		}
	}
	if len(older) == 0 {
		return nil
	}
	return s.read(ctx, func() []*Statement { return older })
}

// Find returns the task that has each key or alias.
func (s *Store) Find(ctx context.Context, keys []store.Key) ([]store.Found, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	all := make([]store.Found, len(keys))
	at := make(map[store.Key][]int, len(keys))
	var queues, names, aliases [][]byte
	for i, k := range keys {
		switch {
		case k.Key == "":
			continue
		case at[k] != nil:
		case k.Queue == "":
			aliases = append(aliases, []byte(k.Key))
		default:
			queues, names = append(queues, []byte(k.Queue)), append(names, []byte(k.Key))
		}
		at[k] = append(at[k], i)
	}
	found := func(queue, key []byte, f store.Found) {
		for _, i := range at[store.Key{Queue: string(queue), Key: string(key)}] {
			all[i] = f
		}
	}
	var reads []*Statement
	if len(names) > 0 {
		reads = append(reads, &Statement{Name: "find keys", Text: `SELECT queue, task_key, id, digest FROM bellman_task WHERE (queue, task_key) IN (???)`, Args: []any{queues, names},
			Each: func(r Row) error {
				var f store.Found
				var queue, key, digest []byte
				err := r.Scan(&queue, &key, &f.ID, &digest)
				copy(f.Digest[:], digest)
				found(queue, key, f)
				return err
			}})
	}
	if len(aliases) > 0 {
		reads = append(reads, &Statement{Name: "find aliases", Text: `SELECT alias, id FROM bellman_alias WHERE alias IN (??)`, Args: []any{aliases},
			Each: func(r Row) error {
				var f store.Found
				var alias []byte
				err := r.Scan(&alias, &f.ID)
				found(nil, alias, f)
				return err
			}})
	}
	if len(reads) == 0 {
		return all, nil
	}
	return all, s.read(ctx, func() []*Statement { return reads })
}

// Attempts reads up to limit attempts of a task with numbers above after, in ascending order.
func (s *Store) Attempts(ctx context.Context, id bellman.ID, after, limit int) (attempts []bellman.Attempt, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	if limit <= 0 {
		return nil, nil
	}
	var last *bellman.Attempt
	err = s.read(ctx, func() []*Statement {
		attempts, last = nil, nil
		// Read the ended row first: an attempt moves from there to the log, never back.
		return []*Statement{{Name: "read the attempt that ended a task", Text: `SELECT attempt FROM bellman_ended WHERE state IN (1, 2, 3) AND id IN (??)`,
			Args: []any{[]bellman.ID{id}}, Each: func(r Row) (err error) {
				var b []byte
				if err := r.Scan(&b); err != nil {
					return err
				}
				last, err = parseAttempt(id, b)
				return err
			}}, {Name: "read attempts", Text: `SELECT ` + attemptColumns + ` FROM bellman_attempt WHERE task_id = ? AND number > ? ORDER BY number LIMIT ?`,
			Args: []any{id, int64(after), int64(limit)}, Each: func(r Row) error {
				var row attemptRow
				if err := r.Scan(row.dest()...); err != nil {
					return err
				}
				a, err := row.attempt()
				attempts = append(attempts, a)
				return err
			}}}
	})
	if err != nil || last == nil || last.Number <= after {
		return attempts, err
	}
	attempts = slices.DeleteFunc(attempts, func(a bellman.Attempt) bool { return a.Number == last.Number })
	at, _ := slices.BinarySearchFunc(attempts, last.Number, func(a bellman.Attempt, n int) int { return cmp.Compare(a.Number, n) })
	attempts = slices.Insert(attempts, at, *last)
	return attempts[:min(len(attempts), limit)], nil
}

// Depths counts the tasks of each non-empty queue, by state. The counts are exact: they are the sum
// over all commits.
func (s *Store) Depths(ctx context.Context) ([]store.Depth, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var depths []store.Depth
	err := s.read(ctx, func() []*Statement {
		depths = nil
		return []*Statement{{Name: "read depths", Text: `SELECT queue, state, CAST(SUM(tasks) AS {number}) FROM (
			SELECT queue, state, tasks FROM bellman_depth UNION ALL SELECT queue, state, tasks FROM bellman_count) d GROUP BY queue, state ORDER BY queue, state`,
			Each: func(r Row) error {
				var queue []byte
				var state, n int64
				if err := r.Scan(&queue, &state, &n); err != nil {
					return err
				}
				if state < 0 || state > int64(bellman.Cancelled) {
					return fmt.Errorf("queue %q has tasks in state %d, which does not exist", queue, state)
				}
				if len(depths) == 0 || depths[len(depths)-1].Queue != string(queue) {
					depths = append(depths, store.Depth{Queue: string(queue)})
				}
				d := &depths[len(depths)-1]
				*[...]*int64{&d.Pending, &d.Succeeded, &d.Failed, &d.Cancelled}[state] = n
				return nil
			}}}
	})
	return slices.DeleteFunc(depths, func(d store.Depth) bool { return d == store.Depth{Queue: d.Queue} }), err
}
