package sqlstore

import (
	"context"
	"errors"
	"math/rand/v2"
)

// New returns the store in a database whose schema is the present one. It
// refuses a database that would not hold what a store promises. It owns d.
func New(ctx context.Context, d Driver) (*Store, error) {
	s := &Store{d: d}
	for _, slot := range rand.Perm(slots) {
		s.slots = append(s.slots, int64(slot))
	}
	version, err := schemaVersion(ctx, d)
	if err != nil {
		return nil, err
	}
	if version < len(migrations) {
		return nil, older(version)
	}
	shards, err := s.Shards(ctx)
	if err != nil {
		return nil, err
	}
	if s.shards = len(shards); s.shards == 0 {
		return nil, errors.New("the schema has no shards: it was not created by bellman, or rows of bellman_shard were deleted")
	}
	return s, s.probe(ctx)
}
