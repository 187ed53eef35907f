//go:build race

package server

// Fewer divides the sizes of tests of scale. They take five times as long under the race detector,
// and make test also runs them without it.
const Fewer = 5
