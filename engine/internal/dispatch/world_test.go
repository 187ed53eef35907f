package dispatch

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A world makes attempts in virtual time, like an engine whose own work takes no time. After every
// event it calls Next until there is nothing to do.
type world struct {
	t      *testing.T
	d      *D[job]
	now    int64
	rand   *rand.Rand
	events events
	wakeAt int64
	seq    int

	// answer returns the duration and outcome of an attempt that starts now.
	answer func(w *world, j job) (took int64, out Outcome)
	// started and done, if set, are called at each start and each end.
	started func(w *world, t Ticket, j job)
	done    func(w *world, j job, out Outcome)

	waits  map[string][]int64 // start minus due time, by endpoint
	starts int
}

type job struct {
	queue, endpoint string
	due             int64
	attempts        int
}

type event struct {
	at  int64
	seq int
	do  func()
}

type events []event

func (h events) Len() int { return len(h) }
func (h events) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h events) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *events) Push(x any)   { *h = append(*h, x.(event)) }
func (h *events) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

func newWorld(t *testing.T, o Options) *world {
	return &world{t: t, d: New[job](o), rand: rand.New(rand.NewPCG(1, 2)), wakeAt: -1, waits: map[string][]int64{}}
}

func (w *world) at(at int64, do func()) {
	w.seq++
	heap.Push(&w.events, event{at, w.seq, do})
}

// push adds an item that is due now, and reports whether it was kept.
func (w *world) push(rules Rules, attempts int) bool {
	id := lineID(rules.Queue, rules.Endpoint)
	j := job{rules.Queue, rules.Endpoint, w.now, attempts}
	p := w.d.Push(w.now, id, w.now, attempts, Alone, j)
	if p == Unknown {
		w.d.Open(w.now, id, rules)
		p = w.d.Push(w.now, id, w.now, attempts, Alone, j)
	}
	return p == Kept
}

var ids = map[string]uint64{}

func lineID(queue, endpoint string) uint64 {
	k := queue + "\x00" + endpoint
	if ids[k] == 0 {
		ids[k] = uint64(len(ids) + 1)
	}
	return ids[k]
}

func (w *world) pump() {
	for {
		t, j, ok := w.d.Next(w.now)
		if !ok {
			break
		}
		w.starts++
		w.waits[j.endpoint] = append(w.waits[j.endpoint], w.now-j.due)
		if w.started != nil {
			w.started(w, t, j)
		}
		took, out := w.answer(w, j)
		w.at(w.now+took, func() {
			w.d.Done(w.now, t, out)
			if w.done != nil {
				w.done(w, j, out)
			}
		})
	}
	if at, ok := w.d.Wake(w.now); ok && (w.wakeAt <= w.now || at < w.wakeAt) {
		if at <= w.now {
			w.t.Fatalf("Wake(%d) = %d although Next gave nothing", w.now, at)
		}
		w.wakeAt = at
		w.at(at, func() {})
	}
}

// run advances the virtual time to until.
func (w *world) run(until int64) {
	w.pump()
	for len(w.events) > 0 && w.events[0].at <= until {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.do()
		w.pump()
	}
	w.now = until
}

// quantile returns the q-quantile of the waits at endpoints that match.
func (w *world) quantile(q float64, match func(endpoint string) bool) int64 {
	var all []int64
	for e, waits := range w.waits {
		if match(e) {
			all = append(all, waits...)
		}
	}
	if len(all) == 0 {
		w.t.Fatal("no attempt was made")
	}
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))]
}

func hosts(kind string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", kind, i)
	}
	return names
}

// arrive pushes perSecond items a second until the time until, for endpoints chosen at random.
func (w *world) arrive(endpoints []string, perSecond int, until int64) {
	gap := s / int64(perSecond)
	var one func()
	one = func() {
		w.push(Rules{Queue: "q", Endpoint: endpoints[w.rand.IntN(len(endpoints))]}, 0)
		if w.now+gap < until {
			w.at(w.now+gap, one)
		}
	}
	w.at(w.now, one)
}
