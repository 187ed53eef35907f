package access

import (
	"sync"
	"time"
)

// A Sampler lets one event of each name pass within Every, and Most of all names together, so that
// no caller can fill the store with records. It is safe for concurrent use.
type Sampler struct {
	Every time.Duration
	Most  int

	mu    sync.Mutex
	until time.Time
	seen  map[string]bool
	left  int
}

// Enter reports whether an event may pass, and how many events of any name were dropped since the
// last one that passed.
func (s *Sampler) Enter(name string) (left int, ok bool) {
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
