package memory

import (
	"cmp"
	"container/heap"
	"slices"
	"sort"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// pending holds the rows of pending tasks of each shard, ordered by (VisibleAt, id).
type pending map[uint16][]*row

// put inserts a row if its task is pending.
func (p pending) put(r *row) {
	if r.State == bellman.Pending {
		r.at = r.VisibleAt.UnixMilli()
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
	var rest merge
	for _, shard := range shards {
		rows := p[shard]
		if len(rows) == 0 || rows[0].at >= to {
			continue
		}
		if begin, end := after(rows, from), after(rows, store.Position{VisibleAt: to}); begin < end {
			rest = append(rest, rows[begin:end])
		}
	}
	heap.Init(&rest)
	for len(due) < limit && len(rest) > 0 {
		due = append(due, rest[0][0])
		if rest[0] = rest[0][1:]; len(rest[0]) > 0 {
			heap.Fix(&rest, 0)
		} else {
			heap.Pop(&rest)
		}
	}
	return due
}

// A merge is a heap of the rows of each shard that are still to be read, never empty. The shard
// with the first row is on top.
type merge [][]*row

func (m merge) Len() int           { return len(m) }
func (m merge) Less(i, j int) bool { return compare(m[i][0], m[j][0].at, &m[j][0].ID) < 0 }
func (m merge) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(any)          { panic("memory: nothing is pushed") }
func (m *merge) Pop() any          { *m = (*m)[:len(*m)-1]; return nil }

// after returns the index of the first row after a position.
func after(rows []*row, at store.Position) int {
	return sort.Search(len(rows), func(i int) bool { return compare(rows[i], at.VisibleAt, &at.ID) > 0 })
}

// compare compares the position of a row with another.
func compare(r *row, at int64, id *bellman.ID) int {
	if r.at != at {
		return cmp.Compare(r.at, at)
	}
	return r.ID.Compare(*id)
}
