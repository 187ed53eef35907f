//go:build race

package sim

// usual is how many seeds a test runs by default: a run takes several times as long under the race
// detector.
const usual = 10
