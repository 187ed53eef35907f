package pebble

import (
	"fmt"
	"slices"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// fewChanges is the number of changes up to which rows are read separately. An iterator costs as
// much as a few reads.
const fewChanges = 8

// readAhead reads the status rows of pending tasks that a commit is about to change. It uses one
// iterator in the order of ids, which costs a tenth of separate reads.
func (s *Store) readAhead(changes []store.Change) error {
	if len(changes) < fewChanges {
		return nil
	}
	g := &s.stage
	g.order = g.order[:0]
	for i := range changes {
		g.order = append(g.order, changes[i].ID)
	}
	slices.SortFunc(g.order, bellman.ID.Compare)
	hot, err := s.db.NewIter(within([]byte{tableHot}))
	if err != nil {
		return fmt.Errorf("read tasks to change: %w", err)
	}
	for _, id := range g.order {
		g.key = hotKey(g.key[:0], id)
		if !find(hot, g.key) || g.before[id] != nil {
			continue
		}
		st := g.take()
		if err := parseStatus(hot.Value(), id, st); err != nil {
			hot.Close()
			return fmt.Errorf("task %s: status: %w", id, err)
		}
		g.before[id] = st
	}
	if err := hot.Close(); err != nil {
		return fmt.Errorf("read tasks to change: %w", err)
	}
	return nil
}

// current returns the status of a task, including earlier changes of this commit.
func (s *Store) current(id bellman.ID) (status, error) {
	if st, ok := s.stage.status[id]; ok {
		return *st, nil
	}
	if st, ok := s.stage.before[id]; ok {
		return *st, nil
	}
	return s.status(s.db, id)
}
