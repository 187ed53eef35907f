//go:build cgo

package server

// memoryLimit is the memory that a server aims at.
const memoryLimit = 192 << 20

// outsideBytes is the memory of the embedded store that the runtime's limit does not count. With
// cgo (`go run` and `go build` on a machine with a C compiler) Pebble allocates its cache and its
// memtables, 64 MiB, with malloc. The arenas of malloc held about 30 MiB more in a measurement.
const outsideBytes = 96 << 20
