//go:build !cgo

package server

// outsideBytes is the memory of the embedded store that the runtime's limit does not count. Without
// cgo (`make build`) the store's cache is in the heap.
const outsideBytes = 0
