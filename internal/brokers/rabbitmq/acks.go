package rabbitmq

import (
	"math"
	"sync"
)

// An acker acknowledges one delivery, or all up to it.
type acker interface {
	Ack(tag uint64, multiple bool) error
}

// acks acknowledges deliveries with few frames: one frame for all deliveries up to the first that
// is not settled. Settled deliveries behind that one are acknowledged one by one in two cases: if
// they are many, because they would use up the prefetch; and if the unsettled one stays the first
// for long, because after a broken connection all of them would be delivered again. The prefetch
// bounds what acks remembers.
type acks struct {
	ch   acker
	most int // most settled deliveries without acknowledgement

	mu     sync.Mutex
	open   map[uint64]struct{} // deliveries that are not settled
	untold []uint64            // settled deliveries that are not acknowledged
	first  uint64              // the first open delivery after the last call of settle
	stuck  bool                // it was the first before that call too
}

func newAcks(ch acker, most int) *acks {
	return &acks{ch: ch, most: most, open: make(map[uint64]struct{})}
}

// deliver notes a delivery. Call it for each, before settle.
func (a *acks) deliver(tag uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[tag] = struct{}{}
}

// settle marks deliveries as settled. Call it once for each.
func (a *acks) settle(tags []uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, tag := range tags {
		delete(a.open, tag)
	}
	first := uint64(math.MaxUint64)
	for tag := range a.open {
		first = min(first, tag)
	}
	stays := a.stuck && first == a.first
	a.stuck, a.first = first == a.first, first
	last, behind := uint64(0), a.untold[:0] // last is the last delivery before first
	for _, tag := range append(a.untold, tags...) {
		if tag < first {
			last = max(last, tag)
		} else {
			behind = append(behind, tag)
		}
	}
	a.untold = behind
	if last > 0 {
		if err := a.ch.Ack(last, true); err != nil {
			return err
		}
	}
	if len(a.untold) <= a.most && !stays {
		return nil
	}
	return a.tell()
}

// end acknowledges what is settled behind open deliveries, before a session ends: the broker would
// deliver it again.
func (a *acks) end() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tell()
}

// tell acknowledges the settled deliveries one by one.
func (a *acks) tell() error {
	for i, tag := range a.untold {
		if err := a.ch.Ack(tag, false); err != nil {
			a.untold = a.untold[i:]
			return err
		}
	}
	a.untold = a.untold[:0]
	return nil
}
