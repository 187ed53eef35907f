package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Due appends to buf up to limit entries of the given shards, in order. See store.Tasks.
func (s *Store) Due(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, buf []store.Entry) ([]store.Entry, error) {
	if err := s.enter(); err != nil {
		return buf, err
	}
	defer s.leave()
	shards = slices.Compact(slices.Sorted(slices.Values(shards)))
	if len(shards) == 0 || limit <= 0 || from.VisibleAt >= to {
		return buf, nil
	}
	if s.d.Merges() {
		text, args := dueScans(shards, from, to, limit)
		text, args = "SELECT id, look, due, line, version, attempts, shard FROM ("+text+") d ORDER BY look, id LIMIT ?", append(args, int64(limit))
		return s.readDue(ctx, text, args, buf)
	}
	return s.dueParts(ctx, shards, from, to, limit, buf)
}

// dueParts reads each shard in index order with a part of the limit. A shard that returned its full
// part may have more entries. Entries behind the last entry of such a shard are deferred to the
// next round.
func (s *Store) dueParts(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, buf []store.Entry) ([]store.Entry, error) {
	end := len(buf) + limit
	var page []store.Entry
	for each := 0; len(shards) > 0 && len(buf) < end && from.VisibleAt < to; {
		left := end - len(buf)
		each = min(max(2*left/len(shards)+16, 4*each), left)
		var err error
		text, args := dueScans(shards, from, to, each)
		if page, err = s.readDue(ctx, text, args, page[:0]); err != nil {
			return buf, err
		}
		slices.SortFunc(page, comparePosition)
		var full []uint16
		known := len(page) // entries of page before which no entry is missing
		counts := map[uint16]int{}
		for i := range page {
			if n := page[i].Shard; counts[n] == each-1 {
				full = append(full, n)
				known = min(known, i+1)
			} else {
				counts[n]++
			}
		}
		known = min(known, left)
		buf = append(buf, page[:known]...)
		if len(full) == 0 || known == left {
			break
		}
		from = store.Position{VisibleAt: page[known-1].VisibleAt, ID: page[known-1].ID}
		if known == len(page) {
			shards = full // the other shards have no more entries
		}
	}
	return buf, nil
}

func comparePosition(a, b store.Entry) int {
	return cmp.Or(cmp.Compare(a.VisibleAt, b.VisibleAt), a.ID.Compare(b.ID))
}

// dueScan is the scan of one shard. Its wording makes the database start right behind the cursor,
// because many tasks may be due in one millisecond.
const dueScan = `(SELECT id, look, due, line, version, attempts, shard FROM bellman_live
	WHERE shard = ? AND {page} ORDER BY look, id LIMIT ?)`

// dueScans is the text and the arguments of a scan of up to each entries of each shard.
func dueScans(shards []uint16, from store.Position, to int64, each int) (text string, args []any) {
	args = make([]any, 0, 6*len(shards)+1)
	for _, shard := range shards {
		args = append(args, int64(shard), from.VisibleAt, to, from.VisibleAt, from.ID, int64(each))
	}
	return dueScan + strings.Repeat("\nUNION ALL "+dueScan, len(shards)-1), args
}

// readDue appends the rows of a scan to buf.
func (s *Store) readDue(ctx context.Context, text string, args []any, buf []store.Entry) ([]store.Entry, error) {
	known := len(buf)
	err := s.read(ctx, func() []*Statement {
		buf = buf[:known]
		var id bellman.ID
		var look, due, line, version, attempts, shard int64
		dest := []any{&id, &look, &due, &line, &version, &attempts, &shard} // of all rows: there are many
		return []*Statement{{Name: "read due tasks", Text: text, Args: args, Each: func(r Row) error {
			if err := r.Scan(dest...); err != nil {
				return err
			}
			buf = append(buf, store.Entry{ID: id, VisibleAt: look, Due: due, Line: store.Line(line), Version: uint32(version),
				Attempts: uint32(attempts), Shard: uint16(shard)})
			return nil
		}}}
	})
	return buf, err
}

// CountDue counts the entries that Due would read, up to most. The count takes a fraction of the
// time of reading them.
func (s *Store) CountDue(ctx context.Context, shards []uint16, from store.Position, to, most int64) (n int64, err error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	if len(shards) == 0 || most <= 0 || from.VisibleAt >= to {
		return 0, nil
	}
	list := make([]int64, len(shards))
	for i, shard := range shards {
		list[i] = int64(shard)
	}
	slices.Sort(list)
	err = s.read(ctx, func() []*Statement {
		return []*Statement{{Name: "count due tasks", Args: []any{slices.Compact(list), from.VisibleAt, to, from.VisibleAt, from.ID, most},
			Text: `SELECT COUNT(*) FROM (SELECT 1 FROM bellman_live WHERE shard IN (??) AND {page} LIMIT ?) d`,
			Each: func(r Row) error { return r.Scan(&n) }}}
	})
	return n, err
}

// loadPage is the number of tasks that one statement loads.
const loadPage = 512

// Load reads whole tasks (without Last) for entries, in the order of entries. An element is nil if
// the task is gone, ended, or has another version.
func (s *Store) Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	if len(entries) <= loadFew {
		return s.loads.join(ctx, entries, s.load)
	}
	return s.load(ctx, entries)
}

// load is Load without batching.
func (s *Store) load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error) {
	tasks := make([]*bellman.Task, len(entries))
	at := make(map[bellman.ID][]int, len(entries))
	ids := make([]bellman.ID, 0, len(entries))
	for i, e := range entries {
		if at[e.ID] == nil {
			ids = append(ids, e.ID)
		}
		at[e.ID] = append(at[e.ID], i)
	}
	slices.SortFunc(ids, bellman.ID.Compare)
	for part := range slices.Chunk(ids, loadPage) {
		err := s.read(ctx, func() []*Statement {
			var hot statusRow
			cold := newColdRow()
			dest := append([]any{&hot.version, &hot.shard, &hot.attempts, &hot.look, &hot.due, &hot.rest}, cold.dest()...) // of all rows
			return []*Statement{{Name: "load tasks", Args: []any{part}, Text: `SELECT l.version, l.shard, l.attempts, l.look, l.due, l.rest, ` + coldColumns + `
				FROM bellman_live l JOIN bellman_task t ON t.id = l.id WHERE l.id IN (??)`, Each: func(r Row) error {
				if err := r.Scan(dest...); err != nil {
					return err
				}
				hot.id = cold.id
				st, err := hot.status()
				if err != nil {
					return err
				}
				for _, i := range at[cold.id] {
					if entries[i].Version != st.Version {
						continue
					}
					if tasks[i], err = cold.task(); err != nil {
						return err
					}
					tasks[i].Status = st
				}
				return nil
			}}}
		})
		if err != nil {
			return nil, err
		}
	}
	return tasks, nil
}
