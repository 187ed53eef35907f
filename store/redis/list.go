package redis

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// How many tasks one call of List reads: up to listMost within listTime, in steps that grow to
// listStep. Queues, events and hosts have no list of their own, so rare ones are searched for among
// all tasks. If a state has no more tasks than few, all of them are read.
const (
	listMost = 20_000
	listStep = 512
	listTime = 50 * time.Millisecond
	few      = 5_000
)

// List reads tasks that fit f, newest first.
func (s *Store) List(ctx context.Context, f store.Filter, below bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error) {
	if err := s.enter(); err != nil {
		return nil, next, err
	}
	defer s.leave()
	if limit <= 0 {
		return nil, below, nil
	}
	low, high := f.IDs(below)
	ids, err := s.candidates(ctx, f)
	if err != nil {
		return nil, next, err
	}
	seen, step, began := 0, min(max(limit, 64), listStep), time.Now()
	for low.Compare(high) < 0 {
		n := step
		step = min(2*step, listStep)
		page, err := ids(ctx, low, high, n)
		if err != nil {
			return nil, next, err
		}
		found, err := s.whole(ctx, page)
		if err != nil {
			return nil, next, err
		}
		for i, t := range found {
			if t == nil || !f.Fits(t) {
				continue
			}
			if tasks = append(tasks, t); len(tasks) == limit {
				if i < len(page)-1 || len(page) == n {
					next = t.ID
				}
				return tasks, next, nil
			}
		}
		if len(page) < n {
			return tasks, bellman.ID{}, nil
		}
		high = page[len(page)-1]
		if seen += len(page); seen >= listMost || time.Since(began) >= listTime {
			return tasks, high, nil
		}
	}
	return tasks, bellman.ID{}, nil
}

// A pager reads up to n ids that are at least low and below high, the newest first.
type pager func(ctx context.Context, low, high bellman.ID, n int) ([]bellman.ID, error)

// candidates returns the pager of the smallest list that contains every task that fits f.
func (s *Store) candidates(ctx context.Context, f store.Filter) (pager, error) {
	switch {
	case f.Key != "":
		ids, err := s.keyed(ctx, f)
		return these(ids), err
	case f.OrderNo != "":
		return s.list("o" + listOf(f.OrderNo)), nil
	case f.MerchantNo != "":
		return s.list("m" + listOf(f.MerchantNo)), nil
	case f.State != nil:
		ids, all, err := s.inState(ctx, *f.State)
		if err != nil || all {
			return these(ids), err
		}
	}
	return s.list("a"), nil
}

// list pages through a list in the server.
func (s *Store) list(name string) pager {
	return func(ctx context.Context, low, high bellman.ID, n int) (ids []bellman.ID, err error) {
		reply, err := s.run(ctx, list, name+string(low[:]), name+string(high[:]), n)
		if err != nil {
			return nil, err
		}
		page, _ := reply.([]any)
		for i := range page {
			id := text(page, i)
			if len(id) != 16 {
				return nil, pack.ErrCorrupt
			}
			ids = append(ids, bellman.ID([]byte(id)))
		}
		return ids, nil
	}
}

// these pages through ids that were read.
func these(ids []bellman.ID) pager {
	slices.SortFunc(ids, func(a, b bellman.ID) int { return b.Compare(a) })
	return func(_ context.Context, low, high bellman.ID, n int) (page []bellman.ID, _ error) {
		for _, id := range ids {
			if len(page) < n && id.Compare(high) < 0 && id.Compare(low) >= 0 {
				page = append(page, id)
			}
		}
		return page, nil
	}
}

// keyed returns the tasks of all queues that have the key.
func (s *Store) keyed(ctx context.Context, f store.Filter) (ids []bellman.ID, err error) {
	fields := []string{keyOf(f.Queue, f.Key)}
	if f.Queue == "" {
		queues, err := s.do(ctx, false, func(c *client.Client) (any, error) { return c.HKeys(ctx, s.prefix+"n").Result() })
		if err != nil {
			return nil, err
		}
		fields = nil
		for _, field := range queues.([]string) {
			fields = append(fields, keyOf(field[1:], f.Key)) // behind the state
		}
		slices.Sort(fields)
		if fields = slices.Compact(fields); len(fields) == 0 {
			return nil, nil
		}
	}
	reply, err := s.do(ctx, false, func(c *client.Client) (any, error) { return c.HMGet(ctx, s.prefix+"k", fields...).Result() })
	if err != nil {
		return nil, err
	}
	for _, id := range reply.([]any) {
		if id, is := id.(string); is && len(id) == 16 {
			ids = append(ids, bellman.ID([]byte(id)))
		}
	}
	return ids, nil
}

// inState returns all tasks of a state; all is false if there are more than few.
func (s *Store) inState(ctx context.Context, state bellman.State) (ids []bellman.ID, all bool, err error) {
	keys := []string{s.prefix + "e" + string('0'+rune(state))}
	if state == bellman.Pending {
		keys = nil
		for shard := range s.shards {
			keys = append(keys, s.prefix+"d"+string(binary.BigEndian.AppendUint16(nil, uint16(shard))))
		}
	}
	reply, err := s.do(ctx, false, func(c *client.Client) (any, error) {
		p := c.Pipeline()
		var pages []*client.StringSliceCmd
		for _, key := range keys {
			pages = append(pages, p.ZRange(ctx, key, 0, few/int64(len(keys))))
		}
		_, err := p.Exec(ctx)
		return pages, err
	})
	if err != nil {
		return nil, false, err
	}
	for _, page := range reply.([]*client.StringSliceCmd) {
		members := page.Val()
		if len(members) > few/len(keys) {
			return nil, false, nil
		}
		for _, m := range members {
			if len(m) < 16 {
				return nil, false, pack.ErrCorrupt
			}
			ids = append(ids, bellman.ID([]byte(m[:16])))
		}
	}
	return ids, true, nil
}
