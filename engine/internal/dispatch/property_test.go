package dispatch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	us = int64(time.Microsecond)
	ms = int64(time.Millisecond)
	s  = int64(time.Second)
)

// TestProperties makes random calls in random order and compares D with a model. An item comes out
// once, from the front of its list, in its turn, and only where all limits allow it. If Next gives
// nothing, no item may go.
func TestProperties(t *testing.T) { rapid.Check(t, properties) }

type flight struct {
	ticket Ticket
	line   int
}

// A waiter is an item in the model of a line. A line is a list of urgent items and one list for
// each age.
type waiter struct {
	item  int
	due   int64
	elder bool
}

var as = map[int]int{Urgent: 0, 0: 1, 1: 2, 2: 3, 3: 3, 4: 4, 7: 4, 8: 5, 15: 5, 16: 6, 1000: 6}

func properties(t *rapid.T) {
	o := Options{
		Floor:      rapid.IntRange(1, 8).Draw(t, "floor"),
		Ceiling:    rapid.IntRange(1, 40).Draw(t, "ceiling"),
		LineBound:  rapid.IntRange(1, 40).Draw(t, "line bound"),
		TotalBound: rapid.IntRange(1, 60).Draw(t, "total bound"),
		BreakAfter: rapid.SampledFrom([]int{-1, 2, 10}).Draw(t, "break after"),
	}
	d := New[int](o)
	o = d.core.options
	const queues, endpoints = 3, 4
	var (
		now     = int64(0)
		lists   [queues * endpoints][1 + ages][]waiter
		since   [queues * endpoints]int // items taken since the one that has waited longest was taken
		waiting = 0
		made    = 0
		flights []flight
		paused  = map[string]bool{}
		sent    = map[string][]int64{} // times of attempts, by endpoint with a rate
	)
	queueRate := rapid.SampledFrom([]float64{0, 0, 100}).Draw(t, "queue rate")
	endpointRate := rapid.SampledFrom([]float64{0, 0, 3, 500}).Draw(t, "endpoint rate")
	var goes [queues * endpoints]int // endpoint of each line
	for i := range goes {
		goes[i] = i / queues
	}
	rules := func(i int) Rules {
		r := Rules{Queue: fmt.Sprintf("q%d", i%queues), Endpoint: fmt.Sprintf("e%d", goes[i]), Concurrency: 16}
		switch i % queues {
		case 1:
			r.QueueConcurrency = 3
		case 2:
			r.QueueRate = queueRate
			r.YoungFirst = true
		}
		r.Own.Rate = float64(i + 1)
		if goes[i] == 1 {
			r.Rate, r.Concurrency = endpointRate, 5
		}
		return r
	}
	held := func(i int) (n int) {
		for _, list := range lists[i] {
			n += len(list)
		}
		return n
	}
	sound := func(t *rapid.T) {
		if err := d.core.check(); err != nil {
			t.Fatal(err)
		}
		if d.core.slab.n != waiting || d.core.pool.inFlight != len(flights) {
			t.Fatalf("waiting %d, in flight %d; want %d, %d", d.core.slab.n, d.core.pool.inFlight, waiting, len(flights))
		}
	}
	got := func(t *rapid.T, ticket Ticket, item int, ok bool) {
		if !ok {
			if l := d.core.mayGo(); l != nil {
				t.Fatalf("Next gave nothing; want the item of line %d, which may go", l.id)
			}
			return
		}
		i := int(ticket.line.id)
		k := slices.IndexFunc(lists[i][:], func(list []waiter) bool { return len(list) > 0 && list[0].item == item })
		if k < 0 {
			t.Fatalf("Next gave item %d of line %d; want the head of one of the lists %v", item, i, lists[i])
		}
		r := rules(i)
		if k > 0 {
			young := 1 + slices.IndexFunc(lists[i][1:], func(list []waiter) bool { return len(list) > 0 })
			oldest, nth := int64(never), 2
			if r.YoungFirst {
				nth = 4
			}
			for _, list := range lists[i][2:] {
				if len(list) > 0 {
					oldest = min(oldest, list[0].due)
				}
			}
			turn := since[i] >= 7 || now-oldest > 5*s && since[i] >= nth-1 // the turn of the item that has waited longest
			if was := k > 1 && lists[i][k][0].due == oldest; k != young && !was || turn && !was && oldest != never || !turn && k != young {
				t.Fatalf("Next gave the first of list %d of line %d of %v, after %d items that were not the oldest", k, i, lists[i], since[i])
			} else if since[i]++; was {
				since[i] = 0
			}
		}
		list := &lists[i][k]
		*list = (*list)[1:]
		waiting--
		if paused[r.Queue] || paused[r.Endpoint] {
			t.Fatalf("Next gave an item of %s for %s, which is paused", r.Queue, r.Endpoint)
		}
		if r.Rate > 0 {
			sent[r.Endpoint] = append(sent[r.Endpoint], now)
			for k, at := range sent[r.Endpoint] {
				n := len(sent[r.Endpoint]) - k
				if most := 1 + int(float64(now-at+burst)*r.Rate/float64(s)+1e-6); n > most {
					t.Fatalf("%d attempts to %s in %v, want no more than %d", n, r.Endpoint, time.Duration(now-at), most)
				}
			}
		}
		flights = append(flights, flight{ticket, i})
	}
	line := rapid.IntRange(0, queues*endpoints-1)
	outcome := rapid.SampledFrom([]Outcome{Inconclusive, Accepted, Accepted, Accepted, Refused, Throttled, Down, Down})
	push := func(t *rapid.T) {
		i := line.Draw(t, "line")
		attempts := rapid.SampledFrom(slices.Sorted(maps.Keys(as))).Draw(t, "attempts")
		k := as[attempts]
		most := o.LineBound
		bounded := lists[i][k : k+1] // the lists that share a bound with the item's
		switch {
		case attempts == Urgent:
		case rules(i).YoungFirst:
			most = max(o.LineBound/6, 1)
		default:
			k = min(k, 2)
			bounded = lists[i][1:]
		}
		n, elders := 0, 0
		for _, list := range bounded {
			n += len(list)
			for _, w := range list {
				if w.elder {
					elders++
				}
			}
		}
		rank := rapid.SampledFrom([]Rank{Alone, Newer, Elder}).Draw(t, "rank")
		least := 1
		if l := d.core.lines[uint64(i)]; l != nil && l.endpoint.class == quick && l.endpoint.breaker.state == Closed {
			least = max(o.LineBound/16, 1)
		}
		full := n >= most || n >= least && waiting >= o.TotalBound
		want := Kept
		if l := d.core.lines[uint64(i)]; l != nil && attempts != Urgent {
			room, wait := d.Room(now, uint64(i), attempts)
			places := d.core.places(l, most, wait)
			if places > most || wait > o.Patience && places > handful || waiting >= o.TotalBound && places > least {
				t.Fatalf("line %d has %d places, wait %v: want at most %d", i, places, wait, most)
			}
			if fit := min(places-n, max(o.TotalBound-waiting, least-n)); room != fit {
				t.Fatalf("Room of line %d = %d; want %d, as many as Push keeps", i, room, fit)
			}
			if rank == Newer {
				full = full || n-elders >= places/2
				if elders <= places/4 {
					want = Low
				}
			}
		}
		if full {
			want = Full
		}
		p := d.Push(now, uint64(i), now, attempts, rank, made)
		if p == Unknown {
			if held(i) > 0 {
				t.Fatalf("line %d has items and was forgotten", i)
			}
			since[i] = 0
			d.Open(now, uint64(i), rules(i))
			p = d.Push(now, uint64(i), now, attempts, Alone, made)
			rank = Alone
		}
		if p != want {
			t.Fatalf("Push to line %d = %v, want %v", i, p, want)
		}
		if p == Kept || p == Low {
			lists[i][k] = append(lists[i][k], waiter{made, now, rank == Elder})
			waiting++
		}
		made++
	}
	next := func(t *rapid.T) {
		ticket, item, ok := d.Next(now)
		got(t, ticket, item, ok)
	}
	take := func(t *rapid.T) Ticket {
		k := rapid.IntRange(0, len(flights)-1).Draw(t, "flight")
		f := flights[k]
		flights = slices.Delete(flights, k, k+1)
		return f.ticket
	}
	actions := map[string]func(*rapid.T){
		"push":  push,
		"push2": push,
		"next":  next,
		"next2": next,
		"done": func(t *rapid.T) {
			d.Done(now, take(t), outcome.Draw(t, "outcome"))
		},
		"done next": func(t *rapid.T) {
			ticket, item, ok := d.DoneNext(now, take(t), outcome.Draw(t, "outcome"))
			got(t, ticket, item, ok)
		},
		"time passes": func(t *rapid.T) {
			now += rapid.SampledFrom([]int64{us, ms, 50 * ms, s, 20 * s, 400 * s}).Draw(t, "ns")
		},
		"until wake": func(t *rapid.T) {
			if at, ok := d.Wake(now); ok {
				now = max(now, at)
			}
		},
		"drain": func(t *rapid.T) {
			for {
				ticket, item, ok := d.Next(now)
				got(t, ticket, item, ok)
				if !ok {
					return
				}
			}
		},
		"pause": func(t *rapid.T) {
			name := rapid.SampledFrom([]string{"q0", "q1", "e0", "e1"}).Draw(t, "name")
			paused[name] = true
			if name[0] == 'q' {
				d.PauseQueue(now, name)
			} else {
				d.PauseEndpoint(now, name)
			}
		},
		"resume": func(t *rapid.T) {
			for _, name := range []string{"q0", "q1", "e0", "e1"} {
				delete(paused, name)
				if name[0] == 'q' {
					d.ResumeQueue(now, name)
				} else {
					d.ResumeEndpoint(now, name)
				}
			}
		},
		"remove": func(t *rapid.T) {
			i := line.Draw(t, "line")
			odd := func(item int) bool { return item%2 == 1 }
			n := held(i)
			for k := range lists[i] {
				lists[i][k] = slices.DeleteFunc(lists[i][k], func(w waiter) bool { return odd(w.item) })
			}
			n -= held(i)
			if removed := d.Remove(uint64(i), odd); removed != n {
				t.Fatalf("Remove from line %d = %d, want %d", i, removed, n)
			}
			waiting -= n
		},
		"sweep": func(t *rapid.T) {
			d.Sweep(now)
		},
		"reload": func(t *rapid.T) {
			d.Reload(now, func(was Rules) Rules {
				if is := rules(int(was.Own.Rate) - 1); was.Queue != is.Queue || was.Endpoint != is.Endpoint {
					t.Fatalf("Reload gave %+v, want as opened %+v", was, is)
				}
				return rules(int(was.Own.Rate) - 1)
			})
		},
		"move": func(t *rapid.T) {
			i := line.Draw(t, "line")
			if !d.Known(uint64(i)) {
				since[i] = 0
			}
			goes[i] = rapid.IntRange(0, endpoints-1).Draw(t, "endpoint")
			d.Open(now, uint64(i), rules(i))
			if name, ok := d.EndpointOf(uint64(i)); !ok || name != rules(i).Endpoint {
				t.Fatalf("line %d goes to %q, %t; want %q", i, name, ok, rules(i).Endpoint)
			}
		},
	}
	names := slices.Sorted(maps.Keys(actions))
	for range rapid.IntRange(100, 1000).Draw(t, "steps") {
		name := rapid.SampledFrom(names).Draw(t, "action")
		if len(flights) == 0 && strings.HasPrefix(name, "done") {
			name = "next"
		}
		actions[name](t)
		sound(t)
	}
}
