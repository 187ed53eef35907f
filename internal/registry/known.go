package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A held is a cache entry for one ID.
type held[K any] struct {
	known K      // the zero K: there is no such entry
	mark  uint64 // the mark of its part when it was read
	read  time.Time
	until time.Time // it must be read again from then on; zero: no limit
}

// A cache holds a bounded number of entries, and of IDs without an entry. When it is full, it drops
// what was read long ago. Anybody can name IDs that do not exist, for example in forged notices. So
// such IDs displace entries only until they have an eighth of the cache.
type cache[K any] struct {
	most  int
	marks [parts]atomic.Uint64 // each grows when an entry of its part changes

	mu      sync.RWMutex
	known   map[string]*held[K] // entries
	unknown map[string]*held[K] // IDs without an entry
}

// get returns the entry of an ID, and whether it is still valid.
func (c *cache[K]) get(id string, now time.Time) (*held[K], bool) {
	c.mu.RLock()
	h := cmp.Or(c.known[id], c.unknown[id])
	c.mu.RUnlock()
	if h == nil || h.mark != c.marks[partOf(id)].Load() || !h.until.IsZero() && !now.Before(h.until) {
		return nil, false
	}
	return h, true
}

// put stores what is known of an ID: its entry, or that there is none.
func (c *cache[K]) put(id string, h *held[K], exists bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, id)
	delete(c.unknown, id)
	if len(c.known)+len(c.unknown) >= c.most {
		if len(c.unknown) > c.most/8 {
			drop(c.unknown)
		} else {
			drop(c.known)
		}
	}
	if exists {
		c.known[id] = h
	} else {
		c.unknown[id] = h
	}
}

// drop deletes one of a few random IDs: the one that was read first. A dropped entry costs one read
// when it is needed again. Iteration over a map starts at a random place.
func drop[K any](from map[string]*held[K]) {
	const few = 8
	var oldest string
	var at time.Time
	n := 0
	for id, h := range from {
		if n == 0 || h.read.Before(at) {
			oldest, at = id, h.read
		}
		if n++; n == few {
			break
		}
	}
	delete(from, oldest)
}

// in returns the cached IDs of a part.
func (c *cache[K]) in(part uint8) (ids []string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, all := range [...]map[string]*held[K]{c.known, c.unknown} {
		for id := range all {
			if partOf(id) == part {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func (c *cache[K]) size() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.known) + len(c.unknown)
}

// Get returns an entry as it is used, at most a second old, or the zero K if there is none with
// that ID. It reads the store only if the entry is not cached. If the store does not answer, a
// cached entry is returned until it is a minute old, then the error.
func (r *Registry[T, P, K]) Get(ctx context.Context, id string) (K, error) {
	var none K
	if id == "" {
		return none, nil
	}
	now := time.Now()
	r.fresh(ctx, now)
	if h, ok := r.cache.get(id, now); ok {
		return h.known, nil
	}
	read := r.loads.DoChan(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		return r.load(ctx, id)
	})
	select {
	case result := <-read:
		if result.Err != nil {
			return none, result.Err
		}
		return result.Val.(*held[K]).known, nil
	case <-ctx.Done():
		return none, fmt.Errorf("read %s %s: %w", r.kind.Name, id, context.Cause(ctx))
	}
}

// load reads an entry from the store.
func (r *Registry[T, P, K]) load(ctx context.Context, id string) (*held[K], error) {
	h := &held[K]{mark: r.cache.marks[partOf(id)].Load(), read: time.Now()}
	if !r.alone {
		h.until = h.read.Add(trustFor)
	}
	e, err := r.read(ctx, id)
	switch {
	case errors.Is(err, bellman.ErrNotFound):
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", r.kind.Name, id, err)
	default:
		active, changes := P(&e).head().Active(h.read)
		h.known = r.kind.Know(&e, active)
		if !changes.IsZero() && (h.until.IsZero() || changes.Before(h.until)) {
			h.until = changes
		}
	}
	r.cache.put(id, h, err == nil)
	return h, nil
}

// read reads an entry from the store. It returns bellman.ErrNotFound if there is none.
func (r *Registry[T, P, K]) read(ctx context.Context, id string) (T, error) {
	doc, err := store.ReadDoc(ctx, r.store, r.kind.Name, id)
	if err != nil {
		var none T
		return none, err
	}
	return r.parse(doc)
}

// Mark changes when an entry with that ID changes, or one that touches that key. Sometimes it
// changes without a reason.
func (r *Registry[T, P, K]) Mark(ctx context.Context, key string) uint64 {
	r.fresh(ctx, time.Now())
	return r.cache.marks[partOf(key)].Load()
}

// Known returns the number of cached IDs.
func (r *Registry[T, P, K]) Known() int { return r.cache.size() }
