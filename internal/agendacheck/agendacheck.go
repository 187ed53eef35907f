// Package agendacheck compares what an engine has in memory with what its store says is due. It is for
// tests, which call it again and again while time is fake. The comparison belongs to package engine,
// which must be linked in.
package agendacheck

import (
	"context"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A Gap is a task that the engine will not attempt in time, by what it has in memory, although the
// store says that the task is due. A gap for a moment is normal: the task may be on its way.
type Gap struct {
	ID      bellman.ID
	Version uint32
	Look    time.Time
	Due     time.Time
	Why     string // what the engine believes
}

func (g Gap) String() string {
	return fmt.Sprintf("task %s, due %s, look %s: %s", g.ID, g.Due.UTC().Format(time.StampMilli), g.Look.UTC().Format(time.StampMilli), g.Why)
}

// Store is where the comparison reads. It should be the engine's store without the faults of a test.
type Store interface {
	Due(ctx context.Context, shards []uint16, after store.Position, until int64, limit int, buf []store.Entry) ([]store.Entry, error)
	Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error)
}

// Gaps returns the gaps of an *engine.Engine at this moment, in no order. It sees the first most tasks
// of the store's due index. ok is false while the engine is not running, or is busy reading.
// Package engine sets it.
var Gaps func(ctx context.Context, engine any, store Store, most int) (gaps []Gap, ok bool)

// A Watch remembers gaps, to tell those that last. The zero Watch remembers none. It belongs to one
// engine and one goroutine.
type Watch struct {
	since map[Gap]time.Time
}

// Look compares once, and returns the gaps that every Look has seen for at least so long. While the
// engine cannot be compared, the gaps seen before are kept.
func (w *Watch) Look(ctx context.Context, engine any, store Store, most int, atLeast time.Duration) (lasting []Gap) {
	gaps, ok := Gaps(ctx, engine, store, most)
	if !ok {
		return nil
	}
	now := time.Now()
	seen := make(map[Gap]time.Time, len(gaps))
	for _, g := range gaps {
		first, known := w.since[g]
		if !known {
			first = now
		}
		seen[g] = first
		if now.Sub(first) >= atLeast {
			lasting = append(lasting, g)
		}
	}
	w.since = seen
	return lasting
}

// Forget makes the Watch forget the gaps seen so far: the store or the engine is in trouble, in which
// gaps may last.
func (w *Watch) Forget() { w.since = nil }
