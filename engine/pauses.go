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
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

// pauses are the paused queues, endpoints and merchants.
type pauses struct {
	store     store.Store
	clock     *clock.Clock
	leases    *cluster.Member
	dispatch  *dispatch.D[*item]
	committer *committer
	life      *life
	resumed   func() // called when something is not paused any more

	changing locks.Chan // held by code that changes a pause

	mu locks.RWMutex
	m  map[string]*figures.Pause // by "queue/NAME", "endpoint/NAME" or "merchant/NUMBER"

	merchants atomic.Int64 // number of paused merchants
}

func (p *pauses) pause(ctx context.Context, target string, by bellman.By) error {
	if err := p.life.running(ctx); err != nil {
		return err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	if old := p.get(target); old != nil && by.Reason == "" {
		return nil // it is paused already, by somebody who said why
	}
	now := figures.Pause{At: p.clock.Now().Truncate(time.Millisecond), Who: by.Who, Reason: by.Reason}
	value, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if err := p.mark(ctx, target, "pause", value, by); err != nil {
		return err
	}
	p.set(target, &now)
	p.apply(target, true)
	return nil
}

func (p *pauses) resume(ctx context.Context, target string, by bellman.By) error {
	if err := p.life.running(ctx); err != nil {
		return err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	switch _, err := store.ReadDoc(ctx, p.store, pauseKind, target); {
	case errors.Is(err, bellman.ErrNotFound) && p.get(target) == nil:
		return fmt.Errorf("resume %s: %w", target, bellman.ErrNotPaused)
	case err != nil && !errors.Is(err, bellman.ErrNotFound):
		return fmt.Errorf("resume %s: %w", target, err)
	}
	if err := p.mark(ctx, target, "resume", nil, by); err != nil {
		return err
	}
	p.set(target, nil)
	p.apply(target, false)
	p.resumed()
	return nil
}

// mark stores a pause with its audit record; without a value it deletes the pause.
func (p *pauses) mark(ctx context.Context, target, action string, value []byte, by bellman.By) error {
	err := p.committer.do(ctx, &op{
		docs:   []store.Doc{{Kind: pauseKind, Name: target, Value: value}},
		audits: []store.Audit{store.AuditOf(by, p.clock.Now(), action, target)},
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", action, target, err)
	}
	p.leases.TellAll(cluster.Hint{Docs: []string{pauseKind}})
	return nil
}

func (p *pauses) init() {
	p.changing = locks.NewChan("pauses.changing")
	locks.Name(&p.mu, "pauses")
}

func (p *pauses) set(target string, value *figures.Pause) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.m == nil {
		p.m = make(map[string]*figures.Pause)
	}
	before := len(p.m)
	if value == nil {
		delete(p.m, target)
	} else {
		p.m[target] = value
	}
	if isMerchantTarget(target) {
		p.merchants.Add(int64(len(p.m) - before))
	}
}

func (p *pauses) get(target string) *figures.Pause {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.m[target]
}

// merchant returns the pause of a merchant, or nil.
func (p *pauses) merchant(no string) *figures.Pause {
	if p.merchants.Load() == 0 {
		return nil
	}
	return p.get(merchantTarget + no)
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

// reading is called before the pauses are read from the store, and its result afterwards. So a
// pause that this node writes in between is not undone.
func (p *pauses) reading() (obey func([]store.Doc, error) error) {
	if !p.changing.TryLock() {
		return func(_ []store.Doc, err error) error { return err }
	}
	return func(docs []store.Doc, err error) error {
		defer p.changing.Unlock()
		if err != nil {
			return err
		}
		return p.obeyAll(docs)
	}
}

// obeyAll applies the pauses in the documents, whichever node wrote them, and ends all others. The
// caller holds changing since before the documents were read.
func (p *pauses) obeyAll(docs []store.Doc) error {
	found := make(map[string]*figures.Pause, len(docs))
	for _, d := range docs {
		found[d.Name] = new(figures.Pause)
		if err := json.Unmarshal(d.Value, found[d.Name]); err != nil {
			return fmt.Errorf("read the pause of %s: %w", d.Name, err)
		}
	}
	had := p.all()
	for target, now := range found {
		p.set(target, now)
		if had[target] == nil {
			p.apply(target, true)
		}
	}
	resumed := false
	for target := range had {
		if found[target] == nil {
			p.set(target, nil)
			p.apply(target, false)
			resumed = true
		}
	}
	if resumed {
		p.resumed()
	}
	return nil
}

func (p *pauses) apply(target string, on bool) {
	kind, name, _ := strings.Cut(target, "/")
	now := p.clock.Now().UnixNano()
	switch {
	case kind == "queue" && on:
		p.dispatch.PauseQueue(now, name)
	case kind == "queue":
		p.dispatch.ResumeQueue(now, name)
	case kind == "merchant": // checked before each attempt
	case on:
		p.dispatch.PauseEndpoint(now, name)
	default:
		p.dispatch.ResumeEndpoint(now, name)
	}
}

// restore pauses or resumes a target as it should be, for a caller that does not hold changing.
func (p *pauses) restore(target string) {
	for {
		on := p.get(target) != nil
		p.apply(target, on)
		if on == (p.get(target) != nil) { // otherwise somebody changed it meanwhile
			return
		}
	}
}

const pauseKind = "pause" // of the documents of pauses
