package merchant

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/store"
)

// know prepares a merchant for use. end is when one of its secrets ends; zero: none does.
func (r *Registry) know(m *Merchant, now time.Time) (known deliver.Merchant, changes time.Time) {
	known = deliver.Merchant{
		Known: true, URL: m.NotifyURL, Success: m.Success, Schedule: m.Schedule, Timeout: m.Timeout, Concurrency: m.Concurrency, Rate: m.Rate,
	}
	active, changes := m.Sign.active(now)
	known.Signer, known.Unable = signer(r.masters, m.No, &m.Sign, active)
	if known.Unable != nil {
		known.Unable = fmt.Errorf("merchant %s: %w", m.No, known.Unable)
	}
	return known, changes
}

// A held is a cache entry for one number.
type held struct {
	known deliver.Merchant // the zero Merchant: there is no such merchant
	mark  uint64           // the mark of its part when it was read
	read  time.Time
	until time.Time // it must be read again from then on; zero: no limit
}

// A cache holds a bounded number of entries, also for numbers without a merchant. When it is full, it drops
// entries that were read long ago.
type cache struct {
	most  int
	marks [parts]atomic.Uint64 // each grows when a merchant of its part changes

	mu    sync.RWMutex
	known map[string]*held
}

// get returns the entry of a number, and whether it is still valid.
func (c *cache) get(no string, now time.Time) (*held, bool) {
	c.mu.RLock()
	h := c.known[no]
	c.mu.RUnlock()
	if h == nil || h.mark != c.marks[partOf(no)].Load() || !h.until.IsZero() && !now.Before(h.until) {
		return nil, false
	}
	return h, true
}

// put stores an entry.
func (c *cache) put(no string, h *held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.known[no]; !there && len(c.known) >= c.most {
		c.makeRoom()
	}
	c.known[no] = h
}

// makeRoom drops one of a few random entries: the one that was read first. A dropped entry costs one read when
// it is needed again. Iteration over a map starts at a random place.
func (c *cache) makeRoom() {
	const few = 8
	var oldest string
	var at time.Time
	n := 0
	for no, h := range c.known {
		if n == 0 || h.read.Before(at) {
			oldest, at = no, h.read
		}
		if n++; n == few {
			break
		}
	}
	delete(c.known, oldest)
}

// in returns the cached numbers of a part.
func (c *cache) in(part uint8) (numbers []string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for no := range c.known {
		if partOf(no) == part {
			numbers = append(numbers, no)
		}
	}
	return numbers
}

func (c *cache) empty() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.known) == 0
}

// Merchant returns a merchant, at most a second old, or the zero Merchant if there is none with that number.
// It reads the store only if the merchant is not cached. If the store does not answer, the last known value is
// returned.
func (r *Registry) Merchant(ctx context.Context, no string) (deliver.Merchant, error) {
	if no == "" {
		return deliver.Merchant{}, nil
	}
	now := time.Now()
	r.fresh(ctx, now)
	if h, ok := r.cache.get(no, now); ok {
		return h.known, nil
	}
	read := r.loads.DoChan(no, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		return r.load(ctx, no)
	})
	select {
	case result := <-read:
		if result.Err != nil {
			return deliver.Merchant{}, result.Err
		}
		return result.Val.(*held).known, nil
	case <-ctx.Done():
		return deliver.Merchant{}, fmt.Errorf("read merchant %s: %w", no, context.Cause(ctx))
	}
}

// load reads a merchant from the store.
func (r *Registry) load(ctx context.Context, no string) (*held, error) {
	h := &held{mark: r.cache.marks[partOf(no)].Load(), read: time.Now()}
	if !r.alone {
		h.until = h.read.Add(trustFor)
	}
	m, err := r.read(ctx, no)
	switch {
	case errors.Is(err, bellman.ErrNotFound):
	case err != nil:
		return nil, fmt.Errorf("read merchant %s: %w", no, err)
	default:
		var changes time.Time
		h.known, changes = r.know(&m, h.read)
		if !changes.IsZero() && (h.until.IsZero() || changes.Before(h.until)) {
			h.until = changes
		}
	}
	r.cache.put(no, h)
	return h, nil
}

// read reads a merchant from the store. It returns bellman.ErrNotFound if there is none.
func (r *Registry) read(ctx context.Context, no string) (Merchant, error) {
	doc, err := store.ReadDoc(ctx, r.store, Kind, no)
	if err != nil {
		return Merchant{}, err
	}
	return parse(doc)
}

// Known returns the number of cached entries.
func (r *Registry) Known() int {
	r.cache.mu.RLock()
	defer r.cache.mu.RUnlock()
	return len(r.cache.known)
}
