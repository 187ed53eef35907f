//go:build race

package server_test

// fewer divides the messages of TestFlood, which takes five times as long under the race detector and
// also runs without it.
const fewer = 5
