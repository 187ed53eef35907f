package server

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/bellmanhq/bellman/internal/config"
)

// Most of a server's memory is the store's cache, which lives long. All other memory is garbage soon.
// Collecting less often saves an eighth of the CPU time under load. The memory limit bounds the total.
const gcPercent = 300

// TuneMemory configures the garbage collector for a process that is a server with this kind of
// store and does little else. store is the setting of that name. GOGC and GOMEMLIMIT in the
// environment take precedence.
func TuneMemory(store string) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limitFor(store))
	}
}

// limitFor subtracts the memory of the store that the runtime does not count.
func limitFor(store string) int64 {
	if at, err := config.ParseStore(store); err == nil && at.Kind != config.Pebble {
		return memoryLimit
	}
	return memoryLimit - outsideBytes
}

// cacheFor returns the bytes of the embedded store's cache for a memory limit of the runtime: a third of it, from 16 to
// 64 MiB. On a small machine GOMEMLIMIT alone then bounds the server.
func cacheFor(limit int64) int64 {
	const least, most = 16 << 20, 64 << 20
	third := (min(limit, memoryLimit) + outsideBytes) / 3 // a process that is no server has no limit
	return min(max(third, least), most)
}

// GiveBackMemory returns unused heap to the operating system whenever a quiet second follows much
// allocation, until ctx ends. Without it the runtime keeps that heap for the next burst. Call it in
// a server process only.
func GiveBackMemory(ctx context.Context) {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	look := time.NewTicker(time.Second)
	defer look.Stop()
	var r rest
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		metrics.Read(sample)
		if r.begins(sample[0].Value.Uint64()) {
			debug.FreeOSMemory()
		}
	}
}

// A rest is a second with few allocations after many.
type rest struct{ seen, given uint64 } // bytes allocated so far

const (
	littleBytes = 4 << 20
	muchBytes   = 64 << 20
)

// begins is called each second with the number of bytes allocated so far. It reports whether a rest
// begins.
func (r *rest) begins(allocated uint64) bool {
	little := allocated-r.seen <= littleBytes
	r.seen = allocated
	if !little || allocated-r.given < muchBytes {
		return false
	}
	r.given = allocated
	return true
}
