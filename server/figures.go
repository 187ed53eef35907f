package server

import (
	"github.com/bellmanhq/bellman/internal/metrics"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store/pebble"
	"github.com/bellmanhq/bellman/store/redis"
)

// figures are what the store has to say of itself.
func (s *Server) figures() []metrics.Figure {
	switch store := s.store.(type) {
	case *pebble.Store:
		return embeddedFigures(store.Metrics())
	case *redis.Store:
		return redisFigures(store.Stats())
	case interface{ Stats() sqlstore.Stats }:
		return databaseFigures(store.Stats())
	}
	return nil
}

// databaseFigures are what a store in a database has to say of itself.
func databaseFigures(s sqlstore.Stats) []metrics.Figure {
	return []metrics.Figure{
		{Name: "connections", Help: "Connections to the database.", Value: float64(s.Pool.Open)},
		{Name: "connections_in_use", Help: "Connections to the database that are in use.", Value: float64(s.Pool.InUse)},
		{Name: "connections_most", Help: "Connections to the database that there may be.", Value: float64(s.Pool.Most)},
		{Name: "connection_waits_total", Help: "Times that a connection had to be waited for.", Counter: true, Value: float64(s.Pool.Waits)},
		{Name: "connection_wait_seconds_total", Help: "Time that connections were waited for.", Counter: true, Value: s.Pool.Waited.Seconds()},
		{Name: "transactions_total", Help: "Transactions that were committed.", Counter: true, Value: float64(s.Transactions)},
		{Name: "transactions_again_total", Help: "Transactions that were begun again: another was faster, or a deadlock.", Counter: true, Value: float64(s.Again)},
		{Name: "broken_connections_total", Help: "Reads and transactions whose connection broke.", Counter: true, Value: float64(s.Broken)},
		{Name: "unknown_commits_total", Help: "Commits of which nobody knows what came.", Counter: true, Value: float64(s.Unknown)},
		{Name: "fenced_commits_total", Help: "Commits refused, since another node owns the shard.", Counter: true, Value: float64(s.Fenced)},
	}
}

// redisFigures are what a store in Redis has to say of itself.
func redisFigures(s redis.Stats) []metrics.Figure {
	return []metrics.Figure{
		{Name: "connections", Help: "Connections to the database.", Value: float64(s.Open)},
		{Name: "connections_in_use", Help: "Connections to the database that are in use.", Value: float64(s.InUse)},
		{Name: "connections_most", Help: "Connections to the database that there may be.", Value: float64(s.Most)},
		{Name: "transactions_total", Help: "Transactions that were committed.", Counter: true, Value: float64(s.Commits)},
		{Name: "broken_connections_total", Help: "Reads and transactions whose connection broke.", Counter: true, Value: float64(s.Broken)},
		{Name: "unknown_commits_total", Help: "Commits of which nobody knows what came.", Counter: true, Value: float64(s.Unknown)},
		{Name: "fenced_commits_total", Help: "Commits refused, since another node owns the shard.", Counter: true, Value: float64(s.Fenced)},
	}
}

// figuresOfPeers are what nodes told one another.
func (s *Server) figuresOfPeers() []metrics.Figure {
	if s.peers == nil {
		return nil
	}
	return []metrics.Figure{
		{Name: "hints_sent_total", Help: "Hints that another node has taken.", Counter: true, Value: float64(s.peers.sent.Load())},
		{Name: "hints_failed_total", Help: "Hints that another node has not taken.", Counter: true, Value: float64(s.peers.failed.Load())},
		{Name: "hints_received_total", Help: "Hints that came from other nodes.", Counter: true, Value: float64(s.peers.received.Load())},
		{Name: "hints_refused_total", Help: "Hints that were not signed as by another node.", Counter: true, Value: float64(s.peers.refused.Load())},
	}
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
