package sqlstore

import "testing"

// TestSlotsInTurn takes the slots of commits that run one after another. Each slot is used once
// before any is used again, so that the old versions of a counter's rows are spread.
func TestSlotsInTurn(t *testing.T) {
	var s slots
	s.init(false)
	seen := map[int64]bool{}
	for range slotCount {
		slot := s.take()
		if seen[slot] {
			t.Fatalf("slot %d was taken twice before all others", slot)
		}
		seen[slot] = true
		s.give(slot)
	}
}

// TestSlotsMove takes slots for many commits, some of them still open while the store moves. No
// slot is used more often than a row may have versions, if the database keeps them.
func TestSlotsMove(t *testing.T) {
	for _, moves := range []bool{true, false} {
		var s slots
		s.init(moves)
		const commits = 5 * slotCount * slotUses
		uses := map[int64]int{}
		var open []int64
		if moves && s.first < slotCount {
			t.Errorf("a store begins with the slots from %d, as those before it; want new ones", s.first)
		}
		for range commits {
			slot := s.take()
			uses[slot]++
			if open = append(open, slot); len(open) == 3 {
				s.give(open[0])
				open = open[1:]
			}
		}
		most := 0
		for slot, n := range uses {
			if most = max(most, n); slot < 0 {
				t.Errorf("moves %t: slot %d was used", moves, slot)
			}
		}
		if moves && (most > 2*slotUses || len(uses) < 5*slotCount) || !moves && len(uses) != slotCount {
			t.Errorf("moves %t: %d slots were used, one of them %d times", moves, len(uses), most)
		}
	}
}
