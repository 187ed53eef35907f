package wheel

// A Handle names one timer of one wheel, for Cancel. The zero Handle names
// none. Handles are never used again: one whose timer fired or was cancelled
// stays stale for as long as the wheel lives.
type Handle struct {
	cell uint32
	life uint32
}

// An entry is a timer in the slab: 32 bytes if T is [16]byte, so two share a
// cache line and none straddles one.
type entry[T any] struct {
	due   int64
	life  uint32 // odd while pending; grows by one at Add and by one at the end
	where uint32 // its place in a block, see slots
	value T
}

// entries is the slab of timers. Beyond cells it keeps lives: how far the
// lives of a dropped chunk's cells had come, so that handles from before stay
// stale when the chunk comes back.
type entries[T any] struct {
	slab  slab[entry[T]]
	lives []uint32 // by chunk; even; 0 for a chunk that was never dropped
}

// add puts a timer into a free cell.
func (s *entries[T]) add(due int64, v T) (Handle, *entry[T]) {
	i := s.slab.take()
	e := s.slab.at(i)
	if e.life == 0 {
		if c := i >> chunkBits; int(c) < len(s.lives) {
			e.life = s.lives[c]
		}
	}
	if e.life == usedUp {
		return s.add(due, v) // and cell i is never given back
	}
	e.life++
	e.due = due
	e.value = v
	return Handle{cell: i, life: e.life}, e
}

// usedUp is the life of a cell when it has had all 2³¹ that a handle can tell
// apart. It is even, so no handle has it.
const usedUp = ^uint32(1)

// placed is the entry of cell i if it is pending at that place, and not one
// that has ended since, or belongs to another timer now.
func (s *entries[T]) placed(i, place uint32) *entry[T] {
	cells := s.slab.chunks[i>>chunkBits].cells
	if cells == nil {
		return nil
	}
	e := &cells[i%chunkLen]
	if e.where != place || e.life%2 == 0 {
		return nil
	}
	return e
}

// end ends a timer and frees its cell.
func (s *entries[T]) end(i uint32, e *entry[T]) {
	var none T
	e.value = none
	e.life++
	s.free(i)
}

// free gives the cell of a timer back that has ended.
func (s *entries[T]) free(i uint32) {
	if s.slab.chunks[i>>chunkBits].free.give(i) {
		s.turned(i >> chunkBits)
	}
}

// turned is for a chunk that is full no longer, or empty now.
func (s *entries[T]) turned(c uint32) {
	if !s.slab.turned(c, s.slab.chunks[c].free) {
		return
	}
	for int(c) >= len(s.lives) {
		s.lives = append(s.lives, 0)
	}
	far := s.lives[c]
	for k := range s.slab.chunks[c].cells {
		far = max(far, s.slab.chunks[c].cells[k].life)
	}
	s.lives[c] = far
	s.slab.drop(c)
}
