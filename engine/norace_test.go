//go:build !race

package engine_test

// fewer divides the sizes of tests that show what scale does.
const fewer = 1
