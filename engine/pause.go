package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

const pauseKind = "pause" // of the documents that keep what is paused

// PauseQueue stops attempts of a queue's tasks until ResumeQueue, over restarts
// too. Tasks are accepted meanwhile, and their schedules wait.
func (e *Engine) PauseQueue(ctx context.Context, queue string, by bellman.By) error {
	if _, ok := e.queue(queue); !ok {
		return fmt.Errorf("queue %q: %w", queue, bellman.ErrNotFound)
	}
	return e.pause(ctx, "queue/"+queue, by)
}

// ResumeQueue ends PauseQueue; ErrNotPaused if there is nothing to end.
func (e *Engine) ResumeQueue(ctx context.Context, queue string, by bellman.By) error {
	if _, ok := e.queue(queue); !ok {
		return fmt.Errorf("queue %q: %w", queue, bellman.ErrNotFound)
	}
	return e.resume(ctx, "queue/"+queue, by)
}

// PauseEndpoint stops attempts to an endpoint (scheme://host:port) until
// ResumeEndpoint, over restarts too. The endpoint need not have tasks. A queue that is
// one endpoint is paused by PauseQueue.
func (e *Engine) PauseEndpoint(ctx context.Context, endpoint string, by bellman.By) error {
	return e.pause(ctx, "endpoint/"+endpoint, by)
}

// ResumeEndpoint ends PauseEndpoint; ErrNotPaused if there is nothing to end.
func (e *Engine) ResumeEndpoint(ctx context.Context, endpoint string, by bellman.By) error {
	return e.resume(ctx, "endpoint/"+endpoint, by)
}

func (e *Engine) pause(ctx context.Context, target string, by bellman.By) error {
	if err := e.running(ctx); err != nil {
		return err
	}
	e.pauses.turn.Lock()
	defer e.pauses.turn.Unlock()
	if old := e.pauses.get(target); old != nil && by.Reason == "" {
		return nil // it is paused already, by somebody who said why
	}
	p := figures.Pause{At: e.clock.now().Truncate(time.Millisecond), Who: by.Who, Reason: by.Reason}
	value, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := e.mark(ctx, target, "pause", value, by); err != nil {
		return err
	}
	e.pauses.set(target, &p)
	e.applyPause(target, true)
	return nil
}

func (e *Engine) resume(ctx context.Context, target string, by bellman.By) error {
	if err := e.running(ctx); err != nil {
		return err
	}
	e.pauses.turn.Lock()
	defer e.pauses.turn.Unlock()
	switch _, err := store.ReadDoc(ctx, e.store, pauseKind, target); {
	case errors.Is(err, bellman.ErrNotFound) && e.pauses.get(target) == nil:
		return fmt.Errorf("resume %s: %w", target, bellman.ErrNotPaused)
	case err != nil && !errors.Is(err, bellman.ErrNotFound):
		return fmt.Errorf("resume %s: %w", target, err)
	}
	if err := e.mark(ctx, target, "resume", nil, by); err != nil {
		return err
	}
	e.pauses.set(target, nil)
	e.applyPause(target, false)
	e.pump()
	e.comeBack()
	return nil
}

// mark keeps that something was paused, or with no value that it no longer is.
func (e *Engine) mark(ctx context.Context, target, action string, value []byte, by bellman.By) error {
	err := e.do(ctx, &op{
		docs:   []store.Doc{{Kind: pauseKind, Name: target, Value: value}},
		audits: []store.Audit{store.AuditOf(by, e.clock.now(), action, target)},
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", action, target, err)
	}
	e.hintAll(Hint{Docs: []string{pauseKind}})
	return nil
}

// pauses are the queues, endpoints and merchants that people stopped.
type pauses struct {
	turn turn // held by whoever changes what is paused

	mu locks.RWMutex
	m  map[string]*figures.Pause // by "queue/NAME", "endpoint/NAME" or "merchant/NUMBER"

	merchants atomic.Int64 // how many merchants are paused
}

func (p *pauses) set(target string, value *figures.Pause) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.m == nil {
		p.m = make(map[string]*figures.Pause)
	}
	if isMerchantTarget(target) {
		if _, was := p.m[target]; was != (value != nil) {
			p.merchants.Add(map[bool]int64{true: -1, false: 1}[was])
		}
	}
	if value == nil {
		delete(p.m, target)
		return
	}
	p.m[target] = value
}

func (p *pauses) get(target string) *figures.Pause {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.m[target]
}

// none reports whether nothing is paused.
func (p *pauses) none() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.m) == 0
}

func (p *pauses) all() map[string]*figures.Pause {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return maps.Clone(p.m)
}

// obeyPauses stops what the documents say is stopped, whoever stopped it, and lets
// go what is not. Call it with the turn, held since before they were read.
func (e *Engine) obeyPauses(docs []store.Doc) error {
	found := make(map[string]*figures.Pause, len(docs))
	for _, d := range docs {
		var p figures.Pause
		if err := json.Unmarshal(d.Value, &p); err != nil {
			return fmt.Errorf("read the pause of %s: %w", d.Name, err)
		}
		found[d.Name] = &p
	}
	had := e.pauses.all()
	for target, p := range found {
		e.pauses.set(target, p)
		if had[target] == nil {
			e.applyPause(target, true)
		}
	}
	resumed := false
	for target := range had {
		if found[target] == nil {
			e.pauses.set(target, nil)
			e.applyPause(target, false)
			resumed = true
		}
	}
	if resumed {
		e.pump()
		e.comeBack()
	}
	return nil
}

// Held says what is paused of a pending task's queue, merchant and endpoint, as audit
// records name it, so that it is not attempted for now; nil: nothing is.
func (e *Engine) Held(t *bellman.Task) (target string, p *figures.Pause) {
	targets := []string{"queue/" + t.Queue, "endpoint/" + t.Endpoint}
	if g := e.Route(t); g.Endpoint != "" {
		targets[1] = "endpoint/" + g.Endpoint
	}
	if q, _ := e.queue(t.Queue); t.MerchantNo != "" {
		if _, routed := routerOf(&q, t); routed {
			targets = append(targets, merchantTarget+t.MerchantNo)
		}
	}
	for _, target := range targets {
		if p := e.pauses.get(target); p != nil {
			return target, p
		}
	}
	return "", nil
}

func (e *Engine) applyPause(target string, on bool) {
	kind, name, _ := strings.Cut(target, "/")
	now := e.clock.now().UnixNano()
	switch {
	case kind == "queue" && on:
		e.dispatch.PauseQueue(now, name)
	case kind == "queue":
		e.dispatch.ResumeQueue(now, name)
	case kind == "merchant": // looked at before each attempt
	case on:
		e.dispatch.PauseEndpoint(now, name)
	default:
		e.dispatch.ResumeEndpoint(now, name)
	}
}
