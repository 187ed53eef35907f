package redis

import (
	"context"
	"strconv"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// places are what a commit must know to put new tasks behind the pending tasks of their ordering
// keys. They are read before the commit, and show everything that was committed before the commit
// was requested.
type places struct {
	now  int64                // the server's clock, in µs
	last map[string]int64     // the last place of each chain
	nth  map[bellman.ID]int64 // index of each new task of this commit within its chain
}

// readPlaces reads the places for the tasks that b may add. If no task has an ordering key, it
// reads nothing.
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

// take returns the place of a new task: behind all earlier tasks, and behind the tasks before it in
// its batch. 0: it needs no place.
func (p *places) take(t *bellman.Task) int64 {
	if t.OrderingKey == "" || t.State.Ended() {
		return 0
	}
	return max(p.now, p.last[keyOf(t.Queue, t.OrderingKey)]+1) + p.nth[t.ID]
}

// chain appends the ordering key and the place of a task: see lua/rows.lua.
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
	return a.place < b.place || a.place == b.place && a.id.Compare(b.id) < 0
}

// Chain reads the pending tasks of an ordering key, of one moment.
func (s *Store) Chain(ctx context.Context, queue, orderingKey string, id bellman.ID, limit int) (store.Chain, error) {
	name := keyOf(queue, orderingKey)
	return ask(ctx, s, "read a chain", func(c *client.Client) (found store.Chain, err error) {
		if name == "" && !id.IsZero() {
			return found, bellman.ErrNotFound
		}
		if name == "" {
			return found, nil
		}
		p := c.TxPipeline()
		var score *client.FloatCmd
		if !id.IsZero() {
			score = p.ZScore(ctx, s.prefix+"w"+name, string(id[:]))
		}
		first := p.ZRangeWithScores(ctx, s.prefix+"w"+name, 0, int64(max(limit, 1))-1)
		last := p.ZRangeArgsWithScores(ctx, client.ZRangeArgs{Key: s.prefix + "W" + name, Start: 0, Stop: 0, Rev: true})
		if _, err := p.Exec(ctx); err != nil {
			return found, err // Nil: the task does not exist
		}
		var own standing
		for i, z := range first.Val() {
			at, err := standingOf(z)
			if err != nil {
				return found, err
			}
			if i == 0 {
				own = at
			}
			if i < limit {
				found.First = append(found.First, at.id)
			}
		}
		if score != nil {
			own = standing{id, score.Val()}
		}
		if len(last.Val()) > 0 {
			by, err := standingOf(last.Val()[0])
			if err != nil {
				return found, err
			}
			if own.before(by) {
				found.SupersededBy = by.id
			}
		}
		return found, nil
	})
}

// standingOf decodes a member of a chain.
func standingOf(z client.Z) (standing, error) {
	member, is := z.Member.(string)
	if !is || len(member) != len(bellman.ID{}) {
		return standing{}, pack.ErrCorrupt
	}
	return standing{bellman.ID([]byte(member)), z.Score}, nil
}
