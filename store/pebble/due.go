package pebble

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Due appends to buf up to limit entries of the given shards, in order. See store.Tasks.
func (s *Store) Due(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, buf []store.Entry) ([]store.Entry, error) {
	if err := s.enter(); err != nil {
		return buf, err
	}
	defer s.leave()
	wanted := make([]bool, len(s.shards.list))
	for _, n := range shards {
		if int(n) < len(wanted) {
			wanted[n] = true
		}
	}
	asked := position{from.VisibleAt, from.ID}
	start, scan := s.front.begin(asked)
	first := firstPosition // an error before the first entry, or no scan: the front learns nothing
	defer func() { s.front.end(scan, first) }()
	if end := (position{to, bellman.ID{}}); !start.before(end) || limit <= 0 {
		return buf, nil
	}
	lower := dueKey(nil, start.look, start.id)
	if start == asked && !from.ID.IsZero() {
		lower = append(lower, 0) // start after the cursor
	}
	iter, err := s.db.NewIterWithContext(ctx, &lsm.IterOptions{LowerBound: lower, UpperBound: dueKey(nil, to, bellman.ID{})})
	if err != nil {
		return buf, err
	}
	defer iter.Close()
	taken, seen := 0, 0
	for ok := iter.First(); ok && taken < limit; ok = iter.Next() {
		row, err := iter.ValueAndErr()
		if err != nil {
			return buf, err
		}
		var e store.Entry
		if err := parseEntry(iter.Key(), row, &e); err != nil {
			return buf, fmt.Errorf("due entry of task %s: %w", e.ID, err)
		}
		if seen == 0 {
			first = position{e.VisibleAt, e.ID}
		}
		if seen++; seen%1024 == 0 && ctx.Err() != nil {
			return buf, ctx.Err()
		}
		if int(e.Shard) < len(wanted) && wanted[e.Shard] {
			buf = append(buf, e)
			taken++
		}
	}
	if err := iter.Error(); err != nil {
		return buf, err
	}
	if seen == 0 {
		first = position{to, bellman.ID{}}
	}
	return buf, nil
}

// Load reads whole tasks (without Last) for entries, in the order of entries. An element is nil if
// the task is gone, ended, or has another version.
func (s *Store) Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	tasks := make([]*bellman.Task, len(entries))
	if len(entries) == 0 {
		return tasks, nil
	}

	// Read in order of ids, so that each iterator only moves forward. Entries usually have this
	// order already.
	order := make([]int32, len(entries))
	sorted := true
	for i := range entries {
		order[i] = int32(i)
		sorted = sorted && (i == 0 || entries[i-1].ID.Compare(entries[i].ID) < 0)
	}
	if !sorted {
		slices.SortFunc(order, func(a, b int32) int { return entries[a].ID.Compare(entries[b].ID) })
	}

	hot, err := s.db.NewIterWithContext(ctx, within([]byte{tableHot}))
	if err != nil {
		return nil, err
	}
	defer hot.Close()
	cold, err := hot.CloneWithContext(ctx, lsm.CloneOptions{IterOptions: within([]byte{tableCold})})
	if err != nil {
		return nil, err
	}
	defer cold.Close()

	var key []byte
	var st status
	for n, i := range order {
		if n%256 == 255 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e := &entries[i]
		key = hotKey(key[:0], e.ID)
		if !find(hot, key) {
			continue
		}
		if err := parseStatus(hot.Value(), e.ID, &st); err != nil {
			return nil, fmt.Errorf("task %s: status: %w", e.ID, err)
		}
		if st.Version != e.Version {
			continue
		}
		key = coldKey(key[:0], e.ID)
		if !find(cold, key) {
			continue
		}
		t := new(bellman.Task)
		if err := s.parseTask(cold.Value(), e.ID, t); err != nil {
			return nil, err
		}
		t.Status = st.Status
		tasks[i] = t
	}
	if err := cmp.Or(hot.Error(), cold.Error()); err != nil {
		return nil, err
	}
	return tasks, nil
}

// find moves iter forward to key and reports whether the key exists. Keys must come in order. find
// tries the next row first, because it is usually the right row.
func find(iter *lsm.Iterator, key []byte) bool {
	if iter.Valid() {
		order := bytes.Compare(iter.Key(), key)
		if order < 0 && iter.Next() {
			order = bytes.Compare(iter.Key(), key)
		}
		if order == 0 {
			return true
		}
		if order > 0 && iter.Valid() {
			return false
		}
	}
	return iter.SeekGE(key) && bytes.Equal(iter.Key(), key)
}
