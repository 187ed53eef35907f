//go:build !race

package engine_test

// fewer divides the sizes and the simulated time of tests that show effects of scale.
const fewer = 1
