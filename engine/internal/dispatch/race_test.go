//go:build race

package dispatch

// fewer divides the sizes of tests that show effects of scale. These tests have one goroutine, take
// ten times as long under the race detector, and also run without it.
const fewer = 10
