//go:build !race

package server

// Fewer divides the sizes of tests of scale.
const Fewer = 1
