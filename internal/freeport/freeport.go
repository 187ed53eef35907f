// Package freeport finds ports for the servers that tests start as processes.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
)

// The last port that Address gave, minus 10,000. It begins at random, because several processes run
// tests.
var last atomic.Uint32

func init() { last.Store(rand.Uint32N(10_000)) }

// Address returns an address on 127.0.0.1 at which nobody listens, another one at each call. The
// port 10,000 above is free too: a Redis Cluster has its bus there. Both are below the ports that a
// system gives to connections and to listeners on port 0. So no other test takes one by chance
// before the server has it.
func Address(t testing.TB) string {
	t.Helper()
	for range 100 {
		if port := 10_000 + last.Add(1)%10_000; free(port) && free(port+10_000) {
			return at(port)
		}
	}
	t.Fatal("100 ports between 10,000 and 20,000 are in use")
	return ""
}

func at(port uint32) string { return fmt.Sprint("127.0.0.1:", port) }

func free(port uint32) bool {
	l, err := net.Listen("tcp", at(port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
