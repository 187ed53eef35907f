package redis

import (
	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman/store"
)

// Figures implements [store.Figures].
func (s *Store) Figures() []store.Figure {
	var pool *client.PoolStats
	if s.cluster != nil {
		pool = s.cluster.PoolStats()
	} else {
		pool = s.single.PoolStats()
	}
	return []store.Figure{
		{Name: "connections", Help: "Connections to the database.", Value: float64(pool.TotalConns)},
		{Name: "connections_in_use", Help: "Connections to the database in use.", Value: float64(pool.TotalConns - pool.IdleConns)},
		{Name: "connections_most", Help: "Most connections to the database.", Value: float64(s.size)},
		{Name: "transactions_total", Help: "Committed transactions.", Counter: true, Value: float64(s.count.commits.Load())},
		{Name: "broken_connections_total", Help: "Reads and transactions that failed because the connection broke.", Counter: true, Value: float64(s.count.broken.Load())},
		{Name: "unknown_commits_total", Help: "Commits with an unknown outcome.", Counter: true, Value: float64(s.count.unknown.Load())},
		{Name: "fenced_commits_total", Help: "Commits that were rejected because another node owns the shard.", Counter: true, Value: float64(s.count.fenced.Load())},
	}
}
