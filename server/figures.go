package server

import (
	"github.com/bellmanhq/bellman/metrics"
	"github.com/bellmanhq/bellman/pebble"
)

// figures are what the store has to say of itself.
func (s *Server) figures() []metrics.Figure {
	if store, is := s.store.(*pebble.Store); is {
		return embeddedFigures(store.Metrics())
	}
	return nil
}

// embeddedFigures are what the embedded store has to say of itself.
func embeddedFigures(m pebble.Metrics) []metrics.Figure {
	full := 0.0
	if m.Full {
		full = 1
	}
	return []metrics.Figure{
		{Name: "disk_bytes", Help: "Bytes on disk.", Value: float64(m.DiskBytes)},
		{Name: "free_bytes", Help: "Bytes free on the disk.", Value: float64(m.FreeBytes)},
		{Name: "wal_bytes", Help: "Bytes of write-ahead log.", Value: float64(m.WALBytes)},
		{Name: "cache_bytes", Help: "Bytes of blocks in memory.", Value: float64(m.CacheBytes)},
		{Name: "cache_hits_total", Help: "Blocks found in memory.", Counter: true, Value: float64(m.CacheHits)},
		{Name: "cache_misses_total", Help: "Blocks read from disk.", Counter: true, Value: float64(m.CacheMisses)},
		{Name: "memtable_bytes", Help: "Bytes written and not yet sorted into files.", Value: float64(m.MemTableBytes)},
		{Name: "read_amplification", Help: "Files that a read may have to look at.", Value: float64(m.ReadAmp)},
		{Name: "compaction_debt_bytes", Help: "Bytes that compaction has still to rewrite.", Value: float64(m.CompactionDebt)},
		{Name: "compactions_total", Help: "Compactions.", Counter: true, Value: float64(m.Compactions)},
		{Name: "flushes_total", Help: "Memtables sorted into files.", Counter: true, Value: float64(m.Flushes)},
		{Name: "write_stalls_total", Help: "Times that writes had to wait for compaction.", Counter: true, Value: float64(m.WriteStalls)},
		{Name: "disk_full", Help: "1 while the disk has no room for new tasks.", Value: full},
	}
}
