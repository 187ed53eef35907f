package server

import "github.com/bellmanhq/bellman/store"

// figures are those that the store has of itself.
func (s *Server) figures() []store.Figure {
	if f, has := store.As[store.Figures](s.store); has {
		return f.Figures()
	}
	return nil
}

// figuresOfPeers are what nodes told one another.
func (s *Server) figuresOfPeers() []store.Figure {
	if s.peers == nil {
		return nil
	}
	return []store.Figure{
		{Name: "hints_sent_total", Help: "Hints that another node has taken.", Counter: true, Value: float64(s.peers.sent.Load())},
		{Name: "hints_failed_total", Help: "Hints that another node has not taken.", Counter: true, Value: float64(s.peers.failed.Load())},
		{Name: "hints_received_total", Help: "Hints that came from other nodes.", Counter: true, Value: float64(s.peers.received.Load())},
		{Name: "hints_refused_total", Help: "Hints that were not signed as by another node.", Counter: true, Value: float64(s.peers.refused.Load())},
	}
}
