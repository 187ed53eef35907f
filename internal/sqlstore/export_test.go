package sqlstore

import (
	"context"
	"time"
)

// Driver is the database of a store.
func (s *Store) Driver() Driver { return s.beats }

// FewPending is the number of pending tasks below which a list reads them all.
const FewPending = fewPending

// MoveSoon makes the store move to new slots within a few commits.
func (s *Store) MoveSoon() {
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	s.slots.left = min(s.slots.left, 5)
}

// FoldSlots folds rows of all slots to which stores have moved. It reports whether there were any.
func (s *Store) FoldSlots(ctx context.Context) (any bool, err error) {
	into, err := s.foldSlots(ctx, slotAt(time.Now().Add(time.Hour)))
	return into > 0, err
}
