// Package agendacheck compares the agenda of an engine with the due tasks in its store. Tests call
// it repeatedly, in simulated time. Package engine makes the comparison, so it must be linked in.
package agendacheck

import (
	"context"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A Gap is a task that is due in the store, but that the engine's agenda has lost. A gap for a
// moment is normal, because the task may be on its way.
type Gap struct {
	ID        bellman.ID
	Version   uint32
	VisibleAt time.Time
	Due       time.Time
	Why       string // the engine's state of the task
}

func (g Gap) String() string {
	return fmt.Sprintf("task %s, due %s, visible %s: %s", g.ID, g.Due.UTC().Format(time.StampMilli), g.VisibleAt.UTC().Format(time.StampMilli), g.Why)
}

// Store is what the comparison reads. It should be the engine's store without the faults that a
// test injects.
type Store interface {
	Due(ctx context.Context, shards []uint16, after store.Position, until int64, limit int, buf []store.Entry) ([]store.Entry, error)
	Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error)
}

// Gaps returns the gaps of an *engine.Engine at this moment, in no order. It sees the first most
// tasks of the store's due index. ok is false while the engine is not running, or is busy reading.
// Package engine sets it.
var Gaps func(ctx context.Context, engine any, store Store, most int) (gaps []Gap, ok bool)

// A Watch remembers gaps, to find those that last. The zero Watch remembers none. It is for one
// engine and one goroutine.
type Watch struct {
	since map[Gap]time.Time
}

// Look compares once. It returns the gaps that every Look has seen for at least atLeast. While the
// engine cannot be compared, earlier gaps are kept.
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

// Forget makes the Watch forget all gaps. Call it while the store or the engine is in trouble,
// because gaps may last then.
func (w *Watch) Forget() { w.since = nil }
