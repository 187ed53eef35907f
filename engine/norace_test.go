//go:build !race

package engine_test

// fewer divides the sizes of tests that show what scale does, and the fake time for which they look on.
const fewer = 1
