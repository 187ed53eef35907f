package wheel

import "math/bits"

// A bitmap is the set of the occupied slots of a level, with a bit above every
// 64 so that the next one is found in a few steps however far it is.
type bitmap struct {
	words []uint64
	some  []uint64 // bit set of the words that are not 0
}

func newBitmap(n int) bitmap {
	return bitmap{words: make([]uint64, n/64), some: make([]uint64, (n/64+63)/64)}
}

func (b *bitmap) set(i uint32) {
	b.words[i/64] |= 1 << (i % 64)
	b.some[i/4096] |= 1 << (i / 64 % 64)
}

func (b *bitmap) clear(i uint32) {
	b.words[i/64] &^= 1 << (i % 64)
	if b.words[i/64] == 0 {
		b.some[i/4096] &^= 1 << (i / 64 % 64)
	}
}

// from is the first slot at or after i that is occupied; after the last slot
// comes the first. It is false if none is.
func (b *bitmap) from(i uint32) (uint32, bool) {
	if m := b.words[i/64] >> (i % 64); m != 0 {
		return i + uint32(bits.TrailingZeros64(m)), true
	}
	w := i/64 + 1
	s := w / 64
	if s < uint32(len(b.some)) {
		if m := b.some[s] >> (w % 64) << (w % 64); m != 0 {
			return b.first(s, m), true
		}
	}
	for range b.some {
		s++
		if s >= uint32(len(b.some)) {
			s = 0
		}
		if m := b.some[s]; m != 0 {
			return b.first(s, m), true
		}
	}
	return 0, false
}

// first is the first occupied slot of the words in m, a part of some[s].
func (b *bitmap) first(s uint32, m uint64) uint32 {
	w := s*64 + uint32(bits.TrailingZeros64(m))
	return w*64 + uint32(bits.TrailingZeros64(b.words[w]))
}
