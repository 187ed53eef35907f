package order

import (
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// lives is how many lives TestLives plays.
const lives = 100_000

// A hostile channel, a payment at any moment, deaths of nodes and manual attempts in between: no
// order that was paid is closed without a notification of the late payment, no error decides an
// order, and each order ends decided or UNKNOWN and is notified once.
func TestLives(t *testing.T) {
	const parts = 4
	n := lives
	if testing.Short() {
		n /= 20
	}
	var mu sync.Mutex
	ends := make(map[string]int)
	var wg sync.WaitGroup
	for part := range parts {
		wg.Go(func() {
			for i := part; i < n && !t.Failed(); i += parts {
				end, wrong := live(newDice(uint64(i)))
				if wrong != "" {
					t.Errorf("life %d: %s", i, wrong)
				}
				mu.Lock()
				ends[end]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Log(ends)
	for _, end := range []string{"PAID", "PAID_REFUNDED", "CLOSED", "REVOKED", "FAILED", "UNKNOWN", "late_payment"} {
		if ends[end] < n/200 {
			t.Errorf("%d of %d lives ended %s: the channel is not hostile enough to show anything", ends[end], n, end)
		}
	}
}

// The same, with chance from rapid, which shrinks what fails.
func TestLifeShrinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if _, wrong := live(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "dice") }); wrong != "" {
			t.Fatal(wrong)
		}
	})
}
