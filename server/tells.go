package server

import (
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/config"
)

// insiders are the queues that tell somebody of ours: those whose tasks are told how
// others ended, or of alarms, and those with an address of their own, for their tasks that name
// none.
type insiders struct{ results, home map[string]bool }

func insidersOf(c *config.Config) *insiders {
	in := &insiders{results: map[string]bool{}, home: map[string]bool{}}
	for i := range c.Queues {
		q := &c.Queues[i]
		if q.URL != "" {
			in.home[q.Name] = true
		}
		for _, name := range q.OnEnd.Each() {
			in.results[name] = true
		}
	}
	for _, a := range c.Alarms {
		in.results[a.To] = true
	}
	return in
}

// tells reports whether a notice is for the merchant that it names: it goes over HTTP
// to an address of its own, or to the one that the merchant is registered with.
func (s *Server) tells(t *bellman.Task) bool {
	in := s.insiders.Load()
	if in.results[t.Queue] {
		return false
	}
	if t.URL == "" {
		return !in.home[t.Queue]
	}
	scheme, _, _ := strings.Cut(strings.ToLower(t.URL), ":")
	return scheme == "http" || scheme == "https"
}
