package pebble

import (
	"bytes"
	"math"
	"slices"
	"sync"

	"github.com/bellmanhq/bellman"
)

// A front is a position before which the due table has no entry. Without a front, a scan from the
// beginning would read the tombstones of all tasks that ended since the last compaction.
type front struct {
	mu    sync.Mutex
	low   position // no entry is before it
	write position // the earliest entry of the commit being written
	scans []*scan  // under way
}

// A scan reads the due entries, from the front or from a later position.
type scan struct {
	whole bool     // it began at or before the front
	floor position // the earliest entry that was written since, or was being written
}

// A position in the due table.
type position struct {
	look int64
	id   bellman.ID
}

var (
	firstPosition = position{look: math.MinInt64}
	lastPosition  = position{math.MaxInt64, bellman.ID(bytes.Repeat([]byte{0xff}, 16))}
)

func (p position) before(q position) bool {
	return p.look < q.look || p.look == q.look && p.id.Compare(q.id) < 0
}

func lesser(a, b bellman.ID) bellman.ID {
	if a.Compare(b) < 0 {
		return a
	}
	return b
}

// writing announces a commit that is about to write entries; p is the earliest entry.
func (f *front) writing(p position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.write = p
	if p.before(f.low) {
		f.low = p
	}
	for _, s := range f.scans {
		if p.before(s.floor) {
			s.floor = p
		}
	}
}

// wrote announces that the commit is visible.
func (f *front) wrote() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.write = lastPosition
}

// begin registers a scan from the position from. It returns a later start position if the front
// allows it.
func (f *front) begin(from position) (position, *scan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	whole := from.before(f.low) || from == f.low && from.id.IsZero()
	s := &scan{whole: whole, floor: f.write}
	f.scans = append(f.scans, s)
	if s.whole {
		return f.low, s
	}
	return from, s
}

// end removes the scan; first is the first entry that the scan read.
func (f *front) end(s *scan, first position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scans = slices.DeleteFunc(f.scans, func(t *scan) bool { return t == s })
	if s.floor.before(first) {
		first = s.floor
	}
	if s.whole && f.low.before(first) {
		f.low = first
	}
}
