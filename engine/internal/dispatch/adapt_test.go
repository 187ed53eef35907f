package dispatch

import (
	"testing"
	"time"
)

// limitOf returns the limit of endpoint "e".
func (w *world) state() EndpointState {
	e, ok := w.d.Endpoint("e")
	if !ok {
		w.t.Fatal("endpoint e is not known")
	}
	return e
}

func TestLimitReachesFullSpeedInMilliseconds(t *testing.T) {
	w := newWorld(t, Options{})
	w.answer = func(w *world, j job) (int64, Outcome) { return 300 * us, Accepted }
	for range 1000 {
		w.push(Rules{Queue: "q", Endpoint: "e"}, 0)
	}
	w.run(2 * ms)
	if e := w.state(); e.Limit != 64 || e.InFlight != 64 {
		t.Errorf("after 2ms limit %d, in flight %d; want 64", e.Limit, e.InFlight)
	}
}

func TestUnusedLimitDoesNotGrow(t *testing.T) {
	w := newWorld(t, Options{})
	w.answer = func(w *world, j job) (int64, Outcome) { return ms, Accepted }
	for range 100 {
		for range 4 {
			w.push(Rules{Queue: "q", Endpoint: "e"}, 0)
		}
		w.run(w.now + 10*ms)
	}
	if e := w.state(); e.Limit != 8 {
		t.Errorf("limit %d after never more than 4 at once, want 8", e.Limit)
	}
}

// An endpoint serves 20 requests at a time and drops or rejects the rest. Its limit stays near that
// number.
func TestLimitFindsWhatAnEndpointCanDo(t *testing.T) {
	for _, loss := range []Outcome{Down, Throttled} {
		w := newWorld(t, Options{LineBound: 1 << 20, TotalBound: 1 << 20})
		busy, lost, accepted := 0, 0, 0
		w.answer = func(w *world, j job) (int64, Outcome) {
			if busy >= 20 {
				return 10 * ms, loss
			}
			busy++
			return 10 * ms, Accepted
		}
		w.done = func(w *world, j job, out Outcome) {
			if out == Accepted {
				busy--
				accepted++
			} else {
				lost++
			}
		}
		for range 50000 {
			w.push(Rules{Queue: "q", Endpoint: "e"}, 0)
		}
		w.run(10 * s)
		if accepted < 10000 || lost*20 > accepted {
			t.Errorf("loss %d: %d accepted and %d lost in 10s; the endpoint could accept 20000", loss, accepted, lost)
		}
	}
}

func TestBreakerWalk(t *testing.T) {
	w := newWorld(t, Options{})
	down := true
	var probes []int64
	w.answer = func(w *world, j job) (int64, Outcome) {
		probes = append(probes, w.now)
		if down {
			return ms, Down
		}
		return ms, Accepted
	}
	for range 1000 {
		w.push(Rules{Queue: "q", Endpoint: "e"}, 0)
	}
	w.run(100 * ms)
	if e := w.state(); e.Breaker != Open || w.d.Totals().OpenBreakers != 1 {
		t.Fatalf("breaker %v after %d failures; want open", e.Breaker, len(probes))
	}
	if n := len(probes); n > 20 {
		t.Errorf("%d attempts before the breaker opened; want at most 20", n)
	}
	probes = nil
	w.run(200 * s)
	// After 1, 2, 4, 8, 16, 32, 60 and 60 seconds.
	if len(probes) != 8 {
		t.Fatalf("%d probes in 200s, want 8", len(probes))
	}
	for i, gap := range []int64{2, 4, 8, 16, 32, 60, 60} {
		if got := probes[i+1] - probes[i]; got != gap*s+ms {
			t.Errorf("gap %d between probes is %v, want %ds", i, time.Duration(got), gap)
		}
	}
	if wait := w.d.Wait(w.now, lineID("q", "e")); wait < 30*time.Second {
		t.Errorf("Wait = %v while the breaker is open; want most of a minute", wait)
	}
	// The endpoint works again: the limit grows to 1, 2, 4, 8 and so on.
	down, probes = false, nil
	for w.state().Breaker == Open {
		w.run(w.now + ms/4)
	}
	if e := w.state(); e.Breaker != HalfOpen || len(probes) != 2 {
		t.Errorf("breaker %v, %d attempts after the probe came back; want half open and 2", e.Breaker, len(probes))
	}
	for _, want := range []int{2, 4} {
		w.run(w.now + ms)
		if e := w.state(); e.Limit != want {
			t.Errorf("limit %d in the ramp, want %d", e.Limit, want)
		}
	}
	w.run(w.now + 3*ms)
	if e := w.state(); e.Breaker != Closed || w.d.Totals().OpenBreakers != 0 {
		t.Errorf("breaker %v after the ramp; want closed", e.Breaker)
	}
	w.run(w.now + s)
	if n := w.d.Totals().Waiting; n != 0 {
		t.Errorf("%d items still waiting; want none", n)
	}
}

func TestBreakerCanBeOff(t *testing.T) {
	w := newWorld(t, Options{BreakAfter: -1})
	w.answer = func(w *world, j job) (int64, Outcome) { return ms, Down }
	for range 1000 {
		w.push(Rules{Queue: "q", Endpoint: "e"}, 0)
	}
	w.run(2 * s)
	if w.starts != 1000 {
		t.Errorf("%d attempts of 1000 tasks; want all, with the breaker off", w.starts)
	}
}

// A few tasks that fail repeatedly are attempted exactly at their scheduled times, even after many
// failing tasks have opened the breaker.
func TestFewTasksKeepTheirSchedule(t *testing.T) {
	for _, crowd := range []int{0, 1000} {
		w := newWorld(t, Options{})
		w.answer = func(w *world, j job) (int64, Outcome) { return 5 * ms, Down }
		for range crowd {
			w.push(Rules{Queue: "crowd", Endpoint: "e"}, 0)
		}
		w.run(3 * s)
		w.d.Remove(lineID("crowd", "e"), func(job) bool { return true })
		w.run(120 * s)
		clear(w.waits)
		for at := range int64(50) { // four tasks each 15 seconds
			for range 4 {
				w.at(w.now+at*15*s, func() { w.push(Rules{Queue: "q", Endpoint: "e"}, int(at)) })
			}
		}
		w.run(w.now + 50*15*s)
		if n := len(w.waits["e"]); n != 200 {
			t.Fatalf("crowd of %d: %d attempts, want 200", crowd, n)
		}
		late := 0
		for _, wait := range w.waits["e"] {
			if wait > 0 {
				late++
			}
		}
		// The first few after a crowd may have to wait for the probe.
		if limit := min(crowd, 4); late > limit {
			t.Errorf("crowd of %d: %d attempts were late, want at most %d", crowd, late, limit)
		}
	}
}

func TestPoolGrowsAndShrinks(t *testing.T) {
	w := newWorld(t, Options{Floor: 16, Ceiling: 1024})
	w.answer = func(w *world, j job) (int64, Outcome) { return 50 * ms, Accepted }
	names := hosts("e", 200)
	w.arrive(names, 100, s) // in flight: 5
	w.run(s)
	if n := w.d.Totals().Limit; n > 32 {
		t.Errorf("limit %d with 5 in flight; want the floor of 16", n)
	}
	w.arrive(names, 10000, 4*s) // in flight: 500
	w.run(2 * s)
	w.waits = map[string][]int64{}
	w.run(4 * s)
	if n := w.d.Totals().Limit; n < 500 || n > 1024 {
		t.Errorf("limit %d with 500 in flight; want it to have grown", n)
	}
	if p99 := w.quantile(0.99, func(string) bool { return true }); p99 > 2*ms {
		t.Errorf("waits p99 %v in a pool that had time to grow; want less", time.Duration(p99))
	}
	w.arrive(names, 100, 120*s)
	w.run(120 * s)
	if n := w.d.Totals().Limit; n > 32 {
		t.Errorf("limit %d after two minutes with 5 in flight; want it to have shrunk", n)
	}
}

// The machine does 30 attempts a millisecond and no more, however many are in flight. More slots
// would not help, so the pool does not grow.
func TestPoolDoesNotGrowForNothing(t *testing.T) {
	w := newWorld(t, Options{LineBound: 1 << 20, TotalBound: 1 << 20})
	free := int64(0) // when the machine has finished all its work so far
	w.answer = func(w *world, j job) (int64, Outcome) {
		free = max(free, w.now) + ms/30 + w.rand.Int64N(ms/30) - ms/60
		return free - w.now, Accepted
	}
	for _, e := range hosts("e", 1000) {
		for range 100 {
			w.push(Rules{Queue: "q", Endpoint: e}, 0)
		}
	}
	w.run(200 * ms) // until no endpoint counts as new
	sum, n := 0, 0
	for w.now < 3*s {
		w.run(w.now + 10*ms)
		sum += w.d.core.pool.limit
		n++
	}
	t.Logf("limit %d on average, %d attempts", sum/n, w.starts)
	if mean := sum / n; mean > 128 {
		t.Errorf("limit %d on average; want it near the floor of 64", mean)
	}
}

// A resized pool keeps its attempts in flight. It starts nothing above a smaller ceiling, and at
// once as much more as a larger floor allows.
func TestResize(t *testing.T) {
	d := New[int](Options{Floor: 8, Ceiling: 16})
	for i := range 64 {
		d.Open(0, uint64(i), Rules{Queue: "q", Endpoint: string(rune('a' + i))})
		if d.Push(0, uint64(i), 0, 0, Alone, i) != Kept {
			t.Fatalf("Push of item %d was rejected", i)
		}
	}
	var held []Ticket
	start := func() int {
		for {
			ticket, _, ok := d.Next(0)
			if !ok {
				return len(held)
			}
			held = append(held, ticket)
		}
	}
	if n := start(); n != 14 { // for new endpoints: ceiling - ceiling/8
		t.Fatalf("%d in flight with a ceiling of 16; want 14", n)
	}
	d.Resize(0, 4, 8)
	for range 8 {
		d.Done(0, held[0], Accepted)
		held = held[1:]
	}
	if n := start(); n > 8 {
		t.Errorf("an attempt started with %d in flight and a ceiling of 8", n)
	}
	d.Resize(0, 32, 64)
	if n := start(); n < 32 {
		t.Errorf("%d in flight with a floor of 32 and more items waiting; want the floor filled", n)
	}
	if s := d.Totals(); s.Floor != 32 || s.Ceiling != 64 || s.InFlight != len(held) || s.InFlight > s.Ceiling {
		t.Errorf("%+v; want from 32 to 64, and %d in flight", s, len(held))
	}
}
