package redis

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
)

// pruneStep is how many tasks are deleted at once, so that other calls are answered in between.
const pruneStep = 256

// Prune deletes tasks that ended in state and finished before the given time.
func (s *Store) Prune(ctx context.Context, state bellman.State, before time.Time, limit int) (pruned int, err error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	if !state.Ended() {
		return 0, errors.New("prune pending tasks: want an end state")
	}
	key, below := s.prefix+"e"+strconv.Itoa(int(state)), "("+strconv.FormatInt(before.UnixMilli(), 10)
	left := 0 // ids that stay: their tasks were changed meanwhile, or somebody deleted their rows
	for pruned < limit {
		n := min(limit-pruned, pruneStep)
		reply, err := s.do(ctx, false, func(c *client.Client) (any, error) {
			return c.ZRangeArgs(ctx, client.ZRangeArgs{Key: key, Start: "-inf", Stop: below, ByScore: true, Offset: int64(left), Count: int64(n)}).Result()
		})
		if err != nil {
			return pruned, fmt.Errorf("prune: %w", err)
		}
		var ids []bellman.ID
		for _, id := range reply.([]string) {
			if len(id) != 16 {
				return pruned, pack.ErrCorrupt
			}
			ids = append(ids, bellman.ID([]byte(id)))
		}
		if len(ids) == 0 {
			return pruned, nil
		}
		tasks, err := s.whole(ctx, ids)
		if err != nil {
			return pruned, fmt.Errorf("prune: %w", err)
		}
		var args []any
		for _, t := range tasks {
			if t != nil {
				args = append(args, t.ID[:], binary.BigEndian.AppendUint32(nil, t.Version), keyOf(t.Queue, t.Key), keyOf("", t.Alias()), listOf(t.MerchantNo), listOf(t.OrderNo))
			}
		}
		gone, err := s.run(ctx, prune, args...)
		if err != nil {
			return pruned, fmt.Errorf("prune: %w", err)
		}
		deleted, _ := gone.(int64)
		pruned += int(deleted)
		left += len(ids) - int(deleted)
		if len(ids) < n {
			return pruned, nil
		}
	}
	return pruned, nil
}
