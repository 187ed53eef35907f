//go:build !race

package sim

// usual is how many seeds a test runs by itself.
const usual = 20
