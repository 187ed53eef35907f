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
	e.life++
	e.due = due
	e.value = v
	return Handle{cell: i, life: e.life}, e
}

// end gives the cell of a timer back.
func (s *entries[T]) end(i uint32, e *entry[T]) {
	var none T
	e.value = none
	e.life++
	if s.slab.chunks[i>>chunkBits].free.give(i) || e.life == 0 {
		s.turned(i, e)
	}
}

// turned is for a cell that was given back to a full chunk, or as the last one
// of its chunk, or that has lived through all 2³¹ lives that a handle can tell
// apart. Such a cell is taken again at once, and never used again.
func (s *entries[T]) turned(i uint32, e *entry[T]) {
	c := i >> chunkBits
	f := s.slab.chunks[c].free
	if e.life == 0 {
		e.life = retired
		f.retake(i)
		return
	}
	if !s.slab.turned(c, f) {
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

// retired is the life of a cell that is never used again: even, so no handle has it.
const retired = ^uint32(1)
