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

// A cell has 2³¹ lives that a handle can tell apart. Then it is spent, and
// never used again. No handle has any of these lives.
const (
	firstLife = 2          // before the first Add; 0 is the zero Handle's
	lastLife  = ^uint32(1) // after the last
	spent     = ^uint32(0) // odd, so that the cell is never found free
)

// entries is the slab of timers. Beyond cells it keeps lives: how far the
// lives of a dropped chunk's cells had come, so that handles from before stay
// stale when the chunk comes back.
type entries[T any] struct {
	slab  slab[entry[T]]
	lives []uint32 // by chunk; what its cells begin with
}

// add puts a timer into a free cell.
func (s *entries[T]) add(due int64, v T) (Handle, *entry[T]) {
	i, ok := s.slab.take()
	for !ok {
		s.turn()
		i, ok = s.slab.take()
	}
	e := s.slab.at(i)
	e.life++
	e.due = due
	e.value = v
	return Handle{cell: i, life: e.life}, e
}

// turn finds a chunk with room and offers its free cells.
func (s *entries[T]) turn() {
	c, isNew := s.slab.turn()
	cells := s.slab.cells[c]
	if isNew && int(c) == len(s.lives) {
		s.lives = append(s.lives, firstLife)
	}
	for i := range cells {
		e := &cells[i]
		if isNew {
			e.life = s.lives[c]
		}
		switch {
		case e.life == lastLife:
			e.life, e.where = spent, 0
			s.slab.use(c)
		case e.life%2 == 0:
			s.slab.offer(i)
		}
	}
}

// placed is the entry of cell i if it is pending at that place, and not one
// that has ended since, or belongs to another timer now.
func (s *entries[T]) placed(i, place uint32) *entry[T] {
	cells := s.slab.cells[i>>chunkBits]
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
	e.value = *new(T)
	e.life++
	if c := i >> chunkBits; s.slab.give(c) {
		s.turned(c)
	}
}

// turned is for a chunk that has room now, or is empty, and may go: then the
// farthest of its lives is remembered.
func (s *entries[T]) turned(c uint32) {
	if !s.slab.turned(c) {
		return
	}
	for i := range s.slab.cells[c] {
		s.lives[c] = max(s.lives[c], s.slab.cells[c][i].life)
	}
	s.slab.drop(c)
}
