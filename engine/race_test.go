//go:build race

package engine_test

// fewer divides the sizes of tests that show what scale does, and the fake time for which they look
// on: under the race detector they take ten times as long, and they also run without it.
const fewer = 10
