package registry

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
	"golang.org/x/sync/singleflight"
)

// looking finds changes by other processes. It reads one small document for each part, which only
// says that something in the part has changed.
type looking struct {
	stir  sleep.Waker  // wakes Run
	asked atomic.Int64 // when an entry was last used, Unix ms
	tried atomic.Int64 // when changes were last looked for, Unix ms; 0: never

	looks singleflight.Group

	mu   sync.Mutex
	seen map[string]string // the documents of the parts as last read
}

// fresh looks for changes if nobody did for a while: Run looks only while entries are used.
func (r *Registry[T, P, K]) fresh(ctx context.Context, at time.Time) {
	if r.alone {
		return
	}
	l := &r.looking
	now := at.UnixMilli()
	if asked := l.asked.Load(); now-asked > 100 {
		l.asked.Store(now)
	}
	if now-l.tried.Load() <= lookEvery.Milliseconds() || r.cache.size() == 0 {
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
			r.log.Warn("changes of registered entries cannot be read", "kind", r.kind.Name, "err", result.Err)
		}
	case <-ctx.Done():
	}
}

// look finds the parts that changed since the last look.
func (r *Registry[T, P, K]) look(ctx context.Context) error {
	l := &r.looking
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried.Store(time.Now().UnixMilli())
	docs, err := r.store.Docs(ctx, store.DocFilter{Kind: r.kind.changeKind()}, parts+1)
	if err != nil {
		return fmt.Errorf("read what changed of each %s: %w", r.kind.Name, err)
	}
	for _, d := range docs {
		value := string(d.Value)
		if l.seen[d.Name] == value {
			continue
		}
		l.seen[d.Name] = value
		if part, is := r.kind.partOf(d); is {
			r.forget(part)
		}
	}
	return nil
}

// forget invalidates all entries of a part.
func (r *Registry[T, P, K]) forget(part uint8) {
	ids := r.cache.in(part)
	r.cache.marks[part].Add(1)
	if r.touched != nil {
		r.touched(func(key string) bool { return partOf(key) == part })
	}
	if r.changes == nil {
		return
	}
	for _, id := range ids {
		r.changes(id)
	}
}

// Refresh reports that another process changed something: Run looks at once.
func (r *Registry[T, P, K]) Refresh() { r.looking.stir.Wake() }

// Run looks for changes by other processes while entries are used, so that what waits learns of
// them. It returns nil when ctx ends.
func (r *Registry[T, P, K]) Run(ctx context.Context) error {
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
		idle := now-l.asked.Load() > lookFor.Milliseconds() || r.cache.size() == 0
		if idle || !stirred && now-l.tried.Load() < lookEvery.Milliseconds()/2 {
			continue
		}
		within, cancel := context.WithTimeout(ctx, readTimeout)
		err := r.look(within)
		cancel()
		if err != nil && ctx.Err() == nil {
			r.log.Warn("changes of registered entries cannot be read", "kind", r.kind.Name, "err", err)
		}
	}
}
