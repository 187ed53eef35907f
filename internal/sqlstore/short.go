package sqlstore

import (
	"context"
	"errors"
	"slices"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// waryFor is the number of commits without the short way after a commit met existing tasks. Clients
// that repeat a request often repeat several.
const waryFor = 16

// short writes b in one flight: the fence, the writes, and COMMIT. It assumes that all tasks are
// new, all changes apply, and all attempts have new numbers. If changes carry their tasks' state,
// no read is necessary. If an assumption is wrong, the database rejects the whole flight and
// nothing is written. short then returns done = false, and the caller takes the long way.
func (s *Store) short(ctx context.Context, b *store.Batch, slot int64) (done bool, err error) {
	if s.wary.Load() > 0 && len(b.Adds) > 0 {
		s.wary.Add(-1)
		return false, nil
	}
	g := s.newStage(nil, slot)
	g.believe(b.Changes)
	reads := g.places.read(b)
	if read := g.readVersions(b.Changes); read != nil {
		reads = append(reads, read)
	}
	if len(reads) > 0 {
		if err := s.read(ctx, func() []*Statement { return reads }); err != nil {
			return true, err
		}
	}
	adds, can := g.foresee(b)
	if !can {
		return false, nil
	}
	fence, err := fence(b.Leases, s.d.LockFences())
	if err != nil {
		return true, err
	}
	var statements []*Statement
	if fence != nil {
		statements = append(statements, fence)
	}
	if len(adds) > 0 {
		slices.SortStableFunc(adds, byKey)
		statements = append(statements, coldRows(adds, g.batch, Fail))
		if aliased := aliased(adds); len(aliased) > 0 {
			statements = append(statements, aliasRows(aliased, Fail))
		}
	}
	statements = append(statements, g.writes(b, Fail)...)
	again, err := s.attempt(ctx, func(Tx) ([]*Statement, error) { return statements, nil })
	if err == nil {
		return true, nil
	}
	if err := s.fenced(err, fence); errors.Is(err, bellman.ErrFenced) {
		return true, err
	}
	if s.d.Kind(err) == Duplicate {
		s.wary.Store(waryFor)
	}
	return !again, err
}

// foresee decides all of b under the assumption that tasks are new and versions are unchanged. It
// returns false if the assumption is already wrong.
func (g *stage) foresee(b *store.Batch) (adds []*store.Add, can bool) {
	keys, aliases := map[named]bool{}, map[string]bool{}
	add := func(a *store.Add) bool {
		key, alias := named{a.Task.Queue, a.Task.Key}, a.Task.Alias()
		if g.how.check(a.Task) != nil || g.current[a.Task.ID] != nil || keys[key] || aliases[alias] {
			return false
		}
		if alias != "" {
			aliases[alias] = true
		}
		if key.key != "" {
			keys[key] = true
		}
		a.Existing, a.Err = bellman.ID{}, nil
		adds = append(adds, a)
		g.added(a)
		return true
	}
	for i := range b.Adds {
		if !add(&b.Adds[i]) {
			return nil, false
		}
	}
	for i := range b.Changes {
		c := &b.Changes[i]
		if !g.change(c) {
			return nil, false
		}
		for j := range c.Follow {
			if !add(&c.Follow[j]) {
				return nil, false
			}
		}
	}
	return adds, true
}
