package sqlstore

import (
	"context"
	"errors"
	"slices"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// waryFor is how many commits go the long way after one whose tasks were there
// already: those who repeat a request seldom do it once.
const waryFor = 16

// short writes b the short way, which most batches can go: all tasks are new,
// all changes are made, and all attempts have new numbers. Then nothing needs to be
// found out in the transaction, nor before it where changes say what they are of,
// and it is one flight: the fence, the writes, and COMMIT. The
// database refuses the flight as a whole if anything is not as it was foreseen;
// done is false then, nothing was written, and the long way will tell.
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
	fence, err := fence(b.Leases)
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

// foresee decides all of b as if the tasks were new and the versions stayed as
// they were read. It says no where that is not so already.
func (g *stage) foresee(b *store.Batch) (adds []*store.Add, can bool) {
	keys := map[named]bool{}
	add := func(a *store.Add) bool {
		key := named{a.Task.Queue, a.Task.Key}
		if check(a.Task) != nil || g.current[a.Task.ID] != nil || keys[key] {
			return false
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
