//go:build !race

package dispatch

// fewer divides the sizes of tests that show effects of scale.
const fewer = 1
