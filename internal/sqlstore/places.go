package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// places are the places that a commit assigns behind the pending tasks of its ordering keys. They
// are read before or in the transaction. Either read sees all tasks committed before the call of
// Commit.
type places struct {
	now  int64                // the database's clock, in µs
	last map[named]int64      // the last place of each ordering key that has pending tasks
	nth  map[bellman.ID]int64 // position of a task among this commit's own tasks
}

// read reads the places for the tasks that b may add. If no task has an ordering key, read does
// nothing.
func (p *places) read(b *store.Batch) []*Statement {
	return p.of(func(yield func(*store.Add) bool) {
		for a := range pointers(b.Adds) {
			if !yield(a) {
				return
			}
		}
		for i := range b.Changes {
			for a := range pointers(b.Changes[i].Follow) {
				if !yield(a) {
					return
				}
			}
		}
	})
}

func (p *places) of(adds iter.Seq[*store.Add]) []*Statement {
	var queues, keys [][]byte
	var seen map[named]bool
	for a := range adds {
		name := named{a.Task.Queue, a.Task.OrderingKey}
		if name.key == "" {
			continue
		}
		if seen == nil {
			seen, p.nth = map[named]bool{}, map[bellman.ID]int64{}
		}
		p.nth[a.Task.ID] = int64(len(p.nth))
		if seen[name] {
			continue
		}
		seen[name] = true
		queues, keys = append(queues, []byte(name.queue)), append(keys, []byte(name.key))
	}
	if len(keys) == 0 {
		return nil
	}
	p.last = map[named]int64{}
	return []*Statement{
		{Name: "read the clock", Text: `SELECT {micros}`, Each: func(r Row) error { return r.Scan(&p.now) }},
		{Name: "read last places", Text: `SELECT k.a, k.b, ` + lastPlace(0) + `, ` + lastPlace(1) + ` FROM (????) k`,
			Args: []any{queues, keys}, Each: func(r Row) error {
				var queue, key []byte
				var plain, superseding int64
				if err := r.Scan(&queue, &key, &plain, &superseding); err != nil {
					return err
				}
				p.last[named{string(queue), string(key)}] = max(plain, superseding)
				return nil
			}},
	}
}

// lastPlace returns the last place of an ordering key, for superseding tasks or for the others; 0:
// there are none. It reads one end of the index, at a constant cost.
func lastPlace(supersedes int64) string {
	return fmt.Sprintf(`COALESCE((SELECT o.seq FROM bellman_order o WHERE o.queue = k.a AND o.ordering_key = k.b AND o.supersedes = %d ORDER BY o.seq DESC LIMIT 1), 0)`, supersedes)
}

// take returns the place of a new task, behind all existing tasks and the earlier tasks of its
// batch. 0: the task needs no place.
func (p *places) take(t *bellman.Task) int64 {
	if t.OrderingKey == "" || t.State.Ended() {
		return 0
	}
	return max(p.now, p.last[named{t.Queue, t.OrderingKey}]+1) + p.nth[t.ID]
}

// placeWrites deletes the places of tasks that this commit ends. It inserts places for tasks that
// are new or pending again.
func (g *stage) placeWrites() (writes []*Statement) {
	var gone, ids []bellman.ID
	var goneKeys, queues, keys [][]byte
	var supersede, seqs []int64
	for _, id := range g.order {
		c := g.current[id]
		if c.order == nil || c.status == nil {
			continue
		}
		was, is := c.there && !c.state.Ended(), !c.in.Ended()
		switch {
		case was == is:
		case was:
			gone, goneKeys = append(gone, id), append(goneKeys, []byte(c.order.Key))
		default:
			ids, seqs, supersede = append(ids, id), append(seqs, c.status.Place), append(supersede, int64(pack.Bit(c.order.Supersedes)))
			queues, keys = append(queues, []byte(c.queue)), append(keys, []byte(c.order.Key))
		}
	}
	if len(gone) > 0 {
		// Each row is deleted by its own key and locks no other row: see fold.
		writes = append(writes, &Statement{Name: "delete places", Text: `DELETE FROM bellman_order WHERE (id, ordering_key) IN (???)`, Args: []any{gone, goneKeys}})
	}
	if len(ids) > 0 {
		writes = append(writes, &Statement{Name: "insert places", Insert: &Insert{Into: "bellman_order", Key: []string{"id"}, Then: Keep, Columns: []Column{
			{"id", ids}, {"queue", queues}, {"ordering_key", keys}, {"supersedes", supersede}, {"seq", seqs}}}})
	}
	return writes
}

// A place is the position of a task in its ordering key.
type place struct {
	id  bellman.ID
	seq int64
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.seq, q.seq), p.id.Compare(q.id))
}

// Chain reads the pending tasks of an ordering key. One statement makes the result consistent.
func (s *Store) Chain(ctx context.Context, queue, orderingKey string, id bellman.ID, limit int) (found store.Chain, err error) {
	if err := s.enter(); err != nil {
		return found, err
	}
	defer s.leave()
	var own, last *place
	var all []place
	q, key, n := []byte(queue), []byte(orderingKey), int64(max(limit, 1))
	err = s.read(ctx, func() []*Statement {
		own, last, all = nil, nil, nil
		return []*Statement{{Name: "read a chain", Args: []any{id, q, key, q, key, n, q, key, n, q, key}, Text: `SELECT 0 AS part, id, seq FROM (SELECT * FROM bellman_order WHERE id = ? LIMIT 1) o WHERE queue = ? AND ordering_key = ?
			UNION ALL (SELECT 1, id, seq FROM bellman_order WHERE queue = ? AND ordering_key = ? AND supersedes = 0 ORDER BY seq, id LIMIT ?)
			UNION ALL (SELECT 1, id, seq FROM bellman_order WHERE queue = ? AND ordering_key = ? AND supersedes = 1 ORDER BY seq, id LIMIT ?)
			UNION ALL (SELECT 2, id, seq FROM bellman_order WHERE queue = ? AND ordering_key = ? AND supersedes = 1 ORDER BY seq DESC, id DESC LIMIT 1)`,
			Each: func(r Row) error {
				var part int64
				var p place
				if err := r.Scan(&part, &p.id, &p.seq); err != nil {
					return err
				}
				switch part {
				case 0:
					own = &p
				case 1:
					all = append(all, p)
				case 2:
					last = &p
				}
				return nil
			}}}
	})
	if err != nil {
		return found, err
	}
	slices.SortFunc(all, place.compare)
	if id.IsZero() && len(all) > 0 {
		own = &all[0]
	}
	switch {
	case own == nil && id.IsZero():
		return found, nil
	case own == nil:
		return found, bellman.ErrNotFound
	}
	for _, p := range all[:min(len(all), max(limit, 0))] {
		found.First = append(found.First, p.id)
	}
	if last != nil && own.compare(*last) < 0 {
		found.SupersededBy = last.id
	}
	return found, nil
}
