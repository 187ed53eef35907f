package engine

import (
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/store"
)

// A sweep decides where the sweeps of the due index begin. Usually a deep sweep begins at the
// index's beginning, and a fast one at recentPast. But while a long transaction is open, PostgreSQL
// keeps the entries of ended tasks, and each read passes those in its range. If that takes long,
// most deep sweeps begin where the one before found the first task, and most fast sweeps at
// narrowPast. A store answers no read that takes too long. So a read that exceeds sweepPatience is
// made shard by shard.
//
// floor may be read at any time. The rest belongs to the loader's goroutine.
type sweep struct {
	floor atomic.Int64 // where other readers of overdue tasks should begin, Unix ms; 0: at the beginning

	first int64         // where overdue tasks begin, Unix ms: recentPast before the last sweep, or earlier
	took  time.Duration // duration of the last read from the beginning
	next  time.Time     // no deep sweep from the beginning before this time

	wide     int64         // where the last fast sweep of recentPast began, Unix ms
	wideTook time.Duration // its duration
	nextWide time.Time     // no such sweep before this time
}

const (
	recentPast = 30 * time.Second // how far a fast sweep goes back

	sweepPart  = 100              // sweeps take one hundredth of the time at most
	sweepRare  = 10 * time.Minute // but there is a deep one from the beginning in this time
	wideRare   = 5 * time.Second  // and a fast one of recentPast in this
	narrowPast = 3 * time.Second

	sweepQuick = 100 * time.Millisecond // duration of a read from the beginning that may be frequent

	sweepPatience = 5 * time.Second // a read back that takes longer is given up, and made shard by shard
)

// deep returns where a deep sweep begins.
func (s *sweep) deep(now time.Time) int64 {
	if now.Before(s.next) {
		return s.first
	}
	return 0
}

// fast returns where a fast sweep begins.
func (s *sweep) fast(now time.Time) int64 {
	if now.Before(s.nextWide) {
		return now.Add(-narrowPast).UnixMilli()
	}
	s.wide = now.Add(-recentPast).UnixMilli()
	return s.wide
}

// read notes the first page of a sweep. One slow read is no sign: the store may have been away. So
// the quicker one of two counts.
func (s *sweep) read(at store.Position, page []store.Entry, began, ended time.Time) {
	took := ended.Sub(began)
	if at == (store.Position{VisibleAt: s.wide}) {
		s.nextWide = began.Add(min(sweepPart*min(took, s.wideTook), wideRare))
		s.wideTook = took
	}
	if at.VisibleAt > s.first || !at.ID.IsZero() {
		return // tasks may be overdue since before
	}
	s.first = began.Add(-recentPast).UnixMilli()
	if len(page) > 0 {
		s.first = min(s.first, page[0].VisibleAt)
	}
	slow := s.floor.Load() > 0
	if at.VisibleAt == 0 {
		quicker := min(took, s.took)
		s.next = began.Add(min(sweepPart*quicker, sweepRare))
		s.took, slow = took, quicker > sweepQuick
	}
	if slow {
		s.floor.Store(s.first)
	} else {
		s.floor.Store(0)
	}
}
