package redis

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// A lane holds the entries of one shard that were read and not yet returned.
type lane struct {
	shard   uint16
	entries []store.Entry
	from    store.Position // position of the last entry that was read
	more    bool           // there may be further entries
}

// Due reads the entries of shards from a position to a time.
func (s *Store) Due(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, buf []store.Entry) ([]store.Entry, error) {
	if err := s.enter(); err != nil {
		return buf, err
	}
	defer s.leave()
	if limit <= 0 || len(shards) == 0 {
		return buf, nil
	}
	lanes := make([]*lane, len(shards))
	for i, shard := range shards {
		lanes[i] = &lane{shard: shard, from: from, more: true}
	}
	// Tasks are spread evenly over shards, so one or two reads of a little more than the even part
	// of each shard are enough.
	part := min(limit, limit*5/4/len(shards)+4)
	for end := len(buf) + limit; len(buf) < end; {
		if err := s.fill(ctx, lanes, to, part); err != nil {
			return buf, err
		}
		var first *lane
		for _, l := range lanes {
			if len(l.entries) > 0 && (first == nil || before(&l.entries[0], &first.entries[0])) {
				first = l
			}
		}
		if first == nil {
			break
		}
		buf = append(buf, first.entries[0])
		first.entries = first.entries[1:]
	}
	return buf, nil
}

// fill reads on where a lane is empty and may not be at its end.
func (s *Store) fill(ctx context.Context, lanes []*lane, to int64, part int) error {
	var empty []*lane
	for _, l := range lanes {
		if l.more && len(l.entries) == 0 {
			empty = append(empty, l)
		}
	}
	if len(empty) == 0 {
		return nil
	}
	args := []any{part, to}
	for _, l := range empty {
		id := l.from.ID[:]
		if l.from.ID.IsZero() {
			id = nil
		}
		args = append(args, binary.BigEndian.AppendUint16(nil, l.shard), l.from.VisibleAt, id)
	}
	reply, err := s.run(ctx, due, args...)
	if err != nil {
		return fmt.Errorf("read what is due: %w", err)
	}
	pages, _ := reply.([]any)
	for i, l := range empty {
		if i >= len(pages) {
			return fmt.Errorf("read what is due: %w", pack.ErrCorrupt)
		}
		page, _ := pages[i].([]any)
		if l.more = len(page) == 2*part; l.entries == nil {
			l.entries = make([]store.Entry, 0, len(page)/2)
		}
		l.entries = l.entries[:0]
		for j := 0; j+1 < len(page); j += 2 {
			e, err := parseEntry(l.shard, text(page, j+1), text(page, j))
			if err != nil {
				return fmt.Errorf("read what is due: %w", err)
			}
			l.entries = append(l.entries, e)
			l.from = store.Position{VisibleAt: e.VisibleAt, ID: e.ID}
		}
	}
	return nil
}

func before(a, b *store.Entry) bool {
	return cmp.Or(cmp.Compare(a.VisibleAt, b.VisibleAt), a.ID.Compare(b.ID)) < 0
}

// CountDue counts the entries that Due would return, up to most.
func (s *Store) CountDue(ctx context.Context, shards []uint16, from store.Position, to, most int64) (int64, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	args := []any{from.VisibleAt, to}
	for _, shard := range shards {
		args = append(args, binary.BigEndian.AppendUint16(nil, shard))
	}
	reply, err := s.run(ctx, count, args...)
	if err != nil {
		return 0, fmt.Errorf("count what is due: %w", err)
	}
	n, _ := reply.(int64)
	return min(n, most), nil
}

// Load reads the tasks of entries that are still of their version.
func (s *Store) Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	ids := make([]bellman.ID, len(entries))
	for i := range entries {
		ids[i] = entries[i].ID
	}
	tasks, err := s.whole(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("load tasks: %w", err)
	}
	for i, t := range tasks {
		if t == nil {
			continue
		}
		if t.State != bellman.Pending || t.Version != entries[i].Version {
			tasks[i] = nil
		}
		t.Last = nil
	}
	return tasks, nil
}

// whole reads tasks, nil where there is none.
func (s *Store) whole(ctx context.Context, ids []bellman.ID) ([]*bellman.Task, error) {
	tasks := make([]*bellman.Task, len(ids))
	const most = 512 // tasks in one call, so that other calls are answered in between
	for begin := 0; begin < len(ids); begin += most {
		part := ids[begin:min(begin+most, len(ids))]
		keys := make([]string, len(part))
		for i := range part {
			keys[i] = s.row(part[i])
		}
		reply, err := s.do(ctx, false, func(c *client.Client) (any, error) { return c.MGet(ctx, keys...).Result() })
		if err != nil {
			return nil, err
		}
		for i, row := range reply.([]any) {
			if row, is := row.(string); is {
				if tasks[begin+i], err = parseRow(part[i], row); err != nil {
					return nil, err
				}
			}
		}
	}
	return tasks, nil
}

func (s *Store) row(id bellman.ID) string { return s.prefix + "t" + string(id[:]) }
