package wheel

import (
	"math/rand/v2"
	"testing"
)

// chunks is how many chunks of timers and of blocks are there.
func (w *Wheel[T]) chunks() (timers, blocks int) {
	for _, c := range w.entries.slab.cells {
		if c != nil {
			timers++
		}
	}
	for _, c := range w.blocks.cells {
		if c != nil {
			blocks++
		}
	}
	return timers, blocks
}

// Many chunks' worth of timers are added, cancelled and fired at random, in
// waves. None is lost, early or doubled, and the memory of a wave goes back.
func TestWavesOfTimers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	w := New[int](0)
	now := int64(0)
	type timer struct {
		h     Handle
		due   int64
		ended bool
	}
	var timers []timer
	fire := func(to int64) {
		now = to
		last := int64(0)
		for _, f := range advance(w, now) {
			tm := &timers[f.Value]
			if tm.ended || f.Due != tm.due || f.Due > now || f.Due < last {
				t.Fatalf("timer %d, due %d, ended %t, fired at %d as due %d after one due %d", f.Value, tm.due, tm.ended, now, f.Due, last)
			}
			tm.ended, last = true, f.Due
		}
	}
	for wave := range 6 {
		first := len(timers)
		for range 20 * chunkLen {
			due := now + 1 + rng.Int64N(1<<(10+3*wave))
			timers = append(timers, timer{h: w.Add(due, len(timers)), due: due})
			if rng.IntN(3) == 0 {
				i := first + rng.IntN(len(timers)-first)
				if _, ok := w.Cancel(timers[i].h); ok == timers[i].ended {
					t.Fatalf("Cancel of timer %d = %t; it had ended: %t", i, ok, timers[i].ended)
				}
				timers[i].ended = true
			}
			if rng.IntN(500) == 0 {
				fire(now + rng.Int64N(1<<(3+3*wave)))
			}
		}
		fire(now + 1<<(10+3*wave))
		for i := range timers {
			if !timers[i].ended {
				t.Fatalf("timer %d, due %d, is lost at %d", i, timers[i].due, now)
			}
			if _, ok := w.Cancel(timers[i].h); ok {
				t.Fatalf("Cancel of timer %d, which ended: true", i)
			}
		}
		if n := w.Len(); n != 0 {
			t.Fatalf("Len() = %d; want 0", n)
		}
		if timers, blocks := w.chunks(); timers > 2 || blocks > 3 {
			t.Errorf("wave %d left %d chunks of timers and %d of blocks; want at most 2 and 3", wave, timers, blocks)
		}
	}
}

// Timeouts that are nearly always cancelled must not pile up until their time.
func TestCancelledTimersTakeNoMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	w := New[int](0)
	var pending []Handle
	for range 200 * chunkLen {
		pending = append(pending, w.Add(rng.Int64N(1<<30), 0))
		if len(pending) == 100 {
			for _, h := range pending {
				w.Cancel(h)
			}
			pending = pending[:0]
		}
	}
	if timers, blocks := w.chunks(); timers > 2 || blocks > 3 {
		t.Errorf("%d chunks of timers and %d of blocks; want at most 2 and 3", timers, blocks)
	}
}

// After a burst in which every tenth timer stays, the cells of the others are
// used again before more memory is.
func TestHolesAreFilled(t *testing.T) {
	w := New[int](0)
	var handles []Handle
	for i := range 20 * chunkLen {
		handles = append(handles, w.Add(int64(i), 0))
	}
	for i, h := range handles {
		if i%10 != 0 {
			w.Cancel(h)
		}
	}
	before, _ := w.chunks()
	for i := range 17 * chunkLen {
		w.Add(int64(i), 0)
	}
	if after, _ := w.chunks(); after > before {
		t.Errorf("%d chunks before, %d after; want no more", before, after)
	}
}
