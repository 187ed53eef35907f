package engine

import (
	"context"
	"errors"
	"time"

	"github.com/bellmanhq/bellman"
)

const (
	houseEvery  = time.Second
	sweepEvery  = 30 * time.Second // the dispatcher forgets idle endpoints
	pruneEvery  = 10 * time.Second
	pruneIdle   = time.Minute // after a prune that deleted nothing
	pruneBatch  = 500
	pruneAtOnce = 20 // batches of one state before other work, at most
)

// keepHouse is the goroutine for periodic work.
func (e *Engine) keepHouse(ctx context.Context) error {
	ticker := time.NewTicker(houseEvery)
	defer ticker.Stop()
	var swept, prune time.Time // the last sweep; the next prune
	step := wallStep{leases: e.leases, log: e.log}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.intake.crowded:
			e.intake.limit(ctx, e.clock.Now())
			continue
		case <-ticker.C:
		}
		e.clock.Follow(houseEvery, step.believe)
		now := e.clock.Now()
		e.intake.limit(ctx, now)
		if claimed, gave := e.leases.Moved(); claimed+gave > 0 {
			e.log.Info("shards moved", "claimed", claimed, "given_back", gave, "shards", len(e.leases.Shards()))
		}
		e.unknownQueues.say(now)
		if now.Sub(swept) >= sweepEvery {
			swept = now
			e.dispatch.Sweep(now.UnixNano())
		}
		if !now.Before(prune) && e.Leads() {
			prune = now.Add(e.prune(ctx, now))
		}
	}
}

// prune deletes a few batches of tasks whose retention is over. It returns how
// long to wait before the next prune.
func (e *Engine) prune(ctx context.Context, now time.Time) (again time.Duration) {
	r := e.options.Retention
	again = pruneIdle
	for state, keep := range map[bellman.State]time.Duration{
		bellman.Succeeded: r.Succeeded,
		bellman.Failed:    r.Failed,
		bellman.Cancelled: r.Cancelled,
	} {
		if keep == 0 {
			continue
		}
		full := 0
		for range pruneAtOnce {
			n, err := e.store.Prune(ctx, state, now.Add(-keep), pruneBatch)
			if err != nil && ctx.Err() == nil && !errors.Is(err, bellman.ErrClosed) {
				e.log.Error("old tasks cannot be deleted", "state", state, "err", err)
			}
			if err != nil || n > 0 {
				again = min(again, pruneEvery)
			}
			if err != nil || n < pruneBatch {
				break
			}
			full++
		}
		if full == pruneAtOnce {
			again = 0 // there are more
		}
	}
	return again
}
