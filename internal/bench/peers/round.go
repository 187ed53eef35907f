package main

import (
	"fmt"
	"time"
)

// A round is what was measured once.
type round struct {
	raw     float64 // deliveries a second of a loop that keeps nothing
	bellman figures
	peer    figures
}

// Rates are tasks a second.
type figures struct {
	drain        float64
	singles      float64 // created one by one
	batches      float64 // created a thousand at a time; 0: there is no such thing
	late, late99 float64 // ms
	earliest     float64 // ms before it was due; 0: none was
	best         best    // of a peer
	failures     []string
}

// best says with which effort a peer's rates were best.
type best struct{ drain, singles, batches effort }

func (b best) String() string {
	text := fmt.Sprintf("drain and lateness %d, one by one %d", b.drain.workers, b.singles.workers)
	if b.batches.workers > 0 {
		text += fmt.Sprintf(", batches %d", b.batches.workers)
	}
	return text
}

// sizes are how much work there is: as much as bellman's scenarios have.
type sizes struct {
	drain, singles, batches, late int
	over                          time.Duration
}

func sizesOf(quick bool) sizes {
	if quick {
		return sizes{20_000, 10_000, 20_000, 4_000, 4 * time.Second}
	}
	return sizes{100_000, 50_000, 100_000, 20_000, 20 * time.Second}
}
