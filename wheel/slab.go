package wheel

import "math/bits"

const (
	chunkBits = 11
	chunkLen  = 1 << chunkBits // cells in a chunk
	maxChunks = 1 << (28 - chunkBits)
)

// A slab hands out cells by number. It grows by whole chunks that never move,
// so growing copies no cell, and it lets a chunk go when the last of its cells
// came back, all but one that stays as a spare.
//
// Cells go out in rising order, and a full chunk is followed by the lowest
// chunk with room: what lives long gathers at the bottom, and the chunks that
// a burst needed fall empty.
type slab[E any] struct {
	chunks []chunk[E]
	room   []uint64 // bit set of the chunks that are there and have a free cell
	gone   []uint64 // bit set of the chunks that are not there
	empty  int      // chunks that are there with no cell in use

	cur  uint32 // the chunk that cells are taken from
	word uint32 // the word of its bit set that hand was taken from
	hand uint64 // free cells that are next to go out, not in that word any more
}

type chunk[E any] struct {
	cells *[chunkLen]E // nil: not there now
	free  *freeCells   // stays when the cells go
}

// freeCells says which cells of a chunk are free.
type freeCells struct {
	words [chunkLen / 64]uint64
	used  int // cells in use
}

// at is cell i, which must be in a chunk that is there.
func (s *slab[E]) at(i uint32) *E {
	return &s.chunks[i>>chunkBits].cells[i%chunkLen]
}

// take finds a free cell. Its content is whatever its last user left.
func (s *slab[E]) take() uint32 {
	if s.hand == 0 {
		s.refill()
	}
	b := uint32(bits.TrailingZeros64(s.hand))
	s.hand &= s.hand - 1
	f := s.chunks[s.cur].free
	f.used++
	if f.used == 1 {
		s.empty--
	}
	return s.cur<<chunkBits | s.word<<6 | b
}

// give takes cell i of a chunk back. It says whether the chunk is now to be
// let go, by drop, which is left to the caller because it may have to look at
// the cells once more.
func (s *slab[E]) give(i uint32) (drop bool) {
	f := s.chunks[i>>chunkBits].free
	return f.give(i) && s.turned(i>>chunkBits, f)
}

// give says whether the chunk was full, or is empty now.
func (f *freeCells) give(i uint32) (turned bool) {
	f.words[i%chunkLen/64] |= 1 << (i % 64)
	f.used--
	return uint(f.used-1) >= chunkLen-2
}

// turned keeps account of a chunk that is full no longer, or empty now.
func (s *slab[E]) turned(c uint32, f *freeCells) (drop bool) {
	if f.used > 0 {
		s.room[c/64] |= 1 << (c % 64)
		return false
	}
	s.empty++
	return s.empty > 1 && c != s.cur
}

// drop lets chunk c go.
func (s *slab[E]) drop(c uint32) {
	s.chunks[c].cells = nil
	s.room[c/64] &^= 1 << (c % 64)
	s.gone[c/64] |= 1 << (c % 64)
	s.empty--
}

// refill takes the next word with free cells into the hand.
func (s *slab[E]) refill() {
	if int(s.cur) < len(s.chunks) {
		f := s.chunks[s.cur].free
		if f.used < chunkLen {
			for {
				s.word = (s.word + 1) % uint32(len(f.words))
				if f.words[s.word] != 0 {
					s.hand, f.words[s.word] = f.words[s.word], 0
					return
				}
			}
		}
		s.room[s.cur/64] &^= 1 << (s.cur % 64)
	}
	c, ok := lowest(s.room)
	if !ok {
		c = s.grow()
	}
	f := s.chunks[c].free
	s.cur, s.word = c, 0
	for f.words[s.word] == 0 {
		s.word++
	}
	s.hand, f.words[s.word] = f.words[s.word], 0
}

// grow makes a chunk.
func (s *slab[E]) grow() uint32 {
	c, ok := lowest(s.gone)
	if ok {
		s.gone[c/64] &^= 1 << (c % 64)
	} else {
		c = uint32(len(s.chunks))
		if c == maxChunks {
			panic("wheel: full: it cannot hold more than 268 million timers")
		}
		f := &freeCells{}
		for w := range f.words {
			f.words[w] = ^uint64(0)
		}
		s.chunks = append(s.chunks, chunk[E]{free: f})
		if c%64 == 0 {
			s.room = append(s.room, 0)
			s.gone = append(s.gone, 0)
		}
	}
	s.chunks[c].cells = new([chunkLen]E)
	s.room[c/64] |= 1 << (c % 64)
	s.empty++
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
