package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
)

// life is the state of the engine: before Run, running, stopping.
type life struct {
	log      *slog.Logger
	ran      atomic.Bool   // Run was called
	waited   atomic.Bool   // the log says that a call waits for Run
	started  chan struct{} // closed when Run has claimed its shards, or failed
	stopping atomic.Bool

	// patience ends when a stop gives up waiting for a store that accepts nothing.
	patience  context.Context
	impatient context.CancelFunc
}

// waitsLong is how long a call waits for Run before the log says so.
const waitsLong = 5 * time.Second

func newLife(log *slog.Logger) *life {
	l := &life{log: log, started: make(chan struct{})}
	l.patience, l.impatient = context.WithCancel(context.Background())
	return l
}

// running waits until the engine runs. It returns nil then, ErrClosed during a stop, or the cause
// of ctx.
func (l *life) running(ctx context.Context) error {
	select {
	case <-l.started:
	default:
		warn := time.AfterFunc(waitsLong, l.warn)
		defer warn.Stop()
		select {
		case <-l.started:
		case <-ctx.Done():
			return fmt.Errorf("the engine has not started: call Engine.Run: %w", context.Cause(ctx))
		}
	}
	if l.stopping.Load() {
		return bellman.ErrClosed
	}
	return nil
}

// warn logs that a call waits for Run, the first time.
func (l *life) warn() {
	if !l.waited.Swap(true) {
		l.log.Warn("a call waits for Engine.Run, which is not running yet")
	}
}
