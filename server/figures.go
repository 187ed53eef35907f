package server

import "github.com/bellmanhq/bellman/store"

// figures returns the store's figures about itself.
func (s *Server) figures() []store.Figure {
	if f, has := store.As[store.Figures](s.store); has {
		return f.Figures()
	}
	return nil
}

// figuresOfPeers returns the counts of hints between nodes.
func (s *Server) figuresOfPeers() []store.Figure {
	if s.peers == nil {
		return nil
	}
	return []store.Figure{
		{Name: "hints_sent_total", Help: "Hints that another node accepted.", Counter: true, Value: float64(s.peers.sent.Load())},
		{Name: "hints_failed_total", Help: "Hints that another node did not accept.", Counter: true, Value: float64(s.peers.failed.Load())},
		{Name: "hints_received_total", Help: "Hints received from other nodes.", Counter: true, Value: float64(s.peers.received.Load())},
		{Name: "hints_refused_total", Help: "Received hints with a wrong signature.", Counter: true, Value: float64(s.peers.refused.Load())},
	}
}
