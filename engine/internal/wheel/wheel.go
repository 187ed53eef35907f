// Package wheel is a hierarchical timing wheel: millions of timers in memory,
// each added, cancelled and fired in a few tens of nanoseconds.
//
// It has no goroutine and no clock. The caller owns both, and says what time
// it is in ticks of a millisecond, counted from wherever the caller likes: Unix
// milliseconds, or milliseconds of a monotonic clock, which no wall-clock step
// disturbs. What a fired timer means, and where its work is done, is the
// caller's too.
//
// # Driving it
//
// Sleep until [Wheel.Next], then take what is due, a buffer at a time:
//
//	for n := len(buf); n == len(buf); {
//		n = w.Advance(now(), buf)
//		use(buf[:n])
//	}
//
// After an Add from elsewhere, ask Next again: it may be sooner.
//
// # What it costs
//
// A timer whose value has 16 bytes takes 32, and 5 more for its place where
// timers are many: a tick with a single one takes 128. An empty wheel takes
// half a megabyte. If T has no pointers, the garbage collector has none to
// follow among the timers.
//
// Memory grows in chunks of 2,048 timers that are never copied. A chunk goes
// back to the collector when all its timers have ended, but for a spare or
// two. New timers go into the lowest chunk of which an eighth is free, so the
// upper chunks fall empty after a burst. One long timer holds its chunk, whose
// other cells are used again.
package wheel

// A Wheel holds timers with a value of type T. Make one with New. It is not
// safe for concurrent use.
type Wheel[T any] struct {
	now     int64  // every tick before it was fired; no timer is in a slot before it
	pending int    // those in ended included
	turn    uint32 // which of the two lists of far timers is in use
	entries entries[T]
	slots

	ended [maxEnded]ended
	ends  uint32
}

// Fired is a timer that came due.
type Fired[T any] struct {
	Due   int64 // as it was given to Add
	Value T
}

// New makes an empty wheel whose time is now.
func New[T any](now int64) *Wheel[T] {
	w := &Wheel[T]{now: now}
	w.slots.init()
	return w
}

// Len is how many timers are pending.
func (w *Wheel[T]) Len() int { return w.pending - int(w.ends) }

// Add sets a timer. One whose due is not after the wheel's time, which is the
// latest that Advance was given, fires at the next Advance, like one that is
// due just then. Any int64 is a good due.
func (w *Wheel[T]) Add(due int64, v T) Handle {
	h, e := w.entries.add(due, v)
	w.place(h.cell, e)
	w.pending++
	return h
}

// Cancel ends a timer and returns its value. It is false if the timer fired or
// was cancelled before.
//
// What it costs is waiting for the entry to come from memory. The processor
// waits for several at once if few instructions lie between them, so what else
// a cancel has to do is left to tidy, which does it for many together.
func (w *Wheel[T]) Cancel(h Handle) (v T, ok bool) {
	c := h.cell >> chunkBits
	if int(c) >= len(w.entries.slab.cells) {
		return v, false
	}
	cells := w.entries.slab.cells[c]
	if cells == nil {
		return v, false
	}
	e := &cells[h.cell%chunkLen]
	if e.life != h.life {
		return v, false
	}
	v = e.value
	e.value = *new(T)
	e.life++
	k := w.ends % uint32(len(w.ended))
	w.ended[k] = ended{h.cell, e.where}
	w.ends = k + 1
	if k+1 == uint32(len(w.ended)) {
		w.tidy()
	}
	return v, true
}

// An ended is an entry that Cancel ended and that tidy has not seen.
type ended struct{ cell, place uint32 }

const maxEnded = 128 // then tidy must see them

// tidy takes the entries that Cancel ended out of their blocks and frees them,
// in one loop for each so that each is short.
func (w *Wheel[T]) tidy() {
	w.clear(w.ended[:w.ends])
	for _, e := range w.ended[:w.ends] {
		if c := e.cell >> chunkBits; w.entries.slab.give(c) {
			w.entries.turned(c)
		}
	}
	w.pending -= int(w.ends)
	w.ends = 0
}

// place puts an entry into the slot where it belongs as seen from w.now.
func (w *Wheel[T]) place(cell uint32, e *entry[T]) {
	due := max(e.due, w.now)
	if uint64(due)-uint64(w.now) < fine {
		e.where = w.push(uint32(due)%fine, cell)
		return
	}
	var slot uint32
	if s := due >> shift1; s-w.now>>shift1 < coarse {
		slot = first1 + uint32(s)%coarse
	} else if s := due >> shift2; s-w.now>>shift2 < coarse {
		slot = first2 + uint32(s)%coarse
	} else {
		slot = w.far()
	}
	e.where = w.push(slot, cell)
	least := &w.least[slot-first1]
	*least = min(*least, due)
}
