//go:build race

package engine_test

// fewer divides the sizes and the simulated time of tests that show effects of scale. These tests
// take ten times as long under the race detector, and also run without it.
const fewer = 10
