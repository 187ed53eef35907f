//go:build race

package engine_test

import "runtime"

// fewer divides the sizes and the simulated time of tests that show effects of scale. These tests
// take ten times as long under the race detector, and also run without it.
const fewer = 10

// One processor: where two run goroutines of one bubble of testing/synctest, both may fire its
// timers in the same state of the race detector, which then ends the program with "CHECK failed"
// (https://go.dev/issue/78156). With hundreds of goroutines, as here, that happens. The race
// detector compares orders, so it finds races on one processor too.
func init() { runtime.GOMAXPROCS(1) }
