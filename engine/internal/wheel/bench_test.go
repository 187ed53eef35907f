package wheel

import (
	"container/heap"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

type id [16]byte

const hour = int64(time.Hour / time.Millisecond)

// timers is what the wheel and its rivals have in common: n timers are added,
// and all of them cancelled in the order given.
type timers interface {
	add(dues []int64)
	shuffle(order []int32)
	cancel()
}

type wheelTimers struct {
	w       *Wheel[id]
	handles []Handle
}

// shuffle puts what names the timers into the order in which they are
// cancelled, so that looking it up is not part of what is measured.
func shuffled[H any](order []int32, names []H) []H {
	s := make([]H, len(order))
	for i, k := range order {
		s[i] = names[k]
	}
	return s
}

func newWheelTimers(n int) timers {
	return &wheelTimers{w: New[id](0), handles: make([]Handle, n)}
}

func (t *wheelTimers) add(dues []int64) {
	for i, due := range dues {
		t.handles[i] = t.w.Add(due, id{byte(i)})
	}
}

func (t *wheelTimers) shuffle(order []int32) { t.handles = shuffled(order, t.handles) }

func (t *wheelTimers) cancel() {
	for _, h := range t.handles {
		if _, ok := t.w.Cancel(h); !ok {
			panic("not pending")
		}
	}
}

type runtimeTimers struct{ timers []*time.Timer }

func newRuntimeTimers(n int) timers { return &runtimeTimers{make([]*time.Timer, n)} }

func (t *runtimeTimers) add(dues []int64) {
	fired := func() {} // as small as a callback can be: it knows no id
	for i, due := range dues {
		t.timers[i] = time.AfterFunc(time.Duration(due)*time.Millisecond, fired)
	}
}

func (t *runtimeTimers) shuffle(order []int32) { t.timers = shuffled(order, t.timers) }

func (t *runtimeTimers) cancel() {
	for i, timer := range t.timers {
		if !timer.Stop() {
			panic("not pending")
		}
		t.timers[i] = nil
	}
}

// A heapItem knows where it is in the heap, so that it can be removed.
type heapItem struct {
	due   int64
	value id
	at    int
}

type dueHeap []*heapItem

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due < h[j].due }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].at, h[j].at = i, j }
func (h *dueHeap) Push(x any)        { it := x.(*heapItem); it.at = len(*h); *h = append(*h, it) }
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return it
}

type heapTimers struct {
	heap  dueHeap
	items []*heapItem
}

func newHeapTimers(n int) timers { return &heapTimers{items: make([]*heapItem, n)} }

func (t *heapTimers) add(dues []int64) {
	for i, due := range dues {
		t.items[i] = &heapItem{due: due, value: id{byte(i)}}
		heap.Push(&t.heap, t.items[i])
	}
}

func (t *heapTimers) shuffle(order []int32) { t.items = shuffled(order, t.items) }

func (t *heapTimers) cancel() {
	for i, item := range t.items {
		heap.Remove(&t.heap, item.at)
		t.items[i] = nil
	}
}

// BenchmarkTimers adds timers due in 1 to 25 hours and cancels all of them in
// random order. The handles are the caller's, and not in the bytes per timer.
func BenchmarkTimers(b *testing.B) {
	rivals := []struct {
		name string
		new  func(n int) timers
	}{
		{"wheel", newWheelTimers},
		{"AfterFunc", newRuntimeTimers},
		{"heap", newHeapTimers},
	}
	sizes := []struct {
		name string
		n    int
	}{{"1M", 1e6}, {"5M", 5e6}}
	for _, size := range sizes {
		dues := make([]int64, size.n)
		order := make([]int32, size.n)
		for i := range dues {
			dues[i] = hour + rand.Int64N(24*hour)
			order[i] = int32(i)
		}
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, r := range rivals {
			b.Run(r.name+"/"+size.name, func(b *testing.B) {
				var adding, cancelling time.Duration
				var bytes uint64
				for b.Loop() {
					t := r.new(size.n)
					before := heapInUse()
					start := time.Now()
					t.add(dues)
					adding += time.Since(start)
					bytes += heapInUse() - before
					t.shuffle(order)
					start = time.Now()
					t.cancel()
					cancelling += time.Since(start)
				}
				ops := float64(b.N) * float64(size.n)
				b.ReportMetric(float64(adding)/ops, "ns/add")
				b.ReportMetric(float64(cancelling)/ops, "ns/cancel")
				b.ReportMetric(float64(bytes)/ops, "B/timer")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
