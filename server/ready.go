package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/store"
)

// A front is the engine as the API and the console see it: it is ready when its store is ready too,
// and it can pause any possible endpoint, whether the endpoint has had tasks or not.
type front struct {
	*engine.Engine
	server *Server
}

// Ready asks the store and the engine. A node is not ready while the store rejects every write,
// although all nodes have the same store: API.md promises that a ready node attempts tasks, a
// rollout must not go on then, and creates would be answered 503 anyway.
func (f front) Ready(ctx context.Context) error {
	_, err := f.server.probe.ready(ctx)
	return err
}

// Decide also keeps the alarm about a decision that changed something.
func (f front) Decide(ctx context.Context, id bellman.ID, with bellman.Completion, by bellman.By) (*bellman.Task, error) {
	t, err := f.Engine.Decide(ctx, id, with, by)
	if err == nil {
		f.server.alarms.Keep(context.WithoutCancel(ctx), t)
	}
	return t, err
}

const (
	probeEvery  = time.Second     // shortest time between two checks of a store
	probeWithin = 2 * time.Second // longest time of a check
	watchEvery  = 5 * time.Second // between two checks that nobody asks for
)

// secrets are those of a registry. Ready returns nil if they can be opened.
type secrets interface {
	Ready(ctx context.Context) error
}

// A probe checks whether a store answers.
type probe struct {
	store  store.Store
	engine interface {
		Ready(ctx context.Context) error
		Intake() figures.Intake
	}
	secrets []secrets // what must be open
	log     *slog.Logger

	mu   sync.Mutex // held during a check: later callers wait for the same answer
	at   time.Time
	last error

	noting sync.Mutex
	noted  error     // the last answer of ready
	since  time.Time // when ready began to give answers like it
}

// ready returns why the node is not ready, or ErrFull if only new tasks are rejected, and since
// when.
func (p *probe) ready(ctx context.Context) (since time.Time, err error) {
	if err = p.ask(ctx); err == nil || errors.Is(err, bellman.ErrFull) { // otherwise the store's error is more precise
		if not := p.engine.Ready(ctx); not != nil {
			err = not
		}
	}
	full := p.engine.Intake().Full
	if err == nil && !full.IsZero() {
		err = bellman.ErrFull
	}
	p.noting.Lock()
	defer p.noting.Unlock()
	if (err == nil) != (p.noted == nil) || errors.Is(err, bellman.ErrFull) != errors.Is(p.noted, bellman.ErrFull) {
		p.since = time.Now()
		if errors.Is(err, bellman.ErrFull) && !full.IsZero() {
			p.since = full
		}
	}
	p.noted = err
	return p.since, err
}

// ask returns nil if the store has answered lately, and ErrFull if it has no room.
func (p *probe) ask(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at.IsZero() || time.Since(p.at) >= probeEvery {
		// The caller may go away, but others wait for the same answer.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeWithin)
		defer cancel()
		err := p.look(ctx)
		for _, kept := range p.secrets {
			if err == nil {
				err = kept.Ready(ctx)
			}
		}
		switch unreachable := errors.Is(err, bellman.ErrUnreachable); {
		case unreachable && !errors.Is(p.last, bellman.ErrUnreachable):
			p.log.Error("the database cannot be reached", "err", oneLine(err))
		case !unreachable && errors.Is(p.last, bellman.ErrUnreachable):
			p.log.Info("the database answers again")
		case registry.IsMissingMaster(err) && !registry.IsMissingMaster(p.last):
			p.log.Error("stored secrets cannot be opened", "err", err)
		}
		p.last, p.at = withoutDetails(err), time.Now()
	}
	return p.last
}

// watch asks until ctx ends, so that the log names an outage although nobody reads /readyz, and its
// begin is known.
func (p *probe) watch(ctx context.Context) error {
	every := time.NewTicker(watchEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
			p.ready(ctx)
		}
	}
}

// withoutDetails returns a database error without addresses and names, for callers without a key.
// The log has them.
func withoutDetails(err error) error {
	var why syscall.Errno
	switch {
	case !errors.Is(err, bellman.ErrUnreachable):
		return err
	case errors.As(err, &why):
		return fmt.Errorf("%w: %w", bellman.ErrUnreachable, why)
	}
	return fmt.Errorf("%w: the log says why", bellman.ErrUnreachable)
}

func (p *probe) look(ctx context.Context) error {
	if embedded, is := store.As[store.Health](p.store); is {
		return embedded.Health()
	}
	_, err := p.store.Docs(ctx, store.DocFilter{Kind: "ready"}, 1)
	if err != nil && !errors.Is(err, bellman.ErrClosed) && !errors.Is(err, bellman.ErrUnreachable) {
		err = fmt.Errorf("%w: %w", bellman.ErrUnreachable, err) // it did not answer in time, or answers nonsense
	}
	return err
}
