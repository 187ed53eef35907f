package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// chains have the rows of pending tasks of each queue and ordering key, in order.
type chains map[[2]string][]*row

// add puts a new row, now, behind all others of its key, or where it was in another store.
func (c chains) add(r *row, now time.Time, moved bool) {
	if !moved {
		r.Place = 0
	}
	if r.OrderingKey == "" || r.State.Ended() {
		return
	}
	if r.Place == 0 {
		r.Place = now.UnixMicro()
		if chain := c[r.chain()]; len(chain) > 0 {
			r.Place = max(r.Place, chain[len(chain)-1].Place+1)
		}
	}
	c.insert(r)
}

// change takes a row out that ended, and puts one in that is pending again.
func (c chains) change(r *row) {
	if !r.State.Ended() {
		c.insert(r)
		return
	}
	rest := c[r.chain()]
	if i := slices.Index(rest, r); i >= 0 {
		rest = slices.Delete(rest, i, i+1)
	}
	if c[r.chain()] = rest; len(rest) == 0 {
		delete(c, r.chain())
	}
}

func (c chains) insert(r *row) {
	chain := c[r.chain()]
	i, _ := slices.BinarySearchFunc(chain, r, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), bytes.Compare(a.ID[:], b.ID[:]))
	})
	c[r.chain()] = slices.Insert(chain, i, r)
}

func (r *row) chain() [2]string { return [2]string{r.Queue, r.OrderingKey} }

// Turn says what stands in the way of a pending task.
func (s *Store) Turn(ctx context.Context, queue, orderingKey string, id bellman.ID) (store.Turn, error) {
	return alone(ctx, s, func() (turn store.Turn, err error) {
		chain := s.chains[[2]string{queue, orderingKey}]
		i := slices.IndexFunc(chain, func(r *row) bool { return r.ID == id })
		if i < 0 {
			return turn, bellman.ErrNotFound
		}
		if i > 0 {
			turn.Before = chain[0].ID
		}
		for _, r := range slices.Backward(chain[i+1:]) {
			if r.Supersedes {
				turn.SupersededBy = r.ID
				break
			}
		}
		return turn, nil
	})
}

// Ordered reads the pending tasks of an ordering key.
func (s *Store) Ordered(ctx context.Context, queue, orderingKey string, limit int) ([]bellman.ID, error) {
	return alone(ctx, s, func() (ids []bellman.ID, err error) {
		for _, r := range first(s.chains[[2]string{queue, orderingKey}], limit) {
			ids = append(ids, r.ID)
		}
		return ids, nil
	})
}
