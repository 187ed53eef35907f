package engine

import (
	"context"
	"log/slog"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store"
)

// Take is Add for tasks that were taken from elsewhere already, where they wait
// until they are here: it does not refuse them for being overloaded. Who takes so
// looks at Intake first, and takes no more while it is not open.
func (e *Engine) Take(ctx context.Context, tasks ...*bellman.Task) []bellman.Added {
	return e.addAll(ctx, e.life.running(ctx), tasks)
}

// Intake says whether tasks are taken in, as it was measured last: each second, and
// when more than the high mark wait in memory already.
func (m *Monitor) Intake() figures.Intake { return m.intake.state() }

// intake says whether new tasks are taken in: not while too much waits, or the heap is too large.
type intake struct {
	store   store.Store
	log     *slog.Logger
	leases  *leases
	loader  *loader
	flow    Flow
	waiting func() int // how many tasks wait in memory, in lines or to be committed
	spare   func()     // frees the memory of caches: a heap that is full of them must not keep intake closed

	backlog    backlog
	overloaded atomic.Bool
	tight      atomic.Bool                    // the heap is above seven eighths of flow.Heap
	added      atomic.Int64                   // tasks, since the start
	attempted  atomic.Int64                   // so too: with added it says how a backlog may have changed
	last       atomic.Pointer[figures.Intake] // as it was measured last; nil before
	crowdedAt  atomic.Int64                   // when netAdded is as large, it is measured anew
	crowded    chan struct{}                  // says so to keepHouse
}

func newIntake(e *Engine) *intake {
	i := &intake{store: e.store, log: e.log, leases: e.leases, loader: e.loader, flow: e.options.Flow, crowded: make(chan struct{}, 1)}
	i.waiting = func() int { return e.dispatch.Totals().Waiting + e.committer.uncommitted() }
	i.spare = func() {
		e.rules.schedules.Drop()
		if e.options.Spare != nil {
			e.options.Spare()
		}
	}
	return i
}

// state is what was measured last, or what is true now if too much waits in memory already.
func (i *intake) state() figures.Intake {
	last := i.last.Load()
	if last == nil {
		return figures.Intake{Open: true, High: i.flow.High, Low: i.flow.Low, HeapHigh: i.flow.Heap}
	}
	if waiting := i.waiting(); last.Open && waiting > last.High {
		i.meter(waiting, last.Heap)
		last = i.last.Load()
	}
	return *last
}

// netAdded is how many more tasks were added than attempted, since the start.
func (i *intake) netAdded() int64 { return i.added.Load() - i.attempted.Load() }

// limit turns intake off above the high mark and on again below the low
// one. What is deferred is not counted: a merchant that is down, or a queue
// that is paused, is no reason to refuse the others.
func (i *intake) limit(ctx context.Context, now time.Time) {
	net := i.netAdded()
	waiting := i.waiting()
	if back := i.loader.backMs.Load(); back != noTime {
		f := i.flow
		n, err := i.backlog.overdue(ctx, i, back, now, int64(f.High-waiting+1), int64(f.Low-waiting), i.overloaded.Load())
		if err != nil && ctx.Err() == nil {
			i.log.Error("overdue tasks cannot be counted", "err", err)
		}
		waiting += int(n)
	} else {
		i.backlog = backlog{}
	}
	i.meter(waiting, liveHeap())
	i.crowdedAt.Store(net + int64(max(i.flow.High-waiting, i.flow.High/10, 1)))
}

// crowd has the intake limited at once where what was added since it was measured may
// have crossed the high mark: a second of it may be many times that.
func (i *intake) crowd() {
	if i.overloaded.Load() || i.netAdded() < i.crowdedAt.Load() {
		return
	}
	select {
	case i.crowded <- struct{}{}:
	default:
	}
}

// meter turns intake off above a high mark, and on again below the low ones.
func (i *intake) meter(waiting int, heap int64) {
	f := i.flow
	is := figures.Intake{Waiting: waiting, High: f.High, Low: f.Low, Heap: heap, HeapHigh: f.Heap}
	full := f.Heap > 0 && heap > f.Heap
	tight := f.Heap > 0 && heap >= f.Heap/8*7
	if tight && !i.tight.Swap(true) || full && !i.overloaded.Load() {
		i.spare()
		i.log.Info("caches were dropped: the heap is nearly full", "heap_bytes", heap, "heap_high_bytes", f.Heap)
	} else if !tight {
		i.tight.Store(false)
	}
	switch {
	case (waiting > f.High || full) && !i.overloaded.Swap(true):
		i.log.Warn("overloaded: nothing is taken in", "waiting", waiting, "high", f.High, "heap_bytes", heap, "heap_high_bytes", f.Heap)
	case waiting < f.Low && (f.Heap == 0 || heap < f.Heap/8*7) && i.overloaded.Swap(false):
		i.log.Info("no longer overloaded", "waiting", waiting, "low", f.Low, "heap_bytes", heap)
	}
	is.Open = !i.overloaded.Load()
	i.last.Store(&is)
}

// A backlog knows about how many overdue tasks wait on disk. To count them costs the
// store time in proportion to their number, so it is done for a small part of the
// time, and at once where what was added or attempted since may have crossed a mark.
// It belongs to one goroutine.
type backlog struct {
	counted int64     // at the last count
	next    time.Time // when to count again
	moved   moved     // until then
}

// moved counts tasks that were added and attempted, since the engine started.
type moved struct{ added, attempted int64 }

const (
	countPart  = 100 // counting takes at most one part in so many of the time
	countLeast = 10 * time.Second
)

// overdue returns how many overdue tasks wait on disk from a look on, up to most, as
// counted now or lately. full says that nothing is taken in until there are fewer
// than low.
func (b *backlog) overdue(ctx context.Context, i *intake, from int64, now time.Time, most, low int64, full bool) (int64, error) {
	at := moved{i.added.Load(), i.attempted.Load()}
	above := !full && b.counted < most && b.counted+at.added-b.moved.added >= most
	below := full && b.counted >= low && b.counted-(at.attempted-b.moved.attempted) < low
	if now.Before(b.next) && !above && !below {
		return min(b.counted, most), nil
	}
	began := time.Now()
	n, err := store.CountDue(ctx, i.store, i.leases.shards(), store.Position{VisibleAt: from}, now.UnixMilli(), most)
	if err != nil {
		return n, err
	}
	took := time.Since(began)
	*b = backlog{counted: n, next: now.Add(min(countPart*took, countLeast)), moved: at}
	return n, nil
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
