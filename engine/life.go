package engine

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/bellmanhq/bellman"
)

// life is the state of the engine: before Run, running, stopping.
type life struct {
	ran      atomic.Bool   // Run was called
	started  chan struct{} // closed when Run has claimed its shards, or failed
	stopping atomic.Bool

	// patience ends when a stop gives up waiting for a store that accepts nothing.
	patience  context.Context
	impatient context.CancelFunc
}

func newLife() *life {
	l := &life{started: make(chan struct{})}
	l.patience, l.impatient = context.WithCancel(context.Background())
	return l
}

// running waits until the engine runs. It returns nil then, ErrClosed during a stop, or the cause
// of ctx.
func (l *life) running(ctx context.Context) error {
	select {
	case <-l.started:
	case <-ctx.Done():
		return fmt.Errorf("the engine has not started: %w", context.Cause(ctx))
	}
	if l.stopping.Load() {
		return bellman.ErrClosed
	}
	return nil
}
