package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
)

// listRows is how many rows one call of List looks at, at most.
const listRows = 2000

// List reads tasks that fit f, newest first. See bellman.Reader. It goes
// through the narrowest range of keys that f allows: one key, the tasks of an
// order, of a merchant, in a state, or all.
func (s *Store) List(ctx context.Context, f bellman.Filter, before bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error) {
	if err := s.enter(); err != nil {
		return nil, next, err
	}
	defer s.leave()
	if limit <= 0 {
		return nil, before, nil
	}
	snapshot := s.db.NewSnapshot()
	defer snapshot.Close()
	l := lister{s: s, r: snapshot, filter: f, before: before}
	if f.Queue != "" {
		n, ok := s.queues.number(f.Queue)
		if !ok {
			return nil, next, nil
		}
		l.queue, l.oneQueue = n, true
	}
	if f.Key != "" {
		return l.byKey(limit)
	}
	return l.scan(ctx, limit)
}

// A lister is one call of List.
type lister struct {
	s        *Store
	r        *lsm.Snapshot
	filter   bellman.Filter
	queue    uint32
	oneQueue bool
	before   bellman.ID
}

// byKey finds the one task of each queue that has the key.
func (l *lister) byKey(limit int) (tasks []*bellman.Task, next bellman.ID, err error) {
	for n, name := range *l.s.queues.names.Load() {
		if l.oneQueue && l.queue != uint32(n) || len(l.filter.Key) > maxName {
			continue
		}
		id, err := l.s.lookup(l.r, uint32(n), l.filter.Key)
		if errors.Is(err, bellman.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, next, fmt.Errorf("look up key in queue %s: %w", name, err)
		}
		if !l.before.IsZero() && compareID(id, l.before) >= 0 {
			continue
		}
		t, err := l.fits(id)
		if err != nil {
			return nil, next, err
		}
		if t != nil {
			tasks = append(tasks, t)
		}
	}
	slices.SortFunc(tasks, func(a, b *bellman.Task) int { return compareID(b.ID, a.ID) })
	if len(tasks) > limit {
		tasks = tasks[:limit]
		next = tasks[limit-1].ID
	}
	return tasks, next, nil
}

// bounds are the keys to look at. Each ends with an id.
func (l *lister) bounds() *lsm.IterOptions {
	var prefix []byte
	switch f := l.filter; {
	case f.OrderNo != "":
		prefix = appendTerm([]byte{tableOrder}, f.OrderNo)
	case f.MerchantNo != "":
		prefix = appendTerm([]byte{tableMerchant}, f.MerchantNo)
	case f.State != nil && f.State.Ended():
		prefix = []byte{tableEnded, byte(*f.State)}
	case f.State != nil:
		prefix = []byte{tableHot}
	default:
		prefix = []byte{tableCold}
	}
	bounds := within(prefix)
	if from := l.filter.CreatedFrom; !from.IsZero() {
		id := bellman.FirstID(from)
		bounds.LowerBound = append(slices.Clone(prefix), id[:]...)
	}
	end := l.before
	if to := l.filter.CreatedTo; !to.IsZero() {
		if id := bellman.FirstID(to); end.IsZero() || compareID(id, end) < 0 {
			end = id
		}
		if end.IsZero() {
			end = bellman.ID{15: 1} // created before 1970: nothing is
		}
	}
	if !end.IsZero() {
		bounds.UpperBound = append(slices.Clone(prefix), end[:]...)
	}
	return bounds
}

func (l *lister) scan(ctx context.Context, limit int) (tasks []*bellman.Task, next bellman.ID, err error) {
	bounds := l.bounds()
	if bytes.Compare(bounds.LowerBound, bounds.UpperBound) >= 0 {
		return nil, next, nil
	}
	iter, err := l.r.NewIterWithContext(ctx, bounds)
	if err != nil {
		return nil, next, err
	}
	defer iter.Close()
	seen := 0
	var id bellman.ID
	for ok := iter.Last(); ok; ok = iter.Prev() {
		if len(tasks) == limit || seen == listRows {
			return tasks, id, nil
		}
		if seen++; seen%256 == 0 && ctx.Err() != nil {
			return nil, next, ctx.Err()
		}
		id = idOf(iter.Key())
		if l.oneQueue {
			other, err := l.otherQueue(iter)
			if err != nil {
				return nil, next, fmt.Errorf("task %s: %w", id, err)
			}
			if other {
				continue
			}
		}
		t, err := l.fits(id)
		if err != nil {
			return nil, next, err
		}
		if t != nil {
			tasks = append(tasks, t)
		}
	}
	return tasks, next, iter.Error()
}

// otherQueue reports whether the row itself says that the task is of another
// queue, so that nothing more need be read.
func (l *lister) otherQueue(iter *lsm.Iterator) (bool, error) {
	row, err := iter.ValueAndErr()
	if err != nil {
		return false, err
	}
	p := parser{b: row}
	switch iter.Key()[0] {
	case tableCold:
		p.byte()
	case tableHot, tableEnded:
		p.byte()
		p.uint16()
		p.uint64()
	default:
		return false, nil
	}
	return uint32(p.uvarint()) != l.queue, p.err
}

// fits reads the task, and returns nil if the filter does not choose it.
func (l *lister) fits(id bellman.ID) (*bellman.Task, error) {
	f := &l.filter
	t, err := l.s.cold(l.r, id)
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", id, err)
	}
	switch {
	case f.Queue != "" && f.Queue != t.Queue,
		f.Key != "" && f.Key != t.Key,
		f.MerchantNo != "" && f.MerchantNo != t.MerchantNo,
		f.OrderNo != "" && f.OrderNo != t.OrderNo,
		f.Event != "" && f.Event != t.Event,
		f.URLHost != "" && !atHost(t.URL, f.URLHost),
		!f.CreatedFrom.IsZero() && compareID(id, bellman.FirstID(f.CreatedFrom)) < 0,
		!f.CreatedTo.IsZero() && compareID(id, bellman.FirstID(f.CreatedTo)) >= 0:
		return nil, nil
	}
	var key [32]byte
	scratch := key[:0]
	st, err := l.s.status(l.r, id, &scratch)
	if err != nil {
		return nil, fmt.Errorf("task %s: status: %w", id, err)
	}
	if f.State != nil && *f.State != st.State {
		return nil, nil
	}
	t.Status = st.Status
	t.Last, err = l.s.last(l.r, id, st.Attempts)
	return t, err
}

// atHost reports whether address is at host, given with or without its port.
func atHost(address, host string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Host == host || u.Hostname() == host)
}
