package rabbitmq

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// A wire checks acknowledgements as a broker does. An acknowledged tag must be open; with multiple,
// all open tags below it are acknowledged too.
type wire struct {
	t      *testing.T
	open   map[uint64]bool
	frames int
}

func (w *wire) Ack(tag uint64, multiple bool) error {
	w.frames++
	if !w.open[tag] {
		w.t.Errorf("tag %d is acknowledged but not open, for which a broker closes the channel", tag)
	}
	delete(w.open, tag)
	if multiple {
		for other := range w.open {
			if other < tag {
				delete(w.open, other)
			}
		}
	}
	return nil
}

// handedOver returns acks with a number of deliveries that are not settled.
func handedOver(t *testing.T, deliveries uint64) (*acks, *wire) {
	w := &wire{t: t, open: map[uint64]bool{}}
	a := newAcks(w, 10)
	for tag := range deliveries {
		w.open[tag+1] = true
		a.deliver(tag + 1)
	}
	return a, w
}

// Deliveries are settled in any order. Only settled deliveries are acknowledged, all of them are in
// the end, and only a limited number waits behind a gap.
func TestAcks(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 3))
		const most = 20
		w := &wire{t: t, open: map[uint64]bool{}}
		a := newAcks(w, most)
		var handed []uint64
		settled, next := map[uint64]bool{}, uint64(1)
		for next <= 1000 || len(handed) > 0 {
			if next <= 1000 && (len(handed) == 0 || random.IntN(2) == 0) {
				for range 1 + random.IntN(30) {
					w.open[next] = true
					a.deliver(next)
					handed = append(handed, next)
					next++
				}
				continue
			}
			var tags []uint64
			for range 1 + random.IntN(40) {
				if len(handed) == 0 {
					break
				}
				i := random.IntN(min(len(handed), 60))
				tags = append(tags, handed[i])
				settled[handed[i]] = true
				handed = append(handed[:i], handed[i+1:]...)
			}
			if err := a.settle(tags); err != nil {
				t.Fatal(err)
			}
			untold := 0
			for tag := range settled {
				if w.open[tag] {
					untold++
				}
			}
			if untold > most {
				t.Fatalf("seed %d: %d deliveries are settled but not acknowledged; want at most %d", seed, untold, most)
			}
			for _, tag := range handed {
				if !w.open[tag] {
					t.Fatalf("seed %d: delivery %d is acknowledged but not settled", seed, tag)
				}
			}
		}
		if len(w.open) > 0 {
			t.Fatalf("seed %d: %d deliveries were never acknowledged", seed, len(w.open))
		}
	}
	// What is settled behind a gap is acknowledged at the end, and what is not stays open.
	a, w := handedOver(t, 4)
	if err := errors.Join(a.settle([]uint64{2, 4}), a.end(), a.end()); err != nil || len(w.open) != 2 || !w.open[1] || !w.open[3] {
		t.Errorf("after the end: open %v, %v; want 1 and 3", w.open, err)
	}
	// A gap that stays, such as a dead letter that cannot be stored, holds back one call of settle,
	// and nothing is kept of what is acknowledged behind it.
	a, w = handedOver(t, 1000)
	if err := a.settle([]uint64{2}); err != nil || w.frames != 0 {
		t.Errorf("one delivery behind a gap: %d frames, %v; want none yet", w.frames, err)
	}
	for tag := range uint64(998) {
		if err := a.settle([]uint64{tag + 3}); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.open) != 1 || !w.open[1] || len(a.open)+len(a.untold) != 1 {
		t.Errorf("behind a gap that stays: %d open at the broker, %d kept here; want only the first", len(w.open), len(a.open)+len(a.untold))
	}
	if err := a.settle([]uint64{1}); err != nil || len(w.open) != 0 {
		t.Errorf("after the gap: open %v, %v; want none", w.open, err)
	}
	// A batch in order needs one frame.
	a, w = handedOver(t, 3)
	if err := a.settle([]uint64{1, 2, 3}); err != nil || w.frames != 1 {
		t.Errorf("three deliveries in order: %d frames, %v; want 1", w.frames, err)
	}
}
