package wheel_test

import (
	"fmt"

	"github.com/bellmanhq/bellman/engine/internal/wheel"
)

func Example() {
	w := wheel.New[string](0) // the caller's clock says 0
	w.Add(15_000, "first retry")
	w.Add(30_000, "second retry")
	closing := w.Add(60_000, "close the order")
	w.Cancel(closing)

	buf := make([]wheel.Fired[string], 16)
	for {
		now, ok := w.Next()
		if !ok {
			break
		}
		// A real driver sleeps here until its clock says now.
		for n := len(buf); n == len(buf); {
			n = w.Advance(now, buf)
			for _, f := range buf[:n] {
				fmt.Println(f.Due, f.Value)
			}
		}
	}
	// Output:
	// 15000 first retry
	// 30000 second retry
}
