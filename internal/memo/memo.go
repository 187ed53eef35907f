// Package memo caches values made from texts, such as rules compiled from expressions. Users choose
// the texts, so a Cache limits both their number and the memory of the values.
package memo

import "sync"

// A Cache makes one value from each text, and keeps the most recently used values. The zero Cache
// is ready. It is safe for concurrent use.
type Cache[V any] struct {
	// A text is found in young, or moves there from old. When young is full it becomes old, and the
	// values of the old one are forgotten.
	mu         sync.RWMutex
	young, old map[string]*entry[V]
	cost       int // of young, in bytes
}

type entry[V any] struct {
	once  sync.Once
	value V
	err   error
	cost  int // bytes that are known so far; under Cache.mu
}

// overhead is the memory of an entry beside its text and its value, in bytes.
const overhead = 256

// Limits of a Cache. Pass the same limits in each call of one Cache.
type Limits struct {
	Texts int // largest number of texts
	Bytes int // largest memory: texts, 256 bytes for each, and the costs that create returns
}

// Get returns what create returns for text; errors are cached too. create runs once while the text
// is kept, and concurrent calls wait for it. cost is the memory of the value, in bytes.
func (c *Cache[V]) Get(text string, most Limits, create func(text string) (value V, cost int, err error)) (V, error) {
	c.mu.RLock()
	e := c.young[text]
	c.mu.RUnlock()
	if e == nil {
		e = c.keep(text, most)
	}
	e.once.Do(func() {
		var more int
		if e.value, more, e.err = create(text); more > 0 {
			c.charge(text, e, more, most)
		}
	})
	return e.value, e.err
}

// keep returns the entry of a text among the young.
func (c *Cache[V]) keep(text string, most Limits) *entry[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.young[text]; e != nil {
		return e
	}
	e := c.old[text]
	if e == nil {
		e = &entry[V]{cost: overhead + len(text)}
	}
	if c.young == nil || len(c.young) >= (most.Texts+1)/2 || c.cost+e.cost > most.Bytes/2 {
		c.age()
	}
	c.young[text] = e
	c.cost += e.cost
	return e
}

// charge adds the cost of an entry's value.
func (c *Cache[V]) charge(text string, e *entry[V], more int, most Limits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.cost += more
	if c.young[text] != e {
		return // the entry is old meanwhile: its cost is counted when it becomes young again
	}
	if c.cost += more; c.cost > most.Bytes/2 {
		c.age()
	}
}

// age forgets the old entries, and makes the young ones old. Call it with mu held.
func (c *Cache[V]) age() { c.old, c.young, c.cost = c.young, make(map[string]*entry[V]), 0 }

// Drop forgets every value, to free memory.
func (c *Cache[V]) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.cost = nil, nil, 0
}

// Len returns how many texts are kept.
func (c *Cache[V]) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	n := len(c.young)
	for text := range c.old {
		if c.young[text] == nil {
			n++
		}
	}
	return n
}
