package engine

import (
	"context"
	"log/slog"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

// intake decides whether new tasks are accepted: not while too many wait, or while the heap is too
// large.
type intake struct {
	store     store.Store
	log       *slog.Logger
	leases    *cluster.Member
	loader    *loader
	dispatch  *dispatch.D[*item]
	committer *committer
	flow      Flow
	spare     func() // drops caches, so that a heap full of them does not keep intake closed

	backlog    backlog
	overloaded atomic.Bool
	tight      atomic.Bool                    // the heap is above seven eighths of flow.Heap
	last       atomic.Pointer[figures.Intake] // the last measurement; nil before the first
	crowdedAt  atomic.Int64                   // value of netAdded at which the next measurement is due
	crowded    sleep.Waker                    // wakes keepHouse for that measurement
}

// state returns the last measurement, or a new one if more than the high mark wait in memory.
func (i *intake) state() figures.Intake {
	last := i.last.Load()
	if last == nil {
		return figures.Intake{Open: true, High: i.flow.High, Low: i.flow.Low, HeapHigh: i.flow.Heap, Full: i.committer.full()}
	}
	if waiting := i.inMemory(); last.Open && waiting > last.High {
		i.meter(waiting, last.Heap)
		last = i.last.Load()
	}
	now := *last
	now.Full = i.committer.full()
	return now
}

// inMemory returns how many tasks wait in lines or for a commit.
func (i *intake) inMemory() int { return i.dispatch.Totals().Waiting + i.committer.uncommitted() }

// netAdded is the number of added tasks minus the number of attempts, since the start.
func (i *intake) netAdded() int64 { return i.committer.added.Load() - i.committer.attempted.Load() }

// limit closes intake above the high mark and opens it below the low mark. Deferred tasks do not
// count: a merchant that is down, or a paused queue, is no reason to reject the others.
func (i *intake) limit(ctx context.Context, now time.Time) {
	net := i.netAdded()
	waiting := i.inMemory()
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

// crowd requests a measurement at once if the tasks added since the last may have crossed the high
// mark.
func (i *intake) crowd() {
	if i.overloaded.Load() || i.netAdded() < i.crowdedAt.Load() {
		return
	}
	i.crowded.Wake()
}

// meter closes intake above a high mark, opens it below the low marks, and stores the measurement.
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
		i.log.Warn("overloaded: new tasks are rejected", "waiting", waiting, "high", f.High, "heap_bytes", heap, "heap_high_bytes", f.Heap)
	case waiting < f.Low && (f.Heap == 0 || heap < f.Heap/8*7) && i.overloaded.Swap(false):
		i.log.Info("no longer overloaded", "waiting", waiting, "low", f.Low, "heap_bytes", heap)
	}
	is.Open = !i.overloaded.Load()
	i.last.Store(&is)
}

// A backlog estimates how many overdue tasks wait on disk. A count costs time in proportion to
// their number. So it runs for a small part of the time, and at once if the tasks added or
// attempted since the last count may have crossed a mark. It belongs to one goroutine.
type backlog struct {
	counted int64     // result of the last count
	next    time.Time // when to count again
	moved   moved     // totals at the last count
}

// moved counts added tasks and attempts since the start of the engine.
type moved struct{ added, attempted int64 }

const (
	countPart  = 100 // counting takes one hundredth of the time at most
	countLeast = 10 * time.Second
)

// overdue returns how many overdue tasks wait on disk from a VisibleAt on, up to most. The count
// may be up to ten seconds old. full means that intake is closed until there are fewer than low.
func (b *backlog) overdue(ctx context.Context, i *intake, from int64, now time.Time, most, low int64, full bool) (int64, error) {
	at := moved{i.committer.added.Load(), i.committer.attempted.Load()}
	above := !full && b.counted < most && b.counted+at.added-b.moved.added >= most
	below := full && b.counted >= low && b.counted-(at.attempted-b.moved.attempted) < low
	if now.Before(b.next) && !above && !below {
		return min(b.counted, most), nil
	}
	began := time.Now()
	n, err := store.CountDue(ctx, i.store, i.leases.Shards(), store.Position{VisibleAt: from}, now.UnixMilli(), most)
	if err != nil {
		b.next = now.Add(countLeast)
		return n, err
	}
	took := time.Since(began)
	*b = backlog{counted: n, next: now.Add(min(countPart*took, countLeast)), moved: at}
	return n, nil
}

// liveHeap is the live heap in bytes after the last garbage collection.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
