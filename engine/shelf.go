package engine

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

// A due task is deferred when its line is paused or has no room for long. One write moves its
// VisibleAt to the shelf of the line. While the line is blocked, the task causes no further writes.
// When the line may go, nothing is written either: the loader reads the shelf.
//
// A shelf is a value of VisibleAt, in Unix ms, beyond all times of tasks. So the tasks of a shelf
// are adjacent at the end of the due index, ordered by id. Two lines may share a shelf; they are then
// read together.
type shelf int64

const firstShelf shelf = 1 << 52 // in the year 144683; all shelves are below 1<<53, so a float64 holds them

func shelfOf(l store.Line) shelf { return firstShelf | shelf(l)&(firstShelf-1) }

// merchantShelf is the shelf for tasks of a paused merchant.
func merchantShelf(no string) shelf { return shelfOf(store.LineOf("", merchantTarget+no)) }

func (s shelf) time() time.Time { return time.UnixMilli(int64(s)).UTC() }

// isShelf reports whether a VisibleAt, Unix ms, is a shelf.
func isShelf(visibleAt int64) bool { return shelf(visibleAt) >= firstShelf }

// How shelves are read. After a read whose tasks the line did not take, the shelf rests for
// firstRest, doubling to lastRest.
const (
	firstRest = 500 * time.Millisecond
	lastRest  = 30 * time.Second

	shelfPage  = 16      // entries of the first read; the next read has four times as many if the line took all of them
	maxShelves = 200_000 // shelves that are remembered
	mostLooked = 64      // shelves without room that one round of the loader checks
)

// shelves are the shelves with tasks of this node's shards that are not in the agenda.
type shelves struct {
	mu   locks.Mutex
	of   map[shelf]*shelved
	full bool // there are shelves that are not remembered

	woken bool // some shelves may be readable now
}

// shelved is the state of one shelf.
type shelved struct {
	line     store.Line    // the line of its tasks; 0: unknown
	merchant string        // the paused merchant; empty: its tasks wait for their line
	from     bellman.ID    // the first task that may have to be read
	read     time.Time     // when it was last read, or found
	next     time.Time     // earliest time of the next read
	rest     time.Duration // after a read, if a task is put back
	page     int           // entries of the next read
	back     bool          // a task of the last read was put back
}

// put notes that a shelf has a task that is not in the agenda.
func (s *shelves) put(on shelf, line store.Line, merchant string, id bellman.ID, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(on, line, merchant, id, now)
}

// putBack is put for a task that was read and not attempted.
func (s *shelves) putBack(on shelf, line store.Line, merchant string, id bellman.ID, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh := s.note(on, line, merchant, id, now); sh != nil && !sh.back {
		sh.back, sh.next = true, now.Add(sh.rest)
	}
}

// note is put for a caller that holds mu. It returns nil if too many shelves are remembered.
func (s *shelves) note(on shelf, line store.Line, merchant string, id bellman.ID, now time.Time) *shelved {
	sh := s.of[on]
	switch {
	case sh == nil && len(s.of) >= maxShelves:
		s.full = true
		return nil
	case sh == nil:
		if s.of == nil {
			s.of = make(map[shelf]*shelved)
		}
		sh = &shelved{from: id, page: shelfPage, read: now}
		s.of[on] = sh
	case bytes.Compare(id[:], sh.from[:]) < 0:
		sh.from = id
	}
	if shelfOf(line) == on {
		sh.line = line
	}
	if merchant != "" && merchantShelf(merchant) == on {
		sh.merchant = merchant
	}
	return sh
}

// wake makes all shelves readable now.
func (s *shelves) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sh := range s.of {
		sh.next, sh.rest = time.Time{}, 0
	}
	s.woken = true
}

func (s *shelves) takeWoken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	woken := s.woken
	s.woken = false
	return woken
}

// takeFull reports whether shelves were forgotten and there is room for them now.
func (s *shelves) takeFull() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	full := s.full && len(s.of) < maxShelves/2
	s.full = s.full && !full
	return full
}

// ready appends the shelves that may be read now to list.
func (s *shelves) ready(now time.Time, list []shelf) []shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	for on, sh := range s.of {
		if !sh.next.After(now) {
			list = append(list, on)
		}
	}
	slices.Sort(list)
	return list
}

// get returns the state of a shelf.
func (s *shelves) get(on shelf) (sh shelved, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.of[on]; p != nil {
		return *p, true
	}
	return shelved{}, false
}

// putOff postpones the next read of a shelf.
func (s *shelves) putOff(on shelf, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh := s.of[on]; sh != nil {
		sh.next = until
	}
}

// begin marks the start of a read and returns its first id. Tasks that are put on the shelf from
// then on are read again.
func (s *shelves) begin(on shelf, now time.Time) (from bellman.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.of[on]
	from = sh.from
	if sh.back {
		sh.rest, sh.page = min(max(2*sh.rest, firstRest), lastRest), shelfPage
	} else {
		sh.rest, sh.page = 0, min(4*sh.page, maxShelves)
	}
	sh.from, sh.back, sh.next, sh.read = lastID, false, time.Time{}, now
	return from
}

// end marks the end of a read. from is the first task of the next read; lastID: the shelf is empty.
func (s *shelves) end(on shelf, from bellman.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.of[on]
	if bytes.Compare(from[:], sh.from[:]) < 0 {
		sh.from = from
	}
	if sh.from == lastID {
		delete(s.of, on)
	}
}

var lastID = bellman.ID(bytes.Repeat([]byte{0xff}, len(bellman.ID{})))

// startAt returns the position just before an id on a shelf.
func startAt(on shelf, id bellman.ID) store.Position {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]--; id[i] != 0xff {
			break
		}
	}
	if id == lastID { // id was zero, and has wrapped around
		id = bellman.ID{}
	}
	return store.Position{VisibleAt: int64(on), ID: id}
}

// idAfter returns the next id.
func idAfter(id bellman.ID) bellman.ID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			return id
		}
	}
	return lastID
}

const merchantTarget = "merchant/" // prefix of a merchant number in the name of a pause

func isMerchantTarget(target string) bool { return strings.HasPrefix(target, merchantTarget) }
