package dispatch

import "testing"

// A hold stops all lines of its endpoint, whatever happens meanwhile, and no other endpoint. A
// shorter hold after it changes nothing.
func TestHold(t *testing.T) {
	d := New[int](Options{})
	lines := []Rules{{Queue: "a", Endpoint: "x"}, {Queue: "b", Endpoint: "x"}, {Queue: "a", Endpoint: "y"}}
	push := func(now int64, i int) {
		r := lines[i]
		if id := lineID(r.Queue, r.Endpoint); d.Push(now, id, now, 0, Alone, i) == Unknown {
			d.Open(now, id, r)
			d.Push(now, id, now, 0, Alone, i)
		}
	}
	push(0, 0)
	ticket, _, _ := d.Next(0)
	push(0, 0)
	second, _, _ := d.Next(0)
	d.Hold(s, ticket, 400*s)
	d.Done(s, ticket, Throttled)
	d.Hold(2*s, second, 3*s)
	d.Done(2*s, second, Throttled)
	for i := range lines {
		push(2*s, i)
	}
	other, i, ok := d.Next(2 * s)
	if !ok || i != 2 {
		t.Fatalf("Next = %d, %t; want the item of the other endpoint", i, ok)
	}
	d.Done(2*s, other, Accepted)
	d.Sweep(399 * s)
	if _, i, ok := d.Next(400*s - 1); ok {
		t.Fatalf("Next gave item %d during the hold", i)
	}
	if at, ok := d.Wake(400*s - 1); !ok || at != 400*s {
		t.Errorf("Wake = %d, %t; want 400s", at, ok)
	}
	for range 2 {
		ticket, i, ok := d.Next(401 * s)
		if !ok || i == 2 {
			t.Fatalf("Next after the hold = %d, %t; want the held item", i, ok)
		}
		d.Done(401*s, ticket, Accepted)
	}

	// The hold is not forgotten when the endpoint's lines are.
	push(500*s, 0)
	ticket, _, _ = d.Next(500 * s)
	d.Hold(500*s, ticket, 1100*s)
	d.Done(500*s, ticket, Throttled)
	d.Sweep(1000 * s)
	push(1000*s, 0)
	if _, _, ok := d.Next(1000 * s); ok {
		t.Error("the hold was forgotten with the endpoint's lines")
	}
}

// A limit of less than one attempt in five minutes holds although its line, endpoint and queue are
// idle for longer than that.
func TestIdleLineKeepsItsRate(t *testing.T) {
	for _, r := range []Rules{{Queue: "a", Endpoint: "x", QueueRate: 1.0 / 3600}, {Queue: "a", Endpoint: "x", Rate: 1.0 / 3600}} {
		d := New[int](Options{})
		id := lineID(r.Queue, r.Endpoint)
		attempt := func(now int64) bool {
			if d.Push(now, id, now, 0, Alone, 0) == Unknown {
				d.Open(now, id, r)
				d.Push(now, id, now, 0, Alone, 0)
			}
			ticket, _, ok := d.Next(now)
			if ok {
				d.Done(now, ticket, Accepted)
			}
			return ok
		}
		if !attempt(0) {
			t.Fatal("the first attempt may not go")
		}
		d.Sweep(600 * s)
		if attempt(600 * s) {
			t.Errorf("%+v: a second attempt goes after ten minutes; want it after an hour", r)
		} else if _, _, ok := d.Next(3600 * s); !ok {
			t.Errorf("%+v: no second attempt after an hour", r)
		}

		// The endpoint of a line that moved away keeps its rate too.
		moved := r
		moved.Endpoint = "y"
		if r.Rate == 0 {
			continue
		}
		d = New[int](Options{})
		attempt(0)
		d.Open(0, id, moved)
		d.Sweep(600 * s)
		d.Open(600*s, id, r)
		if attempt(600 * s) {
			t.Errorf("%+v: a second attempt goes after ten minutes at another endpoint; want it after an hour", r)
		}
	}
}
