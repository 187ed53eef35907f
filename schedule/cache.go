package schedule

import (
	"sync"
	"unsafe"
)

// A Cache parses each text once and keeps the schedules of the texts used last:
// tasks carry their schedule as text, and most of them the same few. It is bounded
// by the memory that it holds, 8 MiB, because callers choose the texts. The zero
// Cache is ready, and safe for concurrent use.
type Cache struct {
	// A text is found in young, or moves there from old. When young is full it
	// becomes old, and the schedules of the old one are forgotten.
	mu         sync.RWMutex
	young, old map[string]*Schedule
	cost       int // of young, in bytes
}

// maxCost bounds the memory that a Cache holds, young and old together, in bytes.
const maxCost = 8 << 20

// Parse returns the result of the function Parse for text. Errors are not kept.
func (c *Cache) Parse(text string) (*Schedule, error) {
	c.mu.RLock()
	s, ok := c.young[text]
	c.mu.RUnlock()
	if ok {
		return s, nil
	}
	c.mu.Lock()
	s, ok = c.old[text]
	if ok {
		c.keep(text, s)
	}
	c.mu.Unlock()
	if ok {
		return s, nil
	}
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(text, s)
	return s, nil
}

// keep puts a schedule among the young. Only under mu.
func (c *Cache) keep(text string, s *Schedule) {
	if _, there := c.young[text]; there {
		return
	}
	cost := s.cost(text)
	if c.young == nil || c.cost+cost > maxCost/2 {
		c.old, c.young, c.cost = c.young, make(map[string]*Schedule), 0
	}
	c.young[text] = s
	c.cost += cost
}

// Drop forgets every schedule, to free memory.
func (c *Cache) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.cost = nil, nil, 0
}

// entryCost is the memory of an entry beside texts and runs: its place in the map and
// the Schedule, in bytes.
const entryCost = 192

// cost is the memory that an entry of a Cache holds, in bytes.
func (s *Schedule) cost(text string) int {
	return entryCost + len(text) + len(s.text) + cap(s.runs)*int(unsafe.Sizeof(run{}))
}
