//go:build !cgo

package server

// memoryLimit is the memory that a server aims at. A limit of 192 MiB saved no processor time.
const memoryLimit = 112 << 20

// outsideBytes is the memory of the embedded store that the runtime's limit does not count. Without
// cgo (`make build`) the store's cache is in the heap.
const outsideBytes = 0
