package wheel

import (
	"math"
	"math/bits"
)

// Three levels, and one list for what is beyond them. A slot of the lowest level is one tick. A slot of
// another is half of what the level below reaches, so that a whole slot can
// be moved down while the one before it is still running, a little at each Advance.
const (
	fine   = 1 << 14 // slots of level 0: 16 s
	coarse = 1 << 12 // slots of level 1, 9 h, and of level 2, 2 years

	shift1 = 13 // a slot of level 1 is 8.2 s
	shift2 = 24 // a slot of level 2 is 4.7 h

	first1 = fine // slots are numbered through all levels
	first2 = fine + coarse
	beyond = fine + 2*coarse
)

// A place is a position in a block: block<<4 | index. Block 0 is never used,
// so 0 is no place.

// A block is a part of a slot's list: the cells of up to 13 timers, in one
// cache line. Which of them are pending is not here but in slots.live, so
// that a cancel, of 13 timers, touches the block once.
type block struct {
	next, prev uint32 // blocks of the same slot, in a ring
	slot       uint32 // or unused
	cells      [perBlock]uint32
}

const (
	perBlock = 13
	unused   = ^uint32(0) // no slot: the block is not in a list
)

// slots are the lists of timers of all levels.
type slots struct {
	tail   [beyond + 2]uint32         // the last place of the slot; 0 if the slot is empty
	least  [beyond + 2 - first1]int64 // from level 1 up: no timer of the slot is due before; too low after its earliest was cancelled
	level  [3]bitmap                  // occupied slots, by level
	blocks slab[block]
	live   []*[chunkLen]uint16 // by block: bit set of the cells whose timers are pending

	// Blocks that a cancel left with nothing live. Unlinking them together
	// instead of one by one saves a branch that nobody can foresee, which would make
	// one cancel in 13 wait for memory alone.
	bare  [64]uint32
	bares int
}

func (s *slots) init() {
	s.level = [3]bitmap{newBitmap(fine), newBitmap(coarse), newBitmap(coarse)}
	s.live = append(s.live, new([chunkLen]uint16))
	s.blocks.take() // block 0
}

// occupied keeps the bitmap of a slot's level.
func (s *slots) occupied(slot uint32, is bool) {
	b, i := &s.level[0], slot
	switch {
	case slot >= beyond:
		return
	case slot >= first2:
		b, i = &s.level[2], slot-first2
	case slot >= first1:
		b, i = &s.level[1], slot-first1
	}
	if is {
		b.set(i)
	} else {
		b.clear(i)
	}
}

// push appends a cell to a slot and returns its place.
func (s *slots) push(slot, cell uint32) uint32 {
	p := s.tail[slot] + 1
	if p%16 == perBlock || p == 1 {
		p = s.grow(slot, p>>4) << 4
	}
	s.tail[slot] = p
	n := p >> 4
	s.blocks.at(n).cells[p%16] = cell
	s.live[n>>chunkBits][n%chunkLen] |= 1 << (p % 16)
	return p
}

// grow puts a new block behind a slot's last one, if it has one.
func (s *slots) grow(slot, last uint32) uint32 {
	n := s.blocks.take()
	if int(n>>chunkBits) == len(s.live) {
		s.live = append(s.live, new([chunkLen]uint16))
	}
	b := s.blocks.at(n)
	b.slot = slot
	if last == 0 {
		b.next, b.prev = n, n
		s.occupied(slot, true)
		if slot >= first1 {
			s.least[slot-first1] = math.MaxInt64
		}
		return n
	}
	l := s.blocks.at(last)
	b.next, b.prev = l.next, last
	s.blocks.at(l.next).prev = n
	l.next = n
	return n
}

// tidy unlinks the bare blocks.
func (s *slots) tidy() {
	for _, n := range s.bare[:s.bares] {
		// One that was used again since is not bare, or is listed twice.
		if s.live[n>>chunkBits][n%chunkLen] == 0 && s.blocks.at(n).slot != unused {
			s.unlink(n)
		}
	}
	s.bares = 0
}

// unlink takes a block with nothing live out of its slot and frees it.
func (s *slots) unlink(n uint32) {
	b := s.blocks.at(n)
	if b.next == n {
		s.tail[b.slot] = 0
		s.occupied(b.slot, false)
	} else {
		s.blocks.at(b.next).prev = b.prev
		s.blocks.at(b.prev).next = b.next
		if s.tail[b.slot]>>4 == n {
			s.tail[b.slot] = b.prev<<4 | (perBlock - 1) // as if full
		}
	}
	b.slot = unused
	if s.blocks.give(n) {
		s.blocks.drop(n >> chunkBits)
	}
}

// head is the first block of a slot that is not empty, and its live cells.
func (s *slots) head(slot uint32) (n uint32, b *block, live *uint16) {
	n = s.blocks.at(s.tail[slot] >> 4).next
	return n, s.blocks.at(n), &s.live[n>>chunkBits][n%chunkLen]
}

// pop takes a slot's first block out and returns its live cells.
func (s *slots) pop(slot uint32, into *[perBlock]uint32) []uint32 {
	n, b, live := s.head(slot)
	k := 0
	for ; *live != 0; *live &= *live - 1 {
		into[k%perBlock] = b.cells[bits.TrailingZeros16(*live)%perBlock]
		k++
	}
	s.unlink(n)
	return into[:k]
}
