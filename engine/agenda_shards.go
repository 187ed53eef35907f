package engine

// agendaShards are the shards whose tasks may be in the agenda, and the attempts that were in
// flight when a shard was left. The agenda's mutex guards them.
//
// claims counts claims of shards, and claimed is its value at the last claim of each shard. A page
// that was read, or a commit that was sent, before a claim may be outdated: the former owner may
// have changed the task since.
type agendaShards struct {
	owned   [1 << 16 / 64]uint64
	leaving map[uint16]*leaving
	claims  uint64
	claimed map[uint16]uint64
}

// A leaving is a shard that was left while attempts of its tasks were in flight.
type leaving struct {
	flights int
	landed  chan struct{} // closed when flights is 0
}

// has reports whether tasks of a shard may be in the agenda.
func (s *agendaShards) has(shard uint16) bool { return s.owned[shard/64]&(1<<(shard%64)) != 0 }

// claimedAfter reports whether a shard was claimed after the given number of claims.
func (s *agendaShards) claimedAfter(shard uint16, claims uint64) bool {
	return s.claimed[shard] > claims
}

// add admits tasks of shards that were claimed.
func (s *agendaShards) add(shards []uint16) {
	s.claims++
	for _, shard := range shards {
		if !s.has(shard) {
			s.claimed[shard] = s.claims
		}
		s.owned[shard/64] |= 1 << (shard % 64)
		delete(s.leaving, shard)
	}
}

// remove admits no more tasks of a shard. inFlight is the number of its attempts in flight.
func (s *agendaShards) remove(shard uint16, inFlight int) {
	s.owned[shard/64] &^= 1 << (shard % 64)
	delete(s.leaving, shard)
	if inFlight > 0 {
		s.leaving[shard] = &leaving{inFlight, make(chan struct{})}
	}
}

// landed notes that an item of a shard is no longer in flight.
func (s *agendaShards) landed(shard uint16) {
	l := s.leaving[shard]
	if l == nil {
		return
	}
	if l.flights--; l.flights == 0 {
		close(l.landed)
		delete(s.leaving, shard)
	}
}

// empty returns a channel that is closed when no attempt of a shard that was left is in flight,
// except attempts that were handed over.
func (s *agendaShards) empty(shard uint16) <-chan struct{} {
	if l := s.leaving[shard]; l != nil {
		return l.landed
	}
	done := make(chan struct{})
	close(done)
	return done
}
