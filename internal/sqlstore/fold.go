package sqlstore

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
)

// Folding adds the counts of callers' transactions to the counters. Usually it reads only the rows
// of the last foldPast: while a long transaction keeps PostgreSQL from removing folded rows, a read
// passes those of that time only. The rows of callers' transactions that take longer are folded
// every siftEvery.
const (
	foldEvery = time.Second
	foldMost  = 1000
	foldPast  = time.Minute
	siftEvery = 10 * time.Minute
)

// ownCounts are the counts of a caller's transaction, as separate rows. Commits and callers'
// transactions therefore never wait for each other.
func (g *stage) ownCounts() *Statement {
	var ids []bellman.ID
	var queues [][]byte
	var states, tasks []int64
	for key, n := range g.depths {
		ids, queues = append(ids, bellman.NewID()), append(queues, []byte(key.queue))
		states, tasks = append(states, int64(key.state)), append(tasks, n)
	}
	return &Statement{Name: "count tasks", Insert: &Insert{Into: "bellman_count",
		Columns: []Column{{"id", ids}, {"queue", queues}, {"state", states}, {"tasks", tasks}}}}
}

// fold adds the counts of callers' transactions to the counters, so that Depths sums few rows. It
// runs after a commit; each task that a caller adds causes later commits. A failed fold is retried
// next time.
func (s *Store) fold(ctx context.Context, slot int64) {
	last, now := s.folded.Load(), time.Now().UnixNano()
	if now-last < int64(foldEvery) || !s.folded.CompareAndSwap(last, now) {
		return
	}
	g := s.newStage(nil, slot)
	var ids []bellman.ID
	var tasks []int64
	first := bellman.FirstID(time.Unix(0, now).Add(-foldPast))
	sifts := now-s.sifted.Load() >= int64(siftEvery)
	if sifts {
		first = bellman.ID{}
	}
	if err := s.read(ctx, func() []*Statement {
		ids, tasks = nil, nil
		clear(g.depths)
		return []*Statement{{Name: "read counts", Text: `SELECT id, queue, state, tasks FROM bellman_count WHERE id >= ? ORDER BY id LIMIT ?`, Args: []any{first, int64(foldMost)},
			Each: func(r Row) error {
				var id bellman.ID
				var queue []byte
				var state, n int64
				if err := r.Scan(&id, &queue, &state, &n); err != nil {
					return err
				}
				ids, tasks = append(ids, id), append(tasks, n)
				g.count(string(queue), bellman.State(state), n)
				return nil
			}}}
	}); err != nil {
		return
	}
	if sifts && len(ids) < foldMost {
		s.sifted.Store(now)
	}
	if len(ids) == 0 {
		return
	}
	// Each row is deleted by its own key, so that no row of an open transaction is locked. If only
	// ids are given, MariaDB reads all of a small table.
	gone := &Statement{Name: "delete counts", Text: `DELETE FROM bellman_count WHERE (id, tasks) IN (???)`, Args: []any{ids, tasks}, Want: int64(len(ids))}
	again, err := s.attempt(ctx, func(Tx) ([]*Statement, error) { return append([]*Statement{gone}, g.depthWrites()...), nil })
	if err == nil && len(ids) == foldMost || again {
		s.folded.Store(0) // more rows remain, or another process folds too
	}
}
