package engine

import (
	"log/slog"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/store"
)

const (
	bigStep = time.Second // the wall clock was set if it differs from the engine's by at least this
	farStep = 10 * time.Second
	agrees  = store.LeaseTTL + 300*time.Millisecond // the store's clock agrees with the engine's if it differs by less
)

// A wallStep decides whether the engine's clock follows the wall clock after that was set. It does,
// unless the wall clock differs by farStep or more and the store's clock says that the engine's is
// right. Otherwise a node whose clock is an hour ahead would attempt tasks, and close orders, more
// and more early, although its database knows better. Such a node could not even start. It belongs
// to one goroutine.
type wallStep struct {
	leases *cluster.Member
	log    *slog.Logger

	since   time.Time // when the step was found, on the monotonic clock; zero: the clocks agree
	said    bool      // the log says what follows from it
	ignored bool      // the wall clock is not followed
}

func (s *wallStep) believe(ahead time.Duration) bool {
	if ahead.Abs() < bigStep {
		s.since, s.said, s.ignored = time.Time{}, false, false
		return true
	}
	if s.since.IsZero() {
		s.since = time.Now()
	}
	byStore, at := s.leases.StoreAhead()
	far := !at.IsZero() && ahead.Abs() >= farStep
	ignored := far && byStore.Abs() < agrees
	if far && at.Before(s.since) {
		// After a pause of the machine the store's clock is ahead too. The next look will say so.
		return !ignored
	}
	switch {
	case s.said && ignored == s.ignored:
	case ignored:
		s.log.Error("the wall clock is wrong by the store's clock; it is not followed, and this node cannot start again until it is right", "ahead", ahead)
	default:
		s.log.Warn("the wall clock was set; it is followed slowly, so that gaps between attempts stay right", "ahead", ahead)
	}
	s.said, s.ignored = true, ignored
	return !ignored
}
