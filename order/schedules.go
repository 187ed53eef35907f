package order

import (
	"sync"

	"github.com/bellmanhq/bellman/schedule"
)

// schedules keeps parsed schedules by their text: tasks carry the text.
type schedules struct {
	mu     sync.RWMutex
	parsed map[string]*schedule.Schedule
}

// maxSchedules bounds what is kept; past it, it is emptied.
const maxSchedules = 1024

func (c *schedules) parse(text string) (*schedule.Schedule, error) {
	c.mu.RLock()
	s, ok := c.parsed[text]
	c.mu.RUnlock()
	if ok {
		return s, nil
	}
	s, err := schedule.Parse(text)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parsed == nil || len(c.parsed) >= maxSchedules {
		c.parsed = make(map[string]*schedule.Schedule)
	}
	c.parsed[text] = s
	return s, nil
}
