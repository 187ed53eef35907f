package sqlstore

import "testing"

// TestSlotsInTurn takes the slots of commits that run one after another. Each slot is used once before
// any is used again, so that the old versions of a counter's rows are spread.
func TestSlotsInTurn(t *testing.T) {
	s := newStore(nil)
	seen := map[int64]bool{}
	for range slots {
		slot := s.takeSlot()
		if seen[slot] {
			t.Fatalf("slot %d was taken twice before all others", slot)
		}
		seen[slot] = true
		s.giveSlot(slot)
	}
}
