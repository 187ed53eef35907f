package sqlstore

import (
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/store"
)

// A Pool describes the use of a database's connections.
type Pool struct {
	Most   int           // maximum number of connections
	Open   int           // open connections
	InUse  int           // open connections in use
	Waits  int64         // number of waits for a connection
	Waited time.Duration // total time of these waits
}

// counters are the counts behind Figures.
type counters struct{ transactions, again, broken, unknown, fenced atomic.Int64 }

// Figures implements [store.Figures].
func (s *Store) Figures() []store.Figure {
	p, c := s.d.Pool(), &s.count
	return []store.Figure{
		{Name: "connections", Help: "Connections to the database.", Value: float64(p.Open)},
		{Name: "connections_in_use", Help: "Connections to the database in use.", Value: float64(p.InUse)},
		{Name: "connections_most", Help: "Most connections to the database.", Value: float64(p.Most)},
		{Name: "connection_waits_total", Help: "How often a call waited for a connection.", Counter: true, Value: float64(p.Waits)},
		{Name: "connection_wait_seconds_total", Help: "Total time of waiting for a connection.", Counter: true, Value: p.Waited.Seconds()},
		{Name: "transactions_total", Help: "Committed transactions.", Counter: true, Value: float64(c.transactions.Load())},
		{Name: "transactions_again_total", Help: "Transactions that were retried after a conflict or a deadlock.", Counter: true, Value: float64(c.again.Load())},
		{Name: "broken_connections_total", Help: "Reads and transactions that failed because the connection broke.", Counter: true, Value: float64(c.broken.Load())},
		{Name: "unknown_commits_total", Help: "Commits with an unknown outcome.", Counter: true, Value: float64(c.unknown.Load())},
		{Name: "fenced_commits_total", Help: "Commits that were rejected because another node owns the shard.", Counter: true, Value: float64(c.fenced.Load())},
	}
}
