package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// chains hold the rows of pending tasks of each queue and ordering key, in order.
type chains map[[2]string][]*row

// add puts a new row behind all others of its key, or in the place it had in another store.
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

// change removes the row of a task that ended, and inserts the row of a task that is pending again.
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
		return cmp.Or(cmp.Compare(a.Place, b.Place), a.ID.Compare(b.ID))
	})
	c[r.chain()] = slices.Insert(chain, i, r)
}

func (r *row) chain() [2]string { return [2]string{r.Queue, r.OrderingKey} }

// Chain reads the pending tasks of an ordering key.
func (s *Store) Chain(ctx context.Context, queue, orderingKey string, id bellman.ID, limit int) (store.Chain, error) {
	return alone(ctx, s, func() (c store.Chain, err error) {
		chain := s.chains[[2]string{queue, orderingKey}]
		own := 0
		if !id.IsZero() {
			own = slices.IndexFunc(chain, func(r *row) bool { return r.ID == id })
		}
		if own < 0 {
			return c, bellman.ErrNotFound
		}
		for _, r := range first(chain, limit) {
			c.First = append(c.First, r.ID)
		}
		for i := len(chain) - 1; i > own && c.SupersededBy.IsZero(); i-- {
			if chain[i].Supersedes {
				c.SupersededBy = chain[i].ID
			}
		}
		return c, nil
	})
}
