package access

import (
	"sync"
	"time"
)

// Seldom lets one event of each name through within Every, and Most of all names together, so that
// nobody can fill a store with records of what they try. It is safe for concurrent use.
type Seldom struct {
	Every time.Duration
	Most  int

	mu    sync.Mutex
	until time.Time
	seen  map[string]bool
	left  int
}

// Enter reports whether an event is let through, and how many of any name were not since the last
// one that was.
func (s *Seldom) Enter(name string) (left int, ok bool) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.Before(s.until) {
		s.until, s.seen = now.Add(s.Every), map[string]bool{}
	}
	if s.seen[name] || len(s.seen) >= s.Most {
		s.left++
		return 0, false
	}
	s.seen[name] = true
	left, s.left = s.left, 0
	return left, true
}
