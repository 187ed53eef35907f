package wheel

import "math"

// Advance moves the wheel's time to now and fills buf with timers that are due,
// earliest first, and those of one tick in any order. It returns how many. If
// that is less than len(buf), no more are due; if it is all of buf, there may
// be more, and Advance is to be called again: until then the wheel's time is
// the tick it came to.
//
// Nothing fires before it is due. If now is before the wheel's time, nothing
// happens. A jump ahead costs by what is in the wheel, not by its length. An
// empty buf panics.
//
// When it is done, Advance may move some timers of a later slot down, about
// twice as many as it fired and never more than a few hundred beyond, so that
// no single call has to move them all.
func (w *Wheel[T]) Advance(now int64, buf []Fired[T]) int {
	if len(buf) == 0 {
		panic("wheel: Advance needs a buffer of at least one")
	}
	if now < w.now {
		return 0
	}
	w.tidy()
	w.shear()
	n := 0
	for {
		opens, slot, above := w.opens()
		// Level 0 alone until the next slot above it opens.
		for {
			i, ok := w.level[0].from(uint32(w.now) % fine)
			t := w.now + int64((i-uint32(w.now))%fine)
			if !ok || above && opens <= t {
				break
			}
			if t > now {
				above = false
				break
			}
			w.now = t
			n += w.fire(i, buf[n:])
			if n == len(buf) {
				return n
			}
		}
		if !above || opens > now {
			break
		}
		w.now = opens
		if slot >= beyond {
			w.turn ^= 1
		}
		for w.tail[slot] != 0 {
			w.lower(slot)
		}
	}
	w.now = now
	w.lowerAhead(2*n + ahead)
	return n
}

// fire ends the timers of a slot of level 0, as many as fit into buf.
func (w *Wheel[T]) fire(slot uint32, buf []Fired[T]) int {
	n := 0
	for w.tail[slot] != 0 && n < len(buf) {
		b, live, cells := w.head(slot)
		for i, cell := range cells {
			e := w.entries.placed(cell, b<<placeBits|uint32(i))
			if e == nil {
				continue
			}
			buf[n] = Fired[T]{e.due, e.value}
			n++
			w.entries.end(cell, e)
			*live--
			if n == len(buf) {
				break
			}
		}
		if *live == 0 {
			w.unlink(b)
		}
	}
	w.pending -= n
	return n
}

// opens is the time at which the next occupied slot above level 0 begins. Its
// timers must then be in a lower level.
func (w *Wheel[T]) opens() (t int64, slot uint32, ok bool) {
	t = math.MaxInt64
	if s, is := w.next(1, shift1); is {
		t, slot, ok = s<<shift1, first1+uint32(s)%coarse, true
	}
	if s, is := w.next(2, shift2); is && s<<shift2 <= t {
		t, slot, ok = s<<shift2, first2+uint32(s)%coarse, true
	}
	if w.tail[w.far()] != 0 {
		// When the earliest comes into reach of level 2.
		s := w.least[w.far()-first1]>>shift2 - (coarse - 1)
		if s<<shift2 <= t {
			t, slot, ok = s<<shift2, w.far(), true
		}
	}
	return t, slot, ok
}

// far is the list of what is beyond all levels. There are two, so that one can
// be gone through while what is still too far goes into the other.
func (w *Wheel[T]) far() uint32 { return beyond + w.turn }

// next is the number, counted from time 0, of the next occupied slot of a level above 0.
func (w *Wheel[T]) next(level int, shift uint) (s int64, ok bool) {
	here := w.now >> shift
	i, ok := w.level[level].from(uint32(here) % coarse)
	return here + int64((i-uint32(here))%coarse), ok
}

// ahead is how many timers Advance moves down ahead of time even if it fired none.
const ahead = 256

// lowerAhead moves timers of the slots that open next, about so many.
func (w *Wheel[T]) lowerAhead(budget int) {
	if s, ok := w.next(2, shift2); ok && s == w.now>>shift2+1 {
		for slot := first2 + uint32(s)%coarse; w.tail[slot] != 0 && budget > 0; {
			budget -= w.lower(slot)
		}
	}
	if s, ok := w.next(1, shift1); ok && s == w.now>>shift1+1 {
		for slot := first1 + uint32(s)%coarse; w.tail[slot] != 0 && budget > 0; {
			budget -= w.lower(slot)
		}
	}
}

// lower moves one block of a slot to where its timers now belong.
func (w *Wheel[T]) lower(slot uint32) int {
	b, live, cells := w.head(slot)
	for i, cell := range cells {
		if e := w.entries.placed(cell, b<<placeBits|uint32(i)); e != nil {
			w.place(cell, e)
		}
	}
	*live = 0
	w.unlink(b)
	return len(cells)
}

// Next is when Advance has something to fire: the due tick of the earliest
// timer, or the wheel's time if that is later. It is false if the wheel is
// empty.
//
// That is exact unless timers were cancelled: each that was the earliest of
// its slot can make Next too early up to three times, never too late. The
// Advance at that time fires nothing, but moves the rest of the slot down.
func (w *Wheel[T]) Next() (due int64, ok bool) {
	w.tidy()
	w.shear()
	due = math.MaxInt64
	if i, is := w.level[0].from(uint32(w.now) % fine); is {
		due, ok = w.now+int64((i-uint32(w.now))%fine), true
	}
	if s, is := w.next(1, shift1); is {
		due, ok = min(due, w.least[uint32(s)%coarse]), true
	}
	if s, is := w.next(2, shift2); is {
		due, ok = min(due, w.least[coarse+uint32(s)%coarse]), true
	}
	if w.tail[w.far()] != 0 {
		due, ok = min(due, w.least[w.far()-first1]), true
	}
	if !ok {
		return 0, false
	}
	return due, true
}
