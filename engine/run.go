package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

const (
	storeTimeout = time.Second      // how long a stop waits for a store that rejects everything
	stuckTimeout = 20 * time.Second // how long a stop waits for a call of the store that does not return
)

// Run attempts tasks until ctx ends. It then stops intake and new attempts, waits for attempts in
// flight (StopTimeout at most), commits their outcomes, releases its shards and returns nil.
// Attempts that it interrupts are repeated after the next start.
//
// If the store accepts nothing, Run gives up one second after StopTimeout; attempts that were not
// recorded are repeated after the next start. If a call of the store does not return at all, Run
// returns an error 20 s after StopTimeout and abandons that call. If a handler ignores the end of
// its context, Run waits for it. A node that is alone keeps its leases meanwhile, so that no other
// node attempts the same task concurrently. In a cluster another node attempts it 3 s after
// StopTimeout.
//
// Run can be called once. Any other error is the reason why the engine stopped.
func (e *Engine) Run(ctx context.Context) error {
	if e.life.ran.Swap(true) {
		return errors.New("engine: Run was called before")
	}
	outlive := context.WithoutCancel(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var loops, beats, commits sync.WaitGroup
	keep := func(g *sync.WaitGroup, ctx context.Context, loop func(context.Context) error) {
		g.Go(func() {
			if err := loop(ctx); err != nil {
				cancel(failure{err})
			}
		})
	}
	beating, stopBeating := context.WithCancel(outlive) // attempts in flight outlive ctx, and need their leases
	defer stopBeating()
	if err := e.start(outlive, func() { keep(&beats, beating, e.leases.KeepAlive) }); err != nil {
		stopBeating()
		beats.Wait()
		e.life.stopping.Store(true)
		close(e.life.started)
		e.committer.close()
		e.watch.close()
		return fmt.Errorf("engine: %w", err)
	}
	e.committer.run(outlive, &commits)
	for range chainWorkers {
		commits.Go(e.chains.passAll)
	}
	for _, loop := range []func(context.Context) error{e.runner.tick, e.loader.load, e.keepHouse, e.leases.Rebalance, e.leases.KeepShards} {
		keep(&loops, ctx, loop)
	}
	e.runner.ready.Store(true)
	close(e.life.started)
	<-ctx.Done()
	e.runner.ready.Store(false)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		e.stop(&loops, &commits)
		stopBeating()
		beats.Wait()
		e.leases.CloseHints()
		if e.committer.unrecorded.Load() {
			return // the shards become free when this node expires, and the next owner learns that attempts may have been in flight
		}
		if err := e.leases.Leave(outlive); err != nil && !errors.Is(err, bellman.ErrClosed) {
			e.log.Warn("shards cannot be released", "err", err)
		}
	}()
	if err := e.awaitStop(stopped); err != nil {
		return err
	}
	if why, is := errors.AsType[failure](context.Cause(ctx)); is { // a cause of the caller is no failure
		return fmt.Errorf("engine: %w", why.error)
	}
	return nil
}

// awaitStop waits until stopped is closed. It returns an error if a call of the store does not
// return. While handlers are running, it waits on.
func (e *Engine) awaitStop(stopped <-chan struct{}) error {
	limit := e.options.StopTimeout + stuckTimeout
	stuck := time.NewTimer(limit)
	defer stuck.Stop()
	for {
		select {
		case <-stopped:
			return nil
		case <-stuck.C:
			if e.runner.handling.Load() == 0 {
				return fmt.Errorf("engine: a call of the store has not returned %v after the stop; attempts that are not recorded are made again after the next start", limit)
			}
			stuck.Reset(stuckTimeout)
		}
	}
}

// A failure is the reason why the engine stops by itself.
type failure struct{ error }

// start joins the cluster, claims shards and counts the pending work. All of that may take longer
// than a lease, so it calls joined when heartbeats must begin.
func (e *Engine) start(ctx context.Context, joined func()) error {
	state, err := e.store.State(ctx, "")
	if err != nil {
		return fmt.Errorf("read shards: %w", err)
	}
	var found Resumed
	for _, s := range state.Shards {
		found.Crashed = found.Crashed || s.Owner != "" && !s.Alive
	}
	if err := e.leases.Rejoin(ctx); err != nil {
		return err
	}
	joined()
	if err := e.leases.Look(ctx, true); err != nil {
		return err
	}
	if err := e.alone(ctx, len(state.Shards)); err != nil {
		return err
	}
	depths, err := e.store.Depths(ctx)
	if err != nil {
		return fmt.Errorf("count tasks: %w", err)
	}
	for _, d := range depths {
		found.Pending += d.Pending
		if _, ok := e.rules.queue(d.Queue); !ok && d.Pending > 0 {
			e.unknownQueues.hold(d.Queue)
		}
	}
	now := e.clock.Now().UnixMilli()
	if found.Due, err = e.countDue(ctx, now); err != nil {
		return err
	}
	e.resumed.Store(&found)
	e.log.Info("started", "pending", found.Pending, "due", found.Due, "after_crash", found.Crashed, "shards", len(e.leases.Shards()))
	return nil
}

// countDue counts due tasks up to 100,000. If that takes too long, it counts those of the last
// recentPast.
func (e *Engine) countDue(ctx context.Context, now int64) (int64, error) {
	within, cancel := context.WithTimeout(ctx, sweepPatience)
	defer cancel()
	n, err := store.CountDue(within, e.store, e.leases.Shards(), store.Position{}, now, 100_000)
	if err != nil && within.Err() != nil {
		n, err = store.CountDue(ctx, e.store, e.leases.Shards(), store.Position{VisibleAt: now - recentPast.Milliseconds()}, now, 100_000)
	}
	return n, err
}

// alone waits until this engine has all shards of an exclusive store. The shards of an engine that
// stopped without releasing them become free when its registration expires. alone returns an error
// if another engine has them: in an exclusive store neither would look for the tasks that the other
// adds.
func (e *Engine) alone(ctx context.Context, shards int) error {
	if !e.leases.Sole() {
		return nil
	}
	for deadline := time.Now().Add(2 * store.LeaseTTL); len(e.leases.Shards()) < shards; {
		if time.Now().After(deadline) {
			return errors.Join(errors.New("another engine uses this store: want one engine for it"), e.leases.Leave(ctx))
		}
		sleep.For(ctx, store.LeaseBeat)
		if err := e.leases.Look(ctx, true); err != nil {
			return err
		}
	}
	return nil
}

// stop ends an engine in order: intake, new attempts, attempts in flight, uncommitted outcomes.
func (e *Engine) stop(loops, commits *sync.WaitGroup) {
	e.runner.starting.Lock()
	e.life.stopping.Store(true)
	e.runner.starting.Unlock()
	defer time.AfterFunc(e.options.StopTimeout+storeTimeout, e.life.impatient).Stop()
	loops.Wait()
	var giving sync.WaitGroup
	if !e.leases.Sole() {
		giving.Go(func() { e.leases.Depart(e.life.patience) })
	}
	landed := make(chan struct{})
	go func() {
		e.runner.flights.Wait()
		e.runner.workers.close()
		close(landed)
	}()
	timer := time.NewTimer(e.options.StopTimeout)
	defer timer.Stop()
	select {
	case <-landed:
	case <-timer.C:
		e.log.Warn("attempts in flight are interrupted; they are repeated after the next start", "in_flight", e.dispatch.Totals().InFlight)
		e.runner.cutOff()
		<-landed
	}
	hurry := time.AfterFunc(storeTimeout, e.life.impatient)
	defer hurry.Stop()
	defer e.life.impatient()
	e.committer.outcomes.Hasten()
	e.committer.todo.Wait()
	giving.Wait()
	e.runner.cutOff()
	e.committer.close()
	e.chains.close()
	commits.Wait()
	e.watch.close()
}
