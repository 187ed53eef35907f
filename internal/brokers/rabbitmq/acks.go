package rabbitmq

import "sync"

// An acker acknowledges one delivery, or all up to it.
type acker interface {
	Ack(tag uint64, multiple bool) error
}

// acks acknowledges deliveries with few frames: one frame for all deliveries up to the first gap. Deliveries
// behind a gap are acknowledged one by one once there are many, so that they do not use up the prefetch.
type acks struct {
	ch   acker
	most int // most deliveries behind a gap without acknowledgement

	mu      sync.Mutex
	below   uint64          // all deliveries up to this one are acknowledged
	settled map[uint64]bool // deliveries above it; true: already acknowledged
	untold  int
}

func newAcks(ch acker, most int) *acks {
	return &acks{ch: ch, most: most, settled: make(map[uint64]bool)}
}

// settle marks deliveries as settled. Call it once for each.
func (a *acks) settle(tags []uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, tag := range tags {
		a.settled[tag] = false
	}
	a.untold += len(tags)
	last := uint64(0) // the last delivery before the first gap that is not acknowledged
	for {
		told, settled := a.settled[a.below+1]
		if !settled {
			break
		}
		a.below++
		delete(a.settled, a.below)
		if !told {
			last = a.below
			a.untold--
		}
	}
	if last > 0 {
		if err := a.ch.Ack(last, true); err != nil {
			return err
		}
	}
	if a.untold <= a.most {
		return nil
	}
	return a.tell()
}

// end acknowledges what is settled behind gaps, before a session ends: the broker would deliver it again.
func (a *acks) end() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tell()
}

// tell acknowledges the deliveries behind gaps one by one.
func (a *acks) tell() error {
	for tag, told := range a.settled {
		if told {
			continue
		}
		if err := a.ch.Ack(tag, false); err != nil {
			return err
		}
		a.settled[tag] = true
		a.untold--
	}
	return nil
}
