//go:build !cgo

package server

// outsideBytes is what the embedded store takes that the runtime's limit does not count.
// Without cgo, as `make build` has it, the store's cache is in the heap.
const outsideBytes = 0
