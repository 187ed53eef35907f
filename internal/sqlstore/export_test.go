package sqlstore

import (
	"context"
	"time"
)

// Driver is the database of a store.
func (s *Store) Driver() Driver { return s.d }

// FewPending is the number of pending tasks below which a list reads them all.
const FewPending = fewPending

// MoveSoon makes the store move to new slots within a few commits.
func (s *Store) MoveSoon() {
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	s.slots.left = min(s.slots.left, 5)
}

// FoldSlots folds the rows of all slots to which stores have moved.
func (s *Store) FoldSlots(ctx context.Context) error {
	return s.foldSlots(ctx, slotAt(time.Now().Add(time.Hour)))
}
