//go:build !race

package server_test

// fewer divides the messages of TestFlood.
const fewer = 1
