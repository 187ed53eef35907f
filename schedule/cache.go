package schedule

import "sync"

// A Cache parses each text once: tasks carry their schedule as text, and most of
// them the same few. The zero Cache is ready, and safe for concurrent use.
type Cache struct {
	mu     sync.RWMutex
	parsed map[string]*Schedule
}

// maxCached bounds what a Cache keeps; past it, it begins anew.
const maxCached = 4096

// Parse returns what the function Parse does for text. What cannot be parsed is
// not kept.
func (c *Cache) Parse(text string) (*Schedule, error) {
	c.mu.RLock()
	s, ok := c.parsed[text]
	c.mu.RUnlock()
	if ok {
		return s, nil
	}
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parsed == nil || len(c.parsed) >= maxCached {
		c.parsed = make(map[string]*Schedule)
	}
	c.parsed[text] = s
	return s, nil
}
