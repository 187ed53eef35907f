package rabbitmq

import (
	"math/rand/v2"
	"testing"
)

// A wire is what a broker holds a channel to: a tag that is acknowledged must be
// open, and with multiple all that are open below it go too.
type wire struct {
	t      *testing.T
	open   map[uint64]bool
	frames int
}

func (w *wire) Ack(tag uint64, multiple bool) error {
	w.frames++
	if !w.open[tag] {
		w.t.Errorf("tag %d is acknowledged, and is not open: a broker closes the channel", tag)
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

// In whatever order deliveries are settled, only those that are settled are told, all
// of them are in the end, and behind a gap no more than a bound waits.
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
				t.Fatalf("seed %d: %d deliveries are settled and not told; want %d at most", seed, untold, most)
			}
			for _, tag := range handed {
				if !w.open[tag] {
					t.Fatalf("seed %d: delivery %d is told, and not settled", seed, tag)
				}
			}
		}
		if len(w.open) > 0 {
			t.Fatalf("seed %d: %d deliveries were never told", seed, len(w.open))
		}
	}
	// In order a batch is one frame.
	w := &wire{t: t, open: map[uint64]bool{1: true, 2: true, 3: true}}
	if err := newAcks(w, 10).settle([]uint64{1, 2, 3}); err != nil || w.frames != 1 {
		t.Errorf("three in a row: %d frames, %v; want 1", w.frames, err)
	}
}
