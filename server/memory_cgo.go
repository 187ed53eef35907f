//go:build cgo

package server

// outsideBytes is what the embedded store takes that the runtime's limit does not count.
// With cgo, as `go run` and `go build` have it where there is a C compiler, Pebble
// takes its cache and its memtables, 64 MiB, from malloc, whose arenas held about
// 30 MiB more where that was measured.
const outsideBytes = 96 << 20
