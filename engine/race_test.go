//go:build race

package engine_test

// fewer divides the sizes of tests that show what scale does: under the race detector they take
// ten times as long, and are run without it too.
const fewer = 10
