package engine

import (
	"context"
	"runtime/metrics"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
)

// Take is Add for tasks that were taken from elsewhere already, where they wait
// until they are here: it does not refuse them for being overloaded. Who takes so
// looks at Intake first, and takes no more while it is not open.
func (e *Engine) Take(ctx context.Context, tasks ...*bellman.Task) []bellman.Added {
	return e.addAll(ctx, e.running(ctx), tasks)
}

// Intake says whether tasks are taken in, as it was measured last: each second, and
// when more than the high mark wait in memory already.
func (e *Engine) Intake() figures.Intake {
	if i := e.flow.Load(); i != nil {
		if waiting := e.dispatch.Totals().Waiting + e.uncommitted(); i.Open && waiting > i.High {
			e.meter(waiting, i.Heap)
			i = e.flow.Load()
		}
		return *i
	}
	return figures.Intake{Open: true, High: e.options.Flow.High, Low: e.options.Flow.Low, HeapHigh: e.options.Flow.Heap}
}

// meter turns intake off above a high mark, and on again below the low ones.
func (e *Engine) meter(waiting int, heap int64) {
	f := e.options.Flow
	i := figures.Intake{Waiting: waiting, High: f.High, Low: f.Low, Heap: heap, HeapHigh: f.Heap}
	full := f.Heap > 0 && heap > f.Heap
	tight := f.Heap > 0 && heap >= f.Heap/8*7
	if tight && !e.tight.Swap(true) || full && !e.overloaded.Load() {
		e.spare(heap)
	} else if !tight {
		e.tight.Store(false)
	}
	switch {
	case (waiting > f.High || full) && !e.overloaded.Swap(true):
		e.log.Warn("overloaded: nothing is taken in", "waiting", waiting, "high", f.High, "heap_bytes", heap, "heap_high_bytes", f.Heap)
	case waiting < f.Low && (f.Heap == 0 || heap < f.Heap/8*7) && e.overloaded.Swap(false):
		e.log.Info("no longer overloaded", "waiting", waiting, "low", f.Low, "heap_bytes", heap)
	}
	i.Open = !e.overloaded.Load()
	e.flow.Store(&i)
}

// spare frees the memory of caches: a heap that is full of them must not keep intake closed.
func (e *Engine) spare(heap int64) {
	e.schedules.Drop()
	if e.options.Spare != nil {
		e.options.Spare()
	}
	e.log.Info("caches were dropped: the heap is nearly full", "heap_bytes", heap, "heap_high_bytes", e.options.Flow.Heap)
}

// liveHeap is how many bytes lived when garbage was collected last.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
