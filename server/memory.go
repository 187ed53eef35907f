package server

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/bellmanhq/bellman/internal/config"
)

// Most of a server's memory is the store's cache, which lives long. All other memory is garbage
// soon. Collecting less often saves an eighth of the CPU time under load. The memory limit bounds
// the total.
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

// cacheFor returns the bytes of the embedded store's cache for a memory limit of the runtime: a
// third of it, from 16 to 64 MiB. On a small machine GOMEMLIMIT alone then bounds the server.
func cacheFor(limit int64) int64 {
	const least, most = 16 << 20, 64 << 20
	third := (min(limit, memoryLimit) + outsideBytes) / 3 // a process that is no server has no limit
	return min(max(third, least), most)
}

// GiveBackMemory looks at the memory once a second until ctx ends. Call it in a server process
// only, after TuneMemory.
//
// It returns unused heap to the operating system whenever a quiet second follows much allocation.
// Without it the runtime keeps that heap for the next burst.
//
// It raises the memory limit while the memory in use comes near it, for example that of thousands
// of connections. With a limit below the memory in use, the collector would run all the time and
// free nothing. GOMEMLIMIT in the environment is kept.
func GiveBackMemory(ctx context.Context) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	least := debug.SetMemoryLimit(-1)
	limit := least
	follow := os.Getenv("GOMEMLIMIT") == ""
	read := readMemoryUse()
	var r rest
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		m := read()
		if wanted := m.limit(least); follow && wanted != limit { // SetMemoryLimit stops all goroutines for a moment
			limit = wanted
			debug.SetMemoryLimit(limit)
		}
		if r.begins(m.allocated) {
			debug.FreeOSMemory()
		}
	}
}

// A memoryUse is what the runtime says about its memory, in bytes.
type memoryUse struct {
	allocated uint64 // since the process began
	live      uint64 // in the heap after the last collection
	other     uint64 // stacks, the allocator's own, and the like
}

// readMemoryUse returns a function that reads the memory. It reuses what it needs for that.
func readMemoryUse() func() memoryUse {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	return func() memoryUse {
		metrics.Read(samples)
		of := func(i int) uint64 { return samples[i].Value.Uint64() }
		return memoryUse{of(0), of(1), of(2) - of(3) - of(4) - of(5)}
	}
}

// limit returns least while nine tenths of it hold the memory in use, and more by three times what
// is above.
func (m memoryUse) limit(least int64) int64 {
	above := int64(m.live+m.other) - least/10*9
	return least + 3*max(above, 0)
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
