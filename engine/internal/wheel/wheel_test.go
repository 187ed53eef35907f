package wheel

import (
	"math"
	"slices"
	"testing"
)

// advance fires all that is due, through a buffer of one so that every call
// but the last ends in the middle.
func advance[T any](w *Wheel[T], now int64) []Fired[T] {
	var all []Fired[T]
	buf := make([]Fired[T], 1)
	for w.Advance(now, buf) == 1 {
		all = append(all, buf[0])
	}
	return all
}

func TestAdvanceFiresOnTheTick(t *testing.T) {
	tests := []struct {
		name     string
		now, due int64
	}{
		{"next tick", 0, 1},
		{"last tick of level 0", 0, fine - 1},
		{"first tick beyond level 0", 0, fine},
		{"last slot of level 1", 0, coarse<<shift1 - 1},
		{"first slot of level 2", 0, coarse << shift1},
		{"last slot of level 2", 0, coarse<<shift2 - 1},
		{"beyond level 2", 0, coarse << shift2},
		{"a hundred years", 0, 100 * 365 * 24 * hour},
		{"one lap of level 0, from the middle", 3, 3 + fine},
		{"one lap of level 1, from the middle", 5<<shift1 + 7, (5+coarse)<<shift1 + 7},
		{"one lap of level 2, from the middle", 5<<shift2 + 7, (5+coarse)<<shift2 + 7},
		{"before 1970", -10 * hour, -hour},
		{"across 1970", -hour, hour},
		{"now in Unix milliseconds", 1795000000123, 1795000000123 + 25*hour},
		{"the end of time", 1795000000123, math.MaxInt64},
		{"all of time", math.MinInt64, math.MaxInt64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := New[string](tt.now)
			w.Add(tt.due, "x")
			if got := advance(w, tt.due-1); len(got) != 0 {
				t.Fatalf("Advance(due-1) = %v; want nothing", got)
			}
			if got := advance(w, tt.due); !slices.Equal(got, []Fired[string]{{tt.due, "x"}}) {
				t.Fatalf("Advance(due) = %v; want the timer", got)
			}
			if got := w.Len(); got != 0 {
				t.Fatalf("Len() = %d; want 0", got)
			}
		})
	}
}

// A ring of 60 slots that stands at 3 puts a delay of 60 into slot 3 with
// 63/60 = 1 round to wait, and fires it at 120: a lap too late. Here a delay of
// exactly one lap of any level, from anywhere in it, must not do that, nor a
// lap too early.
func TestDelayOfOneLapIsNotALapLate(t *testing.T) {
	for _, lap := range []int64{fine, coarse << shift1, coarse << shift2} {
		for _, now := range []int64{0, 1, 3, lap / 2, lap - 1, lap, lap + 3} {
			for _, off := range []int64{-1, 0, 1} {
				w := New[int](now)
				due := now + lap + off
				w.Add(due, 1)
				if next, ok := w.Next(); !ok || next > due {
					t.Errorf("now %d, due %d: Next() = %d, %t", now, due, next, ok)
				}
				if got := advance(w, due-1); len(got) != 0 {
					t.Errorf("now %d, due %d: fired at %d", now, due, due-1)
				}
				if got := advance(w, due); len(got) != 1 {
					t.Errorf("now %d, due %d: did not fire when due", now, due)
				}
			}
		}
	}
}

func TestDueInThePastFiresAtTheNextAdvance(t *testing.T) {
	w := New[int](1000)
	w.Add(1000, 1)
	w.Add(5, 2)
	w.Add(math.MinInt64, 3)
	if next, ok := w.Next(); next != 1000 || !ok {
		t.Errorf("Next() = %d, %t; want 1000, true", next, ok)
	}
	if got := advance(w, 999); len(got) != 0 {
		t.Errorf("Advance(999), which is before the wheel's time, = %v; want nothing", got)
	}
	got := advance(w, 1000)
	if len(got) != 3 || got[1].Due != 5 {
		t.Errorf("Advance(1000) = %v; want all three, with the due they were given", got)
	}
}

// A slot that opens when more of it is left than Advance moves ahead of time
// must still be in order with what was added to level 0 meanwhile.
func TestOrderWhereASlotOpens(t *testing.T) {
	for _, shift := range []int{shift1, shift2} {
		w := New[int](0)
		opens := int64(3) << shift
		for i := range 20 * ahead {
			w.Add(opens+int64(i%3), i)
		}
		advance(w, opens-2)
		for i := range int64(6) {
			w.Add(opens-1+i, 0)
		}
		last := int64(0)
		for _, f := range advance(w, opens+10) {
			if f.Due < last {
				t.Fatalf("shift %d: due %d after due %d", shift, f.Due, last)
			}
			last = f.Due
		}
		if n := w.Len(); n != 0 {
			t.Errorf("shift %d: %d left", shift, n)
		}
	}
}

func TestNextIsExactIfNoneWasCancelled(t *testing.T) {
	w := New[int](12345)
	var dues []int64
	for _, span := range spans {
		for i := range int64(50) {
			dues = append(dues, 12346+span+i*i*span/1000)
		}
	}
	for i, due := range dues {
		w.Add(due, i)
	}
	slices.Sort(dues)
	for _, due := range slices.Compact(dues) {
		if next, ok := w.Next(); next != due || !ok {
			t.Fatalf("Next() = %d, %t; want %d", next, ok, due)
		}
		if len(advance(w, due)) == 0 {
			t.Fatalf("Advance(%d), which is what Next said, fired nothing", due)
		}
	}
}

func TestClockSetBack(t *testing.T) {
	w := New[int](1000)
	w.Add(2000, 1)
	advance(w, 1500)
	w.Add(1600, 2)
	if got := advance(w, 100); len(got) != 0 {
		t.Errorf("Advance(100) after Advance(1500) = %v; want nothing", got)
	}
	if got := advance(w, 2000); len(got) != 2 || got[0].Value != 2 {
		t.Errorf("Advance(2000) = %v; want 2 and 1", got)
	}
}

func TestStaleHandle(t *testing.T) {
	w := New[int](0)
	if _, ok := w.Cancel(Handle{}); ok {
		t.Error("Cancel of the zero handle: true on an empty wheel")
	}
	var stale []Handle
	for i := range 3 * chunkLen { // whole chunks come, go and come back
		stale = append(stale, w.Add(int64(i%100), i))
	}
	if n := len(advance(w, 50)) + len(advance(w, 1000)); n != 3*chunkLen {
		t.Fatalf("%d fired; want %d", n, 3*chunkLen)
	}
	for i := range 3 * chunkLen {
		h := w.Add(2000, i)
		v, ok := w.Cancel(h)
		if v != i || !ok {
			t.Fatalf("Cancel = %d, %t; want %d, true", v, ok, i)
		}
		stale = append(stale, h)
	}
	for i := range 3 * chunkLen {
		w.Add(2000, i)
	}
	for _, h := range append(stale, Handle{}) {
		if v, ok := w.Cancel(h); ok {
			t.Fatalf("Cancel(%v) = %d, true; want false: that timer ended", h, v)
		}
	}
	if got := w.Len(); got != 3*chunkLen {
		t.Errorf("Len() = %d; want %d", got, 3*chunkLen)
	}
}

// A handle can tell 2³¹ lives of a cell apart; then the cell is never used
// again, whether its chunk stays or comes back.
func TestCellWithAllLivesSpent(t *testing.T) {
	w := New[int](0)
	// Fill and empty the wheel until a cell comes around again. The first and
	// the last timer stay, so that no chunk goes.
	again := func(cell uint32) (found Handle) {
		var hs []Handle
		for range 2 * chunkLen {
			h := w.Add(10, 2)
			if h.cell == cell {
				found = h
			}
			hs = append(hs, h)
		}
		for _, h := range hs[1 : len(hs)-1] {
			w.Cancel(h)
		}
		w.tidy()
		return found
	}
	again(0)
	const cell = 100
	w.entries.slab.at(cell).life = lastLife - 2
	last := again(cell)
	if last.life != lastLife-1 {
		t.Fatalf("the cell was taken for life %d; want %d", last.life, lastLife-1)
	}
	if h := again(cell); h != (Handle{}) {
		t.Fatalf("the cell was taken again, as %v", h)
	}
	if _, ok := w.Cancel(last); ok {
		t.Error("Cancel after the last life: true; want false")
	}
}
