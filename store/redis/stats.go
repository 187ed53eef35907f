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
		{Name: "connections_in_use", Help: "Connections to the database that are in use.", Value: float64(pool.TotalConns - pool.IdleConns)},
		{Name: "connections_most", Help: "Connections to the database that there may be.", Value: float64(s.size)},
		{Name: "transactions_total", Help: "Transactions that were committed.", Counter: true, Value: float64(s.count.commits.Load())},
		{Name: "broken_connections_total", Help: "Reads and transactions whose connection broke.", Counter: true, Value: float64(s.count.broken.Load())},
		{Name: "unknown_commits_total", Help: "Commits of which nobody knows what came.", Counter: true, Value: float64(s.count.unknown.Load())},
		{Name: "fenced_commits_total", Help: "Commits refused, since another node owns the shard.", Counter: true, Value: float64(s.count.fenced.Load())},
	}
}
