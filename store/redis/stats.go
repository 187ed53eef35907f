package redis

import client "github.com/redis/go-redis/v9"

// Stats are figures of a store, since it was opened but for Open and InUse.
type Stats struct {
	Open, InUse, Most int   // connections; of a Cluster to all its servers
	Commits           int64 // that succeeded
	Unknown           int64 // of which nobody knows what came
	Broken            int64 // calls whose connection broke, or was never made
	Fenced            int64 // refused, since another node owns the shard
}

// Stats reads the figures.
func (s *Store) Stats() Stats {
	st := Stats{Most: s.size, Commits: s.count.commits.Load(), Unknown: s.count.unknown.Load(), Broken: s.count.broken.Load(), Fenced: s.count.fenced.Load()}
	var pool *client.PoolStats
	if s.cluster != nil {
		pool = s.cluster.PoolStats()
	} else {
		pool = s.single.PoolStats()
	}
	st.Open, st.InUse = int(pool.TotalConns), int(pool.TotalConns-pool.IdleConns)
	return st
}
