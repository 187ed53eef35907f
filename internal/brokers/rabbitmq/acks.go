package rabbitmq

import "sync"

// An acker acknowledges a delivery, or all up to it.
type acker interface {
	Ack(tag uint64, multiple bool) error
}

// acks tells a channel which deliveries are settled, in few frames: those that are
// settled without a gap, from the first on, by one. Where a gap stays, those behind
// it are told one by one, so that they do not use up the prefetch.
type acks struct {
	ch   acker
	most int // deliveries behind a gap that are not told yet

	mu      sync.Mutex
	below   uint64          // all up to here are settled, and told
	settled map[uint64]bool // above: whether the channel was told
	untold  int
}

func newAcks(ch acker, most int) *acks {
	return &acks{ch: ch, most: most, settled: make(map[uint64]bool)}
}

// settle notes that deliveries are settled, each once.
func (a *acks) settle(tags []uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, tag := range tags {
		a.settled[tag] = false
	}
	a.untold += len(tags)
	last := uint64(0) // the highest that is in one row with the first, and that the channel still waits for
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
