package redis

import (
	"bytes"
	"context"
	"strconv"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// places are what a commit must know to put new tasks behind those of their ordering
// keys that are pending. It is read before: who was committed before the commit was
// asked for is seen.
type places struct {
	now  int64                // the server's clock, in µs
	last map[string]int64     // the last place of each chain
	nth  map[bellman.ID]int64 // which of this commit's own a task is
}

// readPlaces reads what there is to know of the tasks that b may add; nothing if none
// has an ordering key.
func (s *Store) readPlaces(ctx context.Context, b *store.Batch, to *places) error {
	*to = places{}
	var chains []string
	note := func(adds []store.Add) {
		for i := range adds {
			t := adds[i].Task
			if t.OrderingKey == "" {
				continue
			}
			if to.nth == nil {
				to.nth, to.last = map[bellman.ID]int64{}, map[string]int64{}
			}
			to.nth[t.ID] = int64(len(to.nth))
			name := keyOf(t.Queue, t.OrderingKey)
			if _, known := to.last[name]; !known {
				to.last[name] = 0
				chains = append(chains, name)
			}
		}
	}
	note(b.Adds)
	for i := range b.Changes {
		note(b.Changes[i].Follow)
	}
	if len(chains) == 0 {
		return nil
	}
	_, err := s.do(ctx, false, func(c *client.Client) (any, error) {
		p := c.Pipeline()
		clock := p.Time(ctx)
		for _, name := range chains {
			p.ZRangeArgsWithScores(ctx, client.ZRangeArgs{Key: s.prefix + "w" + name, Start: 0, Stop: 0, Rev: true})
		}
		answers, err := p.Exec(ctx)
		if err != nil {
			return nil, err
		}
		to.now = clock.Val().UnixMicro()
		for i, name := range chains {
			if last := answers[i+1].(*client.ZSliceCmd).Val(); len(last) > 0 {
				to.last[name] = int64(last[0].Score)
			}
		}
		return nil, nil
	})
	return err
}

// take returns the place of a new task: behind all that were there, and behind those
// that stand before it in its batch. 0: it needs none.
func (p *places) take(t *bellman.Task) int64 {
	if t.OrderingKey == "" || t.State.Ended() {
		return 0
	}
	return max(p.now, p.last[keyOf(t.Queue, t.OrderingKey)]+1) + p.nth[t.ID]
}

// chain puts where a task stands: see lua/rows.lua.
func (c *call) chain(o *bellman.Ordering, place int64) {
	switch {
	case o == nil:
		c.put("", "")
	case o.Supersedes:
		c.put("s"+keyOf(o.Queue, o.Key), strconv.FormatInt(place, 10))
	default:
		c.put("-"+keyOf(o.Queue, o.Key), strconv.FormatInt(place, 10))
	}
}

// A standing is a task and its place.
type standing struct {
	id    bellman.ID
	place float64 // a whole number of µs, below 2⁵³
}

func (a standing) before(b standing) bool {
	return a.place < b.place || a.place == b.place && bytes.Compare(a.id[:], b.id[:]) < 0
}

// Turn says what stands in the way of a pending task. See store.Reader.
func (s *Store) Turn(ctx context.Context, queue, orderingKey string, id bellman.ID) (turn store.Turn, err error) {
	name := keyOf(queue, orderingKey)
	return ask(ctx, s, "read a turn", func(c *client.Client) (turn store.Turn, err error) {
		if name == "" {
			return turn, bellman.ErrNotFound
		}
		p := c.TxPipeline()
		own := p.ZScore(ctx, s.prefix+"w"+name, string(id[:]))
		first := p.ZRange(ctx, s.prefix+"w"+name, 0, 0)
		last := p.ZRangeArgsWithScores(ctx, client.ZRangeArgs{Key: s.prefix + "W" + name, Start: 0, Stop: 0, Rev: true})
		if _, err := p.Exec(ctx); err != nil {
			return turn, err // Nil: it is not there
		}
		if len(first.Val()) == 0 || len(first.Val()[0]) != len(id) {
			return turn, pack.ErrCorrupt
		}
		if before := bellman.ID([]byte(first.Val()[0])); before != id {
			turn.Before = before
		}
		if found := last.Val(); len(found) > 0 {
			member, is := found[0].Member.(string)
			if !is || len(member) != len(id) {
				return turn, pack.ErrCorrupt
			}
			by := standing{bellman.ID([]byte(member)), found[0].Score}
			if (standing{id, own.Val()}).before(by) {
				turn.SupersededBy = by.id
			}
		}
		return turn, nil
	})
}

// Ordered reads the pending tasks of an ordering key. See store.Reader.
func (s *Store) Ordered(ctx context.Context, queue, orderingKey string, limit int) (ids []bellman.ID, err error) {
	name := keyOf(queue, orderingKey)
	found, err := ask(ctx, s, "read an order", func(c *client.Client) ([]string, error) {
		if name == "" || limit <= 0 {
			return []string{}, nil
		}
		return c.ZRange(ctx, s.prefix+"w"+name, 0, int64(limit)-1).Result()
	})
	for _, id := range found {
		if len(id) != len(bellman.ID{}) {
			return nil, pack.ErrCorrupt
		}
		ids = append(ids, bellman.ID([]byte(id)))
	}
	return ids, err
}
