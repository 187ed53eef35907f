package wheel

import "math/bits"

const (
	chunkBits = 11
	chunkLen  = 1 << chunkBits // cells in a chunk
	maxChunks = 1 << (27 - chunkBits)

	// A chunk hands out cells again when an eighth of them is free: it has to
	// be looked through to find them.
	roomy = chunkLen / 8 * 7
)

// A slab hands out cells by number. It grows by whole chunks that never move,
// so growing copies no cell, and it lets a chunk go when the last of its cells
// came back, all but one that stays as a spare.
type slab[E any] struct {
	cells []*[chunkLen]E // by chunk; nil: not there now
	space
}

// at is cell i, which must be in a chunk that is there.
func (s *slab[E]) at(i uint32) *E {
	return &s.cells[i>>chunkBits][i%chunkLen]
}

// turn makes the lowest chunk with room the one that cells are taken from, or
// a new one if none has room. No cell of it is on offer yet.
func (s *slab[E]) turn() (c uint32, isNew bool) {
	c, isNew = s.space.turn()
	if int(c) == len(s.cells) {
		s.cells = append(s.cells, nil)
	}
	if isNew {
		s.cells[c] = new([chunkLen]E)
	}
	return c, isNew
}

// drop lets chunk c go.
func (s *slab[E]) drop(c uint32) {
	s.cells[c] = nil
	s.space.drop(c)
}

// A space keeps account of the cells of a slab.
//
// A cell itself knows whether it is free, and the owner of the slab can tell.
// Here they are only counted, so that giving a cell back touches nothing but a
// small table. Cells go out chunk by chunk and in rising order, always from
// the lowest chunk with room: what lives long gathers at the bottom, and the
// chunks that a burst needed fall empty.
type space struct {
	used  []uint32 // by chunk: cells in use
	room  []uint64 // bit set of the chunks with room, cur not among them
	gone  []uint64 // bit set of the chunks that are not there
	empty int      // chunks that are there with no cell in use

	cur  uint32                // the chunk that cells are taken from
	free [chunkLen / 64]uint64 // bit set of its cells that were free when it became so
	word int                   // the words of free before this one have been taken
	hand uint64                // what is left of the word before this one
}

// take finds a free cell. It is false if there is none at hand: then turn must
// find a chunk, and offer be told of its free cells.
func (s *space) take() (uint32, bool) {
	for s.hand == 0 {
		if s.word == len(s.free) {
			return 0, false
		}
		s.hand = s.free[s.word]
		s.word++
	}
	b := bits.TrailingZeros64(s.hand)
	s.hand &= s.hand - 1
	s.use(s.cur)
	return s.cur<<chunkBits | uint32(s.word-1)<<6 | uint32(b), true
}

// use counts a cell of a chunk as in use.
func (s *space) use(c uint32) {
	if s.used[c] == 0 {
		s.empty--
	}
	s.used[c]++
}

// give takes a cell of a chunk back. It says whether turned must be called.
func (s *space) give(c uint32) (turned bool) {
	u := s.used[c] - 1
	s.used[c] = u
	return u == 0 || u == roomy
}

// turned keeps account of a chunk that has room now, or is empty. It says
// whether the chunk is to be let go, by drop, which is left to the caller
// because it may have to look at the cells once more.
func (s *space) turned(c uint32) (drop bool) {
	if c != s.cur {
		s.room[c/64] |= 1 << (c % 64)
	}
	if s.used[c] > 0 {
		return false
	}
	s.empty++
	return s.empty > 1 && c != s.cur
}

func (s *space) drop(c uint32) {
	s.room[c/64] &^= 1 << (c % 64)
	s.gone[c/64] |= 1 << (c % 64)
	s.empty--
}

func (s *space) turn() (c uint32, isNew bool) {
	if int(s.cur) < len(s.used) && s.used[s.cur] <= roomy {
		s.room[s.cur/64] |= 1 << (s.cur % 64)
	}
	c, ok := lowest(s.room)
	if ok {
		s.room[c/64] &^= 1 << (c % 64)
	} else {
		c = s.grow()
	}
	clear(s.free[:])
	s.cur, s.word, s.hand = c, 0, 0
	return c, !ok
}

// offer says that cell i of the chunk that cells are taken from is free.
func (s *space) offer(i int) {
	s.free[i/64] |= 1 << (i % 64)
}

// grow finds a number for a chunk that is to be made.
func (s *space) grow() uint32 {
	s.empty++
	if c, ok := lowest(s.gone); ok {
		s.gone[c/64] &^= 1 << (c % 64)
		return c
	}
	c := uint32(len(s.used))
	if c == maxChunks {
		panic("wheel: full: it cannot hold more than 134 million timers")
	}
	s.used = append(s.used, 0)
	if c%64 == 0 {
		s.room = append(s.room, 0)
		s.gone = append(s.gone, 0)
	}
	return c
}

// lowest is the first bit that is set.
func lowest(set []uint64) (uint32, bool) {
	for w, m := range set {
		if m != 0 {
			return uint32(w*64 + bits.TrailingZeros64(m)), true
		}
	}
	return 0, false
}
