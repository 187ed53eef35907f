//go:build race

package sim

// usual is how many seeds a test runs by itself: the race detector makes a run
// several times as long.
const usual = 0
