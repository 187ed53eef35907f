package sqlstore

import (
	"math"
	"sync"
	"time"
)

// The search for the earliest finished tasks begins where the previous one ended. Before that
// point PostgreSQL has the index entries of deleted rows, until a vacuum removes them, and a search
// from the beginning passes them all. It is therefore repeated at once only if it is quick, and
// otherwise takes one part in pruneDeepPart of the time. It finds tasks that were added with an
// earlier end, by an import for example.
const (
	pruneDeepQuick = 5 * time.Millisecond
	pruneDeepPart  = 100
	pruneDeepRare  = 10 * time.Minute // the longest time between searches from the beginning
)

// A pruneStart is where the search for the earliest finished tasks of one state begins.
type pruneStart struct {
	mu   sync.Mutex
	from int64     // when the last deleted task finished, Unix ms
	deep time.Time // no search from the beginning before this time
}

// earliest is the start of a search from the beginning.
const earliest = math.MinInt64

// at returns the start of a search.
func (p *pruneStart) at(now time.Time) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Before(p.deep) {
		return p.from
	}
	return earliest
}

// searched notes a search that began at from, and that the tasks that it found are deleted.
func (p *pruneStart) searched(from int64, found *oldTasks) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if from == earliest {
		p.deep = found.began
		if found.took > pruneDeepQuick {
			p.deep = found.began.Add(min(pruneDeepPart*found.took, pruneDeepRare))
		}
	}
	if len(found.ids) > 0 {
		p.from = found.last
	}
}
