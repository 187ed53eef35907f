package sqlstore

import (
	"sync/atomic"
	"time"
)

// Stats are figures of a store since it was opened.
type Stats struct {
	Pool Pool

	Transactions int64 // that were committed
	Again        int64 // begun again: lost against another, or a deadlock
	Broken       int64 // of reads and transactions: their connection broke
	Unknown      int64 // commits of which nobody knows what came
	Fenced       int64 // commits refused, since another owner has the shard
}

// A Pool says how the connections of a database are used.
type Pool struct {
	Most   int           // there may be at once
	Open   int           // there are
	InUse  int           // of them, by somebody
	Waits  int64         // times that somebody had to wait for one
	Waited time.Duration // all in all
}

// counters are what Stats counts.
type counters struct{ transactions, again, broken, unknown, fenced atomic.Int64 }

// Stats returns the figures of the moment.
func (s *Store) Stats() Stats {
	return Stats{
		Pool:         s.d.Pool(),
		Transactions: s.count.transactions.Load(),
		Again:        s.count.again.Load(),
		Broken:       s.count.broken.Load(),
		Unknown:      s.count.unknown.Load(),
		Fenced:       s.count.fenced.Load(),
	}
}
