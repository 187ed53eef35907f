package engine

import (
	"context"
	"log/slog"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/commit"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

// The node that commits the end of a task brings back the next task of its chain. If the node dies
// in between, or the store fails, the next task looks for itself after a while (minTurn).

// chainWorkers is the number of chains that are handled concurrently.
const chainWorkers = 8

// chains keeps the order of tasks with ordering keys.
type chains struct {
	store     store.Store
	log       *slog.Logger
	clock     *clock.Clock
	leases    *cluster.Member
	agenda    *agenda
	admin     *Admin
	deferrals *deferrals
	attempts  context.Context // ends when all attempts must end
	patience  context.Context // ends when a stop gives up waiting for the store
	work      *commit.Work    // a stop waits for it

	mu      locks.Mutex
	passing map[chain]passing // chains in which the turn may pass to another task
	wake    chan struct{}     // one element for each worker
	closed  bool
}

func (o *chains) init() {
	o.passing, o.wake = make(map[chain]passing), make(chan struct{}, chainWorkers)
	locks.Name(&o.mu, "chains")
}

// push queues a chain for the workers.
func (o *chains) push(c chain, p passing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if old, ok := o.passing[c]; ok {
		if old.unless != p.unless {
			p.unless = bellman.ID{}
		}
		p.superseded = p.superseded || old.superseded
	} else {
		o.work.Expect()
	}
	o.passing[c] = p
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take waits for a chain. ok is false after close.
func (o *chains) take() (c chain, p passing, ok bool) {
	for {
		o.mu.Lock()
		for c, p = range o.passing {
			delete(o.passing, c)
			o.mu.Unlock()
			return c, p, true
		}
		closed := o.closed
		o.mu.Unlock()
		if closed {
			return c, p, false
		}
		<-o.wake
	}
}

// close ends take when the queue is empty.
func (o *chains) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	close(o.wake)
}
