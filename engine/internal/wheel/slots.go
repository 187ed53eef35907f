package wheel

import "math"

// Three levels, and a list for what is beyond them. A slot of the lowest level
// is one tick. A slot of another is half of what the level below reaches, so
// that a whole slot can be moved down while the one before it is running, a
// little at each Advance.
const (
	fine   = 1 << 14 // slots of level 0: 16 s
	coarse = 1 << 12 // slots of level 1, 9 h, and of level 2, 2 years

	shift1 = 13 // a slot of level 1 is 8.2 s
	shift2 = 24 // a slot of level 2 is 4.7 h

	first1 = fine // slots are numbered through all levels
	first2 = fine + coarse
	beyond = fine + 2*coarse
)

// A block is a part of a slot's list: the cells of 29 timers, in two cache
// lines. It does not know which of them are pending still: a cancel does not
// come here, it only counts in slots.live, which is small enough to stay near
// the processor. An entry knows its place, and that tells.
type block struct {
	next, prev uint32 // blocks of the same slot, in a ring
	slot       uint32
	cells      [perBlock]uint32
}

const (
	placeBits = 5 // a place is the number of a block, and 5 bits for which of its cells
	perBlock  = 1<<placeBits - 3
	listed    = 1 << 7 // beside a block's count: it is in slots.bare
)

// slots are the lists of timers of all levels.
type slots struct {
	tail   [beyond + 2]uint32         // the last place of the slot; 0 if the slot is empty
	least  [beyond + 2 - first1]int64 // from level 1 up: no timer of the slot is due before; too low after its earliest was cancelled
	level  [3]bitmap                  // occupied slots, by level
	blocks slab[block]                // block 0 is never used
	live   []*[chunkLen]uint8         // by block: how many of its timers are pending

	bare   [2 * maxEnded]uint32 // blocks that a cancel left with none pending, to be unlinked
	bares  uint32
	looked uint32 // keeps the compiler from dropping a look
}

func (s *slots) init() {
	s.level = [3]bitmap{newBitmap(fine), newBitmap(coarse), newBitmap(coarse)}
	s.take() // block 0
	s.live[0][0] = 1
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
	if p%(1<<placeBits) == perBlock || p == 1 {
		p = s.grow(slot, p>>placeBits) << placeBits
	}
	s.tail[slot] = p
	n := p >> placeBits
	s.blocks.at(n).cells[p%(1<<placeBits)] = cell
	s.live[n>>chunkBits][n%chunkLen]++
	return p
}

// grow puts a new block behind a slot's last one, if it has one.
func (s *slots) grow(slot, last uint32) uint32 {
	n := s.take()
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

// take finds a free block: one with none pending is.
func (s *slots) take() uint32 {
	n, ok := s.blocks.take()
	for !ok {
		c, _ := s.blocks.turn()
		if int(c) == len(s.live) {
			s.live = append(s.live, new([chunkLen]uint8))
		}
		for i, live := range s.live[c] {
			if live == 0 {
				s.blocks.offer(i)
			}
		}
		n, ok = s.blocks.take()
	}
	return n
}

// clear takes cells out of the counts of their blocks, lists the blocks that
// are left with none, and shears when the next might not fit into the list.
func (s *slots) clear(cells []ended) {
	bares := s.bares
	chunks := s.live
	for _, e := range cells {
		n := e.place >> placeBits
		count := &chunks[n>>chunkBits][n%chunkLen]
		live := uint32(*count) - 1
		s.bare[bares%uint32(len(s.bare))] = n
		// Without a branch, as it is one in 29 and nobody could foresee which:
		// if live is 0, list the block.
		is := (live - 1) >> 31
		bares += is
		*count = uint8(live | is*listed)
	}
	s.bares = bares
	if bares > uint32(len(s.bare)-maxEnded) {
		s.shear()
	}
}

// shear unlinks the blocks that are listed as bare.
func (s *slots) shear() {
	// First only look, so that the processor fetches all of them and their
	// neighbours at once, and not each when the one before is done.
	s.looked = 0
	for _, n := range s.bare[:s.bares] {
		b := s.blocks.at(n)
		s.looked |= s.blocks.at(b.next).slot | s.blocks.at(b.prev).slot
	}
	for _, n := range s.bare[:s.bares] {
		live := &s.live[n>>chunkBits][n%chunkLen]
		if *live &^= listed; *live == 0 { // or else it was used again since
			s.unlink(n)
		}
	}
	s.bares = 0
}

// unlink takes a block with nothing live out of its slot and frees it.
func (s *slots) unlink(n uint32) {
	b := s.blocks.at(n)
	slot := b.slot
	if b.next == n {
		s.tail[slot] = 0
		s.occupied(slot, false)
	} else {
		s.blocks.at(b.next).prev = b.prev
		s.blocks.at(b.prev).next = b.next
		if s.tail[slot]>>placeBits == n {
			s.tail[slot] = b.prev<<placeBits | (perBlock - 1) // as if full
		}
	}
	if c := n >> chunkBits; s.blocks.give(c) && s.blocks.turned(c) {
		s.blocks.drop(c)
	}
}

// head is the first block of a slot that is not empty, its count, and those of
// its cells that were ever filled: some of the timers may have ended.
func (s *slots) head(slot uint32) (n uint32, live *uint8, cells []uint32) {
	last := s.tail[slot]
	n = s.blocks.at(last >> placeBits).next
	cells = s.blocks.at(n).cells[:]
	if n == last>>placeBits {
		cells = cells[:last%(1<<placeBits)+1]
	}
	return n, &s.live[n>>chunkBits][n%chunkLen], cells
}
