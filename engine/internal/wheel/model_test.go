package wheel

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A model is a sorted list that does what a Wheel does, and checks a wheel
// beside it: nothing fires early, twice, out of order, or not at all.
type model struct {
	w       *Wheel[int]
	now     int64
	pending []modelTimer // by tick
	handles []Handle     // of all timers there ever were, by value

	cancelled int
}

type modelTimer struct {
	tick  int64 // when it fires: due, or the wheel's time when it was added
	due   int64
	value int
}

// fataler is what testing.T and rapid.T have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newModel(now int64) *model { return &model{w: New[int](now), now: now} }

func (m *model) add(due int64) {
	timer := modelTimer{max(due, m.now), due, len(m.handles)}
	i, _ := slices.BinarySearchFunc(m.pending, timer, func(a, b modelTimer) int {
		return cmp.Or(cmp.Compare(a.tick, b.tick), cmp.Compare(a.value, b.value))
	})
	m.pending = slices.Insert(m.pending, i, timer)
	m.handles = append(m.handles, m.w.Add(due, timer.value))
}

// cancel cancels the timer of a value, which may have ended long ago.
func (m *model) cancel(t fataler, value int) {
	t.Helper()
	i := slices.IndexFunc(m.pending, func(p modelTimer) bool { return p.value == value })
	v, ok := m.w.Cancel(m.handles[value])
	if ok != (i >= 0) || ok && v != value {
		t.Fatalf("Cancel of timer %d = %d, %t; want %t", value, v, ok, i >= 0)
	}
	if i >= 0 {
		m.pending = slices.Delete(m.pending, i, i+1)
		m.cancelled++
	}
}

// advance calls Advance once and returns how many fired.
func (m *model) advance(t fataler, now int64, room int) int {
	t.Helper()
	buf := make([]Fired[int], room)
	n := m.w.Advance(now, buf)
	want := 0
	if now >= m.now {
		for want < len(m.pending) && want < room && m.pending[want].tick <= now {
			want++
		}
	}
	if n != want {
		t.Fatalf("Advance(%d) at %d into %d fired %d; want %d", now, m.now, room, n, want)
	}
	for _, f := range buf[:n] {
		// Within a tick any order will do.
		i := slices.IndexFunc(m.pending, func(p modelTimer) bool { return p.value == f.Value })
		if i < 0 {
			t.Fatalf("timer %d fired, and is not pending", f.Value)
		}
		if m.pending[i].tick != m.pending[0].tick {
			t.Fatalf("timer %d, due %d, fired before timer %d, due %d", f.Value, m.pending[i].tick, m.pending[0].value, m.pending[0].tick)
		}
		if m.pending[i].due != f.Due {
			t.Fatalf("timer %d fired with due %d; want %d", f.Value, f.Due, m.pending[i].due)
		}
		if n == room {
			m.now = m.pending[i].tick
		}
		m.pending = slices.Delete(m.pending, i, i+1)
	}
	if n < room {
		m.now = max(m.now, now)
	}
	return n
}

// check is what must hold at any time.
func (m *model) check(t fataler) {
	t.Helper()
	if got := m.w.Len(); got != len(m.pending) {
		t.Fatalf("Len() = %d; want %d", got, len(m.pending))
	}
	next, ok := m.w.Next()
	if ok != (len(m.pending) > 0) {
		t.Fatalf("Next() = %d, %t with %d pending", next, ok, len(m.pending))
	}
	if ok && (next > m.pending[0].tick || next < m.now) {
		t.Fatalf("Next() = %d; want at most %d, the earliest tick, and at least %d, the wheel's time", next, m.pending[0].tick, m.now)
	}
}

// drain fires everything, going from Next to Next, and checks that each fires
// at its very tick and that Next is too early only because of cancels.
func (m *model) drain(t fataler) {
	t.Helper()
	early := 0
	for len(m.pending) > 0 {
		m.check(t)
		tick := m.pending[0].tick
		next, _ := m.w.Next()
		if n := m.advance(t, next, len(m.pending)+1); n > 0 {
			continue
		}
		if next == tick {
			t.Fatalf("the timer of tick %d did not fire at %d", tick, next)
		}
		if early++; early > 3*m.cancelled {
			t.Fatalf("Next() was too early for the %dth time after %d cancels: %d; want %d", early, m.cancelled, next, tick)
		}
	}
	m.check(t)
}

// spans are the distances at which something changes in a wheel.
var spans = []int64{0, 1, 63, 64, 1 << shift1, fine, 2 * fine, 1 << shift2, coarse << shift1, coarse << shift2, 3 * coarse << shift2}

// distance is a length of time: around one of the spans, or any up to it.
func distance() *rapid.Generator[int64] {
	return rapid.Custom(func(t *rapid.T) int64 {
		span := rapid.SampledFrom(spans).Draw(t, "span")
		if rapid.Bool().Draw(t, "exact") {
			return span + rapid.Int64Range(-2, 2).Draw(t, "off")
		}
		return rapid.Int64Range(0, span).Draw(t, "within")
	})
}

func TestWheelAgainstSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(rapid.SampledFrom([]int64{0, 1795000000123, -12345, 1<<shift2 - 1}).Draw(t, "now"))
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				m.add(m.now + distance().Draw(t, "delay"))
			},
			"add some of one tick": func(t *rapid.T) {
				due := m.now + distance().Draw(t, "delay")
				for range rapid.IntRange(1, 3*perBlock).Draw(t, "n") {
					m.add(due)
				}
			},
			"add anywhere": func(t *rapid.T) {
				m.add(rapid.Int64().Draw(t, "due"))
			},
			"cancel": func(t *rapid.T) {
				if len(m.handles) == 0 {
					t.Skip("nothing to cancel")
				}
				m.cancel(t, rapid.IntRange(0, len(m.handles)-1).Draw(t, "which"))
			},
			"cancel the earliest": func(t *rapid.T) {
				if len(m.pending) == 0 {
					t.Skip("nothing to cancel")
				}
				m.cancel(t, m.pending[0].value)
			},
			"advance": func(t *rapid.T) {
				now := m.now + distance().Draw(t, "by")
				m.advance(t, now, rapid.IntRange(1, 50).Draw(t, "room"))
			},
			"advance to next": func(t *rapid.T) {
				if next, ok := m.w.Next(); ok {
					m.advance(t, next, 50)
				}
			},
			"set back": func(t *rapid.T) {
				m.advance(t, m.now-1-distance().Draw(t, "by"), 10)
			},
			"": func(t *rapid.T) { m.check(t) },
		})
		m.drain(t)
	})
}

// FuzzWheel states the same law for a program of three-byte steps.
func FuzzWheel(f *testing.F) {
	f.Add([]byte{0, 5, 1, 0, 3, 2, 2, 5, 3, 1, 0, 0})
	f.Add([]byte{0, 9, 4, 0, 10, 0, 2, 9, 0, 2, 10, 7, 1, 1, 0})
	f.Fuzz(func(t *testing.T, steps []byte) {
		m := newModel(0)
		for ; len(steps) >= 3 && len(m.handles) < 500; steps = steps[3:] {
			by := spans[int(steps[1])%len(spans)] + int64(int8(steps[2]))
			switch steps[0] % 4 {
			case 0:
				m.add(m.now + by)
			case 1:
				if len(m.handles) > 0 {
					m.cancel(t, (int(steps[1])<<8|int(steps[2]))%len(m.handles))
				}
			case 2:
				m.advance(t, m.now+by, 1+int(steps[0]/4))
			case 3:
				for range int(steps[0]/4) % 32 {
					m.add(m.now + by)
				}
			}
			m.check(t)
		}
		m.drain(t)
	})
}
