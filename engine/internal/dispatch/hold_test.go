package dispatch

import "testing"

// What an endpoint asked for holds all of its lines, whatever comes meanwhile, and no
// other endpoint; a shorter wish after it changes nothing.
func TestHold(t *testing.T) {
	d := New[int](Options{})
	lines := []Rules{{Queue: "a", Endpoint: "x"}, {Queue: "b", Endpoint: "x"}, {Queue: "a", Endpoint: "y"}}
	push := func(now int64, i int) {
		r := lines[i]
		if id := lineID(r.Queue, r.Endpoint); d.Push(now, id, now, 0, i) == Unknown {
			d.Open(now, id, r)
			d.Push(now, id, now, 0, i)
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
		t.Fatalf("Next = %d, %t; want the other endpoint's", i, ok)
	}
	d.Done(2*s, other, Accepted)
	d.Sweep(399 * s)
	if _, i, ok := d.Next(400*s - 1); ok {
		t.Fatalf("%d is sent too soon", i)
	}
	if at, ok := d.Wake(400*s - 1); !ok || at != 400*s {
		t.Errorf("Wake = %d, %t; want 400s", at, ok)
	}
	for range 2 {
		ticket, i, ok := d.Next(401 * s)
		if !ok || i == 2 {
			t.Fatalf("afterwards Next = %d, %t", i, ok)
		}
		d.Done(401*s, ticket, Accepted)
	}

	// It is not forgotten with its lines.
	push(500*s, 0)
	ticket, _, _ = d.Next(500 * s)
	d.Hold(500*s, ticket, 1100*s)
	d.Done(500*s, ticket, Throttled)
	d.Sweep(1000 * s)
	push(1000*s, 0)
	if _, _, ok := d.Next(1000 * s); ok {
		t.Error("forgotten")
	}
}
