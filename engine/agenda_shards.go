package engine

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
)

// agendaShards are the shards whose tasks may be in the agenda, and the attempts that were in flight
// when a shard was left. The agenda's mutex guards them.
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

// departures tell readers which tasks left the agenda while they read. Each reader of a page and
// each parallel commit follows them: a page may still show such a task as it was, and the loader may
// find a committed task and have it attempted before the commit is answered. The agenda's mutex
// guards them.
type departures struct{ followers []*asOf }

// An asOf is the moment just before a page was read or a commit was sent.
type asOf struct {
	claims uint64                // number of claims of this node before that moment
	at     time.Time             // that moment, on the monotonic clock
	left   map[bellman.ID]uint32 // tasks that left the agenda since, with their versions; nil: not followed
}

// past reports whether this version of a task, or a later one, left the agenda since then.
func (a *asOf) past(id bellman.ID, version uint32) bool {
	left, ok := a.left[id]
	return ok && left >= version
}

// follow returns this moment, and records tasks that leave the agenda until unfollow.
func (d *departures) follow(claims uint64) *asOf {
	a := &asOf{claims, time.Now(), make(map[bellman.ID]uint32)}
	d.followers = append(d.followers, a)
	return a
}

func (d *departures) unfollow(a *asOf) {
	if i := slices.Index(d.followers, a); i >= 0 {
		d.followers = slices.Delete(d.followers, i, i+1)
	}
}

// leave notes that a version of a task left the agenda.
func (d *departures) leave(id bellman.ID, version uint32) {
	for _, a := range d.followers {
		a.left[id] = version
	}
}

// unleave forgets that a task left the agenda, so the same version may be added again.
func (d *departures) unleave(id bellman.ID) {
	for _, a := range d.followers {
		delete(a.left, id)
	}
}
