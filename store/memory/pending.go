package memory

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// pending holds the rows of pending tasks of each shard, ordered by (VisibleAt, id).
type pending map[uint16][]*row

// put inserts a row if its task is pending.
func (p pending) put(r *row) {
	if r.State == bellman.Pending {
		i := after(p[r.Shard], r.position())
		p[r.Shard] = slices.Insert(p[r.Shard], i, r)
	}
}

// drop removes a row before it changes.
func (p pending) drop(r *row) {
	if r.State == bellman.Pending {
		i := after(p[r.Shard], r.position())
		p[r.Shard] = slices.Delete(p[r.Shard], i-1, i)
	}
}

// due returns the rows of shards after a position whose VisibleAt is before to.
func (p pending) due(shards []uint16, from store.Position, to int64, limit int) (due []*row) {
	var rest [][]*row // of each shard, never empty
	for shard, rows := range p {
		if len(rows) == 0 || rows[0].position().VisibleAt >= to || !slices.Contains(shards, shard) {
			continue
		}
		if begin, end := after(rows, from), after(rows, store.Position{VisibleAt: to}); begin < end {
			rest = append(rest, rows[begin:end])
		}
	}
	for len(due) < limit && len(rest) > 0 {
		next := 0
		for i := range rest {
			if compare(rest[i][0].position(), rest[next][0].position()) < 0 {
				next = i
			}
		}
		due = append(due, rest[next][0])
		if rest[next] = rest[next][1:]; len(rest[next]) == 0 {
			rest = slices.Delete(rest, next, next+1)
		}
	}
	return due
}

// after returns the index of the first row after a position.
func after(rows []*row, at store.Position) int {
	i, found := slices.BinarySearchFunc(rows, at, func(r *row, at store.Position) int { return compare(r.position(), at) })
	if found {
		i++
	}
	return i
}

func compare(a, b store.Position) int {
	if a.VisibleAt != b.VisibleAt {
		return cmp.Compare(a.VisibleAt, b.VisibleAt)
	}
	return bytes.Compare(a.ID[:], b.ID[:])
}
