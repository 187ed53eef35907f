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

// know makes a merchant ready for use, and says when one of its secrets ends; zero: none
// does.
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

// A held is what is known of one number for now.
type held struct {
	known deliver.Merchant // the zero Merchant: there is no such merchant
	mark  uint64           // of its part when it was read
	read  time.Time
	until time.Time // it is read again from then on; zero: no time of its own
}

// A cache holds a bounded number of merchants, and of numbers that are none. When
// it is full, some of those that nobody asked for lately make room.
type cache struct {
	most  int
	marks [parts]atomic.Uint64 // grow when something of a part changed

	mu    sync.RWMutex
	known map[string]*held
}

// get returns what is known of a number, if that is still good.
func (c *cache) get(no string, now time.Time) (*held, bool) {
	c.mu.RLock()
	h := c.known[no]
	c.mu.RUnlock()
	if h == nil || h.mark != c.marks[partOf(no)].Load() || !h.until.IsZero() && !now.Before(h.until) {
		return nil, false
	}
	return h, true
}

// put remembers what was read of a number.
func (c *cache) put(no string, h *held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.known[no]; !there && len(c.known) >= c.most {
		c.makeRoom()
	}
	c.known[no] = h
}

// makeRoom forgets one of a few, the one that was read first: what is asked for
// again is read again, and that is all it costs. A map begins anywhere.
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

// in returns the numbers that are known of a part.
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

// Merchant returns a merchant as it stands now, not older than a second; the zero
// Merchant if there is none of that number. It costs a look in memory, and a read of the
// store for one that was not asked for lately. Where the store does not answer, what was
// known lately stands.
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

// read reads a merchant as it is kept. bellman.ErrNotFound if there is none.
func (r *Registry) read(ctx context.Context, no string) (Merchant, error) {
	doc, err := store.ReadDoc(ctx, r.store, Kind, no)
	if err != nil {
		return Merchant{}, err
	}
	return parse(doc)
}

// Known is how many numbers are known in memory, of merchants and of none.
func (r *Registry) Known() int {
	r.cache.mu.RLock()
	defer r.cache.mu.RUnlock()
	return len(r.cache.known)
}
