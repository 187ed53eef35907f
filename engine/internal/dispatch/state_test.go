package dispatch

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestStates(t *testing.T) {
	d := New[string](Options{})
	push(d, 5, Rules{Queue: "q", Endpoint: "a", Concurrency: 1}, 3)
	push(d, 7, Rules{Queue: "r", Endpoint: "a", Concurrency: 1}, 2)
	push(d, 3, Rules{Queue: "own"}, 1)
	first, _, _ := d.Next(10) // q/a
	d.Next(10)                // own
	d.DoneNext(10+ms, first, Accepted)
	// In flight: one of r/a and one of own. Waiting: two of q/a and one of r/a.
	total := d.Totals()
	if total.InFlight != 2 || total.Waiting != 3 || total.Endpoints != 2 || len(d.core.all) != 3 || total.OldestDue == 0 {
		t.Errorf("Totals() = %+v; want 2 in flight, 3 waiting, 2 endpoints, 3 lines, and an oldest due time", total)
	}
	a, ok := d.Endpoint("a")
	if !ok || a.InFlight != 1 || a.Attempts != 1 || a.Success != 1 || a.OldestDue != 5 || a.Waiting != total.Waiting {
		t.Errorf("Endpoint(a) = %+v, %t; want 1 in flight, 3 waiting, 1 accepted attempt, oldest due 5", a, ok)
	}
	if _, ok := d.Endpoint(""); ok {
		t.Error("the endpoint with an empty name is known; want it unknown")
	}
	all := d.Endpoints()
	if len(all) != 2 {
		t.Fatalf("Endpoints() = %+v; want 2", all)
	}
	if !slices.ContainsFunc(all, func(e EndpointState) bool { return e.Name == "own" && e.Queue == "own" }) {
		t.Errorf("Endpoints() = %+v; want one with the name own and the queue own", all)
	}
	queues := d.Queues()
	inFlight := 0
	for _, q := range queues {
		inFlight += q.InFlight
	}
	if len(queues) != 3 || inFlight != total.InFlight {
		t.Errorf("Queues() = %+v; want 3 with 2 in flight in all", queues)
	}
	if !slices.ContainsFunc(queues, func(q QueueState) bool { return q.Name == "q" && q.OldestDue == 5 }) {
		t.Errorf("Queues() = %+v; want q with the oldest due time 5", queues)
	}
}

func TestSuccessRateFollows(t *testing.T) {
	d := New[string](Options{BreakAfter: -1, LineBound: 2000})
	push(d, 0, Rules{Queue: "q", Endpoint: "e"}, 1000)
	end := func(n int, out Outcome) {
		for range n {
			ticket, _, _ := d.Next(0)
			d.Done(0, ticket, out)
		}
	}
	end(3, Accepted)
	end(1, Refused)
	if e, _ := d.Endpoint("e"); e.Success != 0.75 || e.Attempts != 4 {
		t.Errorf("Success = %v of %d, want 0.75 of 4", e.Success, e.Attempts)
	}
	end(500, Down)
	if e, _ := d.Endpoint("e"); e.Success > 0.01 || e.Attempts != 100 {
		t.Errorf("Success = %v of %d, want almost none of 100", e.Success, e.Attempts)
	}
}

func TestWait(t *testing.T) {
	w := newWorld(t, Options{})
	w.answer = func(w *world, j job) (int64, Outcome) { return 10 * ms, Accepted }
	for range 1000 {
		w.push(Rules{Queue: "q", Endpoint: "e", Concurrency: 4}, 0)
	}
	w.run(s)
	wait, waiting := w.d.Wait(w.now, lineID("q", "e")), w.state().Waiting
	want := time.Duration(waiting) * 10 * time.Millisecond / 4
	if waiting < 500 || wait < want*8/10 || wait > want*12/10 {
		t.Errorf("Wait = %v with %d waiting, want about %v", wait, waiting, want)
	}
	if wait := w.d.Wait(w.now, 1<<60); wait != 0 {
		t.Errorf("Wait of an unknown line = %v; want 0", wait)
	}
}

func TestBounds(t *testing.T) {
	d := New[string](Options{LineBound: 4, TotalBound: 6})
	if got := d.Push(0, 1, 0, 0, Alone, "x"); got != Unknown {
		t.Fatalf("Push to an unknown line = %v; want Unknown", got)
	}
	kept := map[uint64]int{}
	for line := range uint64(10) {
		d.Open(0, line, Rules{Queue: "q", Endpoint: fmt.Sprint(line)})
		for range 5 {
			if d.Push(0, line, 0, 0, Alone, "x") == Kept {
				kept[line]++
			}
		}
	}
	for line, want := range map[uint64]int{0: 4, 1: 2, 2: 1, 9: 1} {
		if kept[line] != want {
			t.Errorf("line %d kept %d items, want %d", line, kept[line], want)
		}
	}
}

// A line of a quick endpoint has room although other lines have used up the total bound.
func TestBoundsOfQuick(t *testing.T) {
	d := New[string](Options{LineBound: 64, TotalBound: 100})
	for line := range uint64(3) {
		d.Open(0, line, Rules{Queue: "q", Endpoint: fmt.Sprint(line)})
	}
	d.Push(0, 0, 0, 0, Alone, "x")
	ticket, _, ok := d.Next(0)
	if !ok {
		t.Fatal("Next gave nothing; want the item of line 0")
	}
	d.Done(int64(time.Millisecond), ticket, Accepted)
	fill := func(line uint64) (kept int) {
		for d.Push(int64(time.Millisecond), line, 0, 0, Alone, "x") == Kept {
			kept++
		}
		return kept
	}
	if a, b := fill(1), fill(2); a != 64 || b != 36 {
		t.Fatalf("lines of endpoints that never answered kept %d and %d items; want 64 and 36", a, b)
	}
	if n := fill(0); n != 4 {
		t.Errorf("the line of an endpoint that answered kept %d items; want 4, a sixteenth of its bound", n)
	}
}

func TestSweepForgetsWhatIsIdle(t *testing.T) {
	d := New[string](Options{})
	for i := range 1000 {
		push(d, 0, Rules{Queue: fmt.Sprint("q", i%7), Endpoint: fmt.Sprint("e", i)}, 1)
	}
	drain(t, d, 0, 990) // ten items wait
	flying, _, _ := d.Next(0)
	if n := d.Sweep(299 * s); n != 0 {
		t.Errorf("forgot %d lines that were not idle long enough; want none", n)
	}
	if n := d.Sweep(301 * s); n != 990 {
		t.Errorf("forgot %d lines, want 990", n)
	}
	if total := d.Totals(); len(d.core.all) != 10 || total.Endpoints != 10 || total.Waiting != 9 {
		t.Errorf("Totals = %+v, want 10 lines and endpoints, 9 waiting", total)
	}
	d.Done(301*s, flying, Accepted)
	drain(t, d, 301*s, 9)
	d.Sweep(1000 * s)
	if total := d.Totals(); len(d.core.all) != 0 || total.Endpoints != 0 || len(d.Queues()) != 0 {
		t.Errorf("Totals = %+v, want nothing", total)
	}
	if d.Known(lineID("q0", "e0")) {
		t.Error("a forgotten line is still known")
	}
}

func TestNothingIsKeptAlive(t *testing.T) {
	d := New[*int](Options{})
	d.Open(0, 1, Rules{Queue: "q"})
	for range 20 {
		d.Push(0, 1, 0, 0, Alone, new(int))
	}
	d.Remove(1, func(p *int) bool { return d.core.slab.n%2 == 0 })
	for {
		ticket, _, ok := d.Next(0)
		if !ok {
			break
		}
		d.Done(0, ticket, Accepted)
	}
	for i, p := range d.items {
		if p != nil {
			t.Errorf("item %d is still referenced", i)
		}
	}
}

func TestDoneTwicePanics(t *testing.T) {
	d := New[string](Options{})
	push(d, 0, Rules{Queue: "q", Endpoint: "e"}, 1)
	ticket, _, _ := d.Next(0)
	d.Done(0, ticket, Accepted)
	defer func() {
		if recover() == nil {
			t.Error("the second Done did not panic")
		}
		d.Totals() // does not hang: the panic released the lock
	}()
	d.Done(0, ticket, Accepted)
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	d := New[string](Options{})
	for i := range 100 {
		push(d, 0, Rules{Queue: "q", Endpoint: fmt.Sprint(i), Rate: 1000, QueueConcurrency: 50}, 10)
	}
	now := int64(0)
	ticket, item, ok := d.Next(now)
	allocs := testing.AllocsPerRun(10000, func() {
		now += ms
		d.Push(now, ticket.line.id, now, 1, Alone, item)
		if ticket, item, ok = d.DoneNext(now, ticket, Accepted); !ok {
			t.Fatal("DoneNext gave nothing")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for each cycle; want 0", allocs)
	}
}

// Many goroutines run DoneNext until nothing is left, and every item comes out once. This test is
// for the race detector.
func TestConcurrent(t *testing.T) {
	const workers, lines, items = 8, 50, 4000
	d := New[int](Options{TotalBound: 1 << 20})
	start := time.Now()
	now := func() int64 { return int64(time.Since(start)) }
	var mu sync.Mutex
	seen := make(map[int]bool)
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for i := range items / workers {
				line := uint64(i % lines)
				for d.Push(now(), line, now(), 0, Alone, worker*items+i) == Unknown {
					d.Open(now(), line, Rules{Queue: "q", Endpoint: fmt.Sprint(line)})
				}
				ticket, item, ok := d.Next(now())
				for ok {
					mu.Lock()
					if seen[item] {
						t.Errorf("item %d came out twice", item)
					}
					seen[item] = true
					mu.Unlock()
					ticket, item, ok = d.DoneNext(now(), ticket, Outcome(2+item%2))
				}
				d.Totals()
				d.Sweep(now())
			}
		})
	}
	wg.Wait()
	for ticket, item, ok := d.Next(now()); ok; ticket, item, ok = d.DoneNext(now(), ticket, Accepted) {
		seen[item] = true
	}
	if len(seen) != items {
		t.Errorf("%d items came out; want all %d", len(seen), items)
	}
	if err := d.core.check(); err != nil {
		t.Error(err)
	}
}

// Items held back by a breaker or a pause do not count as overdue, but as held.
func TestHeldIsNotOverdue(t *testing.T) {
	d := New[string](Options{BreakAfter: 3})
	push(d, 1, Rules{Queue: "q", Endpoint: "down"}, 100)
	push(d, 50, Rules{Queue: "q", Endpoint: "up"}, 1)
	oldest := func(due int64, held int) {
		t.Helper()
		if q := d.Queues()[0]; q.OldestDue != due || q.Held != held {
			t.Errorf("oldest %d, held %d; want %d and %d", q.OldestDue, q.Held, due, held)
		}
	}
	oldest(1, 0)
	for e, _ := d.Endpoint("down"); e.Breaker != Open; e, _ = d.Endpoint("down") {
		ticket, _, ok := d.Next(10)
		if !ok {
			t.Fatal("Next gave nothing although the breaker is not open")
		}
		d.Done(10, ticket, Down)
		if e, _ := d.Endpoint("up"); e.Waiting == 0 {
			push(d, 50, Rules{Queue: "q", Endpoint: "up"}, 1)
		}
	}
	down, _ := d.Endpoint("down")
	oldest(50, down.Waiting)
	for id, l := range d.core.lines {
		if held := d.Held(id); held != (l.endpoint.name == "down") {
			t.Errorf("the line to %s: held %t; want the opposite", l.endpoint.name, held)
		}
	}
	d.PauseEndpoint(20, "up")
	up, _ := d.Endpoint("up")
	oldest(0, down.Waiting+up.Waiting)
}
