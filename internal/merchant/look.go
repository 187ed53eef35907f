package merchant

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/store"
	"golang.org/x/sync/singleflight"
)

// looking is how changes by other processes are found: in a few documents, one a
// part, which say no more than that something of the part changed.
type looking struct {
	stir  chan struct{} // wakes Run
	asked atomic.Int64  // when a merchant was asked for last, Unix ms
	tried atomic.Int64  // when somebody looked last, Unix ms; 0: never

	looks singleflight.Group

	mu   sync.Mutex
	seen map[string]string // the documents as they were last
}

// fresh looks for changes if nobody did for a while: at the first use after a rest,
// for Run goes on looking only while merchants are used.
func (r *Registry) fresh(ctx context.Context, at time.Time) {
	if r.alone {
		return
	}
	l := &r.looking
	now := at.UnixMilli()
	if asked := l.asked.Load(); now-asked > 100 {
		l.asked.Store(now)
	}
	if now-l.tried.Load() <= lookEvery.Milliseconds() || r.cache.empty() {
		return
	}
	done := l.looks.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		return nil, r.look(ctx)
	})
	select {
	case result := <-done:
		if result.Err != nil {
			r.log.Warn("changes of merchants cannot be read", "err", result.Err)
		}
	case <-ctx.Done():
	}
}

// look finds which parts changed since it looked last.
func (r *Registry) look(ctx context.Context) error {
	l := &r.looking
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried.Store(time.Now().UnixMilli())
	docs, err := r.store.Docs(ctx, store.DocFilter{Kind: changeKind}, parts+1)
	if err != nil {
		return fmt.Errorf("read what changed of merchants: %w", err)
	}
	for _, d := range docs {
		value := string(d.Value)
		if l.seen[d.Name] == value {
			continue
		}
		l.seen[d.Name] = value
		var part uint8
		if _, err := fmt.Sscanf(d.Name, "%02x", &part); err == nil {
			r.forget(part)
		}
	}
	return nil
}

// forget makes everything of a part be read again at its next use.
func (r *Registry) forget(part uint8) {
	numbers := r.cache.in(part)
	r.cache.marks[part].Add(1)
	if r.changed == nil {
		return
	}
	for _, no := range numbers {
		r.changed(no)
	}
}

// Stir says that another process changed something: Run looks at once.
func (r *Registry) Stir() {
	select {
	case r.looking.stir <- struct{}{}:
	default:
	}
}

// Run looks for changes by other processes until ctx ends, as long as merchants are
// asked for: what waits for a merchant hears of its new address even while nothing
// is sent to it. Told to stop, it returns nil.
func (r *Registry) Run(ctx context.Context) error {
	if r.alone {
		<-ctx.Done()
		return nil
	}
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for {
		stirred := false
		select {
		case <-ctx.Done():
			return nil
		case <-r.looking.stir:
			stirred = true
		case <-timer.C:
			timer.Reset(lookEvery)
		}
		l := &r.looking
		now := time.Now().UnixMilli()
		idle := now-l.asked.Load() > lookFor.Milliseconds() || r.cache.empty()
		if idle || !stirred && now-l.tried.Load() < lookEvery.Milliseconds()/2 {
			continue
		}
		within, cancel := context.WithTimeout(ctx, readTimeout)
		err := r.look(within)
		cancel()
		if err != nil && ctx.Err() == nil {
			r.log.Warn("changes of merchants cannot be read", "err", err)
		}
	}
}
