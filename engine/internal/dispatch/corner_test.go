package dispatch

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A free slot of a queue goes to the one line that can use it, however many others cannot.
func TestSlotOfAQueueFindsItsLine(t *testing.T) {
	d := New[string](Options{})
	r := func(i int) Rules {
		return Rules{Queue: "q", Endpoint: fmt.Sprint("e", i), QueueConcurrency: 1}
	}
	for i := range 21 {
		push(d, 0, r(i), 1)
	}
	first, _, _ := d.Next(0)
	d.Next(0) // the other lines are set aside because they cannot use a slot
	for i := 1; i < 20; i++ {
		d.PauseEndpoint(0, r(i).Endpoint)
	}
	if _, item, ok := d.DoneNext(0, first, Accepted); !ok || item != "q/e20" {
		t.Errorf("DoneNext = %q, %t; want q/e20", item, ok)
	}
}

// Attempts that hang from before the breaker opened do not stop the ramp after it.
func TestOldAttemptsDoNotStopTheRamp(t *testing.T) {
	d := New[string](Options{Start: 30})
	push(d, 0, Rules{Queue: "q", Endpoint: "e"}, 100)
	var flights []Ticket
	for range 30 {
		ticket, _, _ := d.Next(0)
		flights = append(flights, ticket)
	}
	for _, ticket := range flights[:12] {
		d.Done(ms, ticket, Down)
	}
	if e, _ := d.Endpoint("e"); e.Breaker != Open {
		t.Fatalf("breaker %v after 12 failures; want open", e.Breaker)
	}
	probe, _, ok := d.Next(2 * s)
	if !ok {
		t.Fatal("Next gave nothing after 2 s; want a probe")
	}
	if _, _, ok := d.Next(2 * s); ok {
		t.Fatal("Next gave a second probe; want one at a time")
	}
	if _, _, ok := d.DoneNext(2*s, probe, Accepted); !ok {
		t.Error("DoneNext gave nothing after the accepted probe; want an attempt")
	}
	for _, ticket := range flights[12:] {
		d.Done(30*s, ticket, Down) // failures from before the breaker opened do not count now
	}
	if e, _ := d.Endpoint("e"); e.Breaker != HalfOpen {
		t.Errorf("breaker %v after old failures came in; want it not open", e.Breaker)
	}
}

func TestRoom(t *testing.T) {
	p := newPool(64, 1600)
	p.limit = p.top
	tests := []struct {
		held [classes]int // silent, slow, quick
		room [tiers]bool  // tiers: first of quick, of other, more of quick, of slow, of silent
	}{
		{[classes]int{0, 0, 0}, [tiers]bool{true, true, true, true, true}},
		{[classes]int{199, 0, 0}, [tiers]bool{true, true, true, true, true}},
		{[classes]int{200, 0, 0}, [tiers]bool{true, true, true, true, false}},
		{[classes]int{200, 600, 0}, [tiers]bool{true, true, true, false, false}},
		{[classes]int{1400, 0, 0}, [tiers]bool{true, false, true, false, false}},
		{[classes]int{0, 0, 1200}, [tiers]bool{true, true, false, true, true}},
		{[classes]int{300, 0, 1199}, [tiers]bool{true, true, true, true, false}},
		{[classes]int{301, 0, 1199}, [tiers]bool{true, false, false, false, false}},
		{[classes]int{401, 0, 1199}, [tiers]bool{false, false, false, false, false}},
	}
	for _, tt := range tests {
		p.held = tt.held
		p.inFlight = tt.held[silent] + tt.held[slow] + tt.held[quick]
		for tier := range tiers {
			if got := p.room(tier); got != tt.room[tier] {
				t.Errorf("held %v: room for tier %d is %t; want the opposite", tt.held, tier, got)
			}
		}
	}
}

// Timers fire in the order of their times, and none is lost, however often they are set and
// cleared.
func TestTimersComeInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h timers
		all := make([]timer, 20)
		model := make(map[*timer]int64)
		for range rapid.IntRange(50, 200).Draw(t, "steps") {
			tm := &all[rapid.IntRange(0, len(all)-1).Draw(t, "timer")]
			if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
				h.clear(tm)
				delete(model, tm)
			} else {
				at := rapid.Int64Range(0, 100).Draw(t, "at")
				h.set(tm, at)
				model[tm] = at
			}
		}
		want := slices.Sorted(maps.Values(model))
		var got []int64
		for len(h) > 0 {
			got = append(got, h[0].at)
			h.clear(h[0])
		}
		if !slices.Equal(got, want) {
			t.Fatalf("timers fire at %v; want %v", got, want)
		}
	})
}
