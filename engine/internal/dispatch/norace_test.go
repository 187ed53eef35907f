//go:build !race

package dispatch

// fewer divides the sizes of tests that show what scale does.
const fewer = 1
