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

// TestProperties does anything in any order and holds D to its word: an item
// comes out once, from the front of its line, only where everything allows it;
// and when Next gives nothing, nothing may go.
func TestProperties(t *testing.T) { rapid.Check(t, properties) }

type flight struct {
	ticket Ticket
	line   int
}

func properties(t *rapid.T) {
	o := Options{
		Floor:      rapid.IntRange(1, 8).Draw(t, "floor"),
		Ceiling:    rapid.IntRange(1, 40).Draw(t, "ceiling"),
		LineBound:  rapid.IntRange(1, 20).Draw(t, "line bound"),
		TotalBound: rapid.IntRange(1, 60).Draw(t, "total bound"),
		BreakAfter: rapid.SampledFrom([]int{-1, 2, 10}).Draw(t, "break after"),
	}
	d := New[int](o)
	o = d.core.options
	const queues, endpoints = 3, 4
	var (
		now     = int64(0)
		lists   [queues * endpoints][3][]int // urgent, young, old
		waiting = 0
		made    = 0
		flights []flight
		paused  = map[string]bool{}
		sent    = map[string][]int64{} // times, by endpoint with a rate
	)
	queueRate := rapid.SampledFrom([]float64{0, 0, 100}).Draw(t, "queue rate")
	endpointRate := rapid.SampledFrom([]float64{0, 0, 3, 500}).Draw(t, "endpoint rate")
	rules := func(i int) Rules {
		r := Rules{Queue: fmt.Sprintf("q%d", i%queues), Endpoint: fmt.Sprintf("e%d", i/queues), Concurrency: 16}
		switch i % queues {
		case 1:
			r.QueueConcurrency = 3
		case 2:
			r.QueueRate = queueRate
			r.Young = 2
		}
		if i/queues == 1 {
			r.Rate, r.Concurrency = endpointRate, 5
		}
		return r
	}
	held := func(i int) int { return len(lists[i][0]) + len(lists[i][1]) + len(lists[i][2]) }
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
				t.Fatalf("Next gave nothing, but line %d may go", l.id)
			}
			return
		}
		i := int(ticket.line.id)
		k := slices.IndexFunc(lists[i][:], func(list []int) bool { return len(list) > 0 && list[0] == item })
		if k < 0 || ticket.Old != (k == 2) {
			t.Fatalf("Next gave %d of line %d, old %t; want the head of one of %v", item, i, ticket.Old, lists[i])
		}
		list := &lists[i][k]
		*list = (*list)[1:]
		waiting--
		r := rules(i)
		if paused[r.Queue] || paused[r.Endpoint] {
			t.Fatalf("Next gave an item of %s for %s, which is paused", r.Queue, r.Endpoint)
		}
		if r.Rate > 0 {
			sent[r.Endpoint] = append(sent[r.Endpoint], now)
			for k, at := range sent[r.Endpoint] {
				n := len(sent[r.Endpoint]) - k
				if most := 1 + int(float64(now-at+burst)*r.Rate/float64(s)+1e-6); n > most {
					t.Fatalf("%d attempts to %s in %v, want at most %d", n, r.Endpoint, time.Duration(now-at), most)
				}
			}
		}
		flights = append(flights, flight{ticket, i})
	}
	line := rapid.IntRange(0, queues*endpoints-1)
	outcome := rapid.SampledFrom([]Outcome{Cancelled, Accepted, Accepted, Accepted, Refused, Throttled, Down, Down})
	push := func(t *rapid.T) {
		i := line.Draw(t, "line")
		attempts := rapid.IntRange(Urgent, 3).Draw(t, "attempts")
		young, n, most := rules(i).Young, 0, o.LineBound
		k := 1
		switch list := &lists[i]; {
		case attempts == Urgent:
			k = 0
			n = len(list[0])
		case young == 0:
			if attempts > 0 {
				k = 2
			}
			n = len(list[1]) + len(list[2])
		case attempts < young:
			n, most = len(list[1]), o.LineBound-o.LineBound/2
		default:
			k = 2
			n, most = len(list[2]), max(o.LineBound/2, 1)
		}
		full := n >= most || n > 0 && waiting >= o.TotalBound
		want := Kept
		if full {
			want = Full
		}
		p := d.Push(now, uint64(i), now, attempts, made)
		if p == Unknown {
			if held(i) > 0 {
				t.Fatalf("line %d has items and was forgotten", i)
			}
			d.Open(now, uint64(i), rules(i))
			p = d.Push(now, uint64(i), now, attempts, made)
		}
		if p != want {
			t.Fatalf("Push to line %d = %v, want %v", i, p, want)
		}
		if p == Kept {
			lists[i][k] = append(lists[i][k], made)
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
				lists[i][k] = slices.DeleteFunc(lists[i][k], odd)
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
			d.Reload(now, func(queue, endpoint string) Rules {
				var q, e int
				fmt.Sscanf(queue+" "+endpoint, "q%d e%d", &q, &e)
				return rules(e*queues + q)
			})
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
