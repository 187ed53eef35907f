package engine

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"
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
// are adjacent at the end of the due index, ordered by id. Two lines may share a shelf; they are
// then read together.
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

// shelves are the shelves with tasks of this node's shards that are not in the agenda, or have just
// been read and wait for their lines.
type shelves struct {
	mu   locks.Mutex
	of   map[shelf]*shelved
	n    atomic.Int64 // len(of)
	full bool         // there are shelves that are not remembered

	woken   bool    // some shelves may be readable now
	hurried []shelf // read these first
}

// shelved is the state of one shelf.
type shelved struct {
	line     store.Line    // the line of its tasks; 0: unknown
	merchant string        // the paused merchant; empty: its tasks wait for their line
	from     bellman.ID    // the first task that may have to be read; lastID: all were read
	attempts int           // of that task, or of the one before it
	next     time.Time     // earliest time of the next read
	rest     time.Duration // after a read, if a task is put back
	page     int           // entries of the next read
	back     bool          // a task of the last read was put back
	hurried  bool          // it is in shelves.hurried
}

// put notes that a shelf has a task that is not in the agenda.
func (s *shelves) put(en *store.Entry, merchant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(en, merchant)
}

// putBack is put for a task that was read and not attempted.
func (s *shelves) putBack(en *store.Entry, merchant string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh := s.note(en, merchant); sh != nil && !sh.back {
		sh.back, sh.next = true, now.Add(sh.rest)
	}
}

// note is put for a caller that holds mu. It returns nil if too many shelves are remembered.
func (s *shelves) note(en *store.Entry, merchant string) *shelved {
	on := shelf(en.VisibleAt)
	sh := s.of[on]
	switch {
	case sh == nil && len(s.of) >= maxShelves:
		s.full = true
		return nil
	case sh == nil:
		if s.of == nil {
			s.of = make(map[shelf]*shelved)
		}
		sh = &shelved{from: en.ID, attempts: int(en.Attempts), page: shelfPage}
		s.of[on] = sh
		s.n.Store(int64(len(s.of)))
	case bytes.Compare(en.ID[:], sh.from[:]) < 0:
		sh.from, sh.attempts = en.ID, int(en.Attempts)
	}
	if shelfOf(en.Line) == on {
		sh.line = en.Line
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

// has reports whether a shelf has tasks that wait for their line.
func (s *shelves) has(on shelf) bool {
	if s.n.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[on] != nil
}

// hurry makes a shelf readable now, before others, unless a task of the last read was put back. It
// reports whether that changes something.
func (s *shelves) hurry(on shelf) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.of[on]
	if sh == nil || sh.back || sh.hurried || sh.from == lastID {
		return false
	}
	sh.next, sh.hurried = time.Time{}, true
	s.hurried = append(s.hurried, on)
	return true
}

// takeHurried returns the shelves that are to be read first.
func (s *shelves) takeHurried() []shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	hurried := s.hurried
	for _, on := range hurried {
		if sh := s.of[on]; sh != nil {
			sh.hurried = false
		}
	}
	s.hurried = nil
	return hurried
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

// restUntil shortens the rest of a shelf.
func (s *shelves) restUntil(on shelf, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh := s.of[on]; sh != nil && sh.next.After(until) {
		sh.next = until
	}
}

// begin marks the start of a read and returns its first id. Tasks that are put on the shelf from
// then on are read again.
func (s *shelves) begin(on shelf) (from bellman.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.of[on]
	from = sh.from
	if sh.back {
		sh.rest, sh.page = min(max(2*sh.rest, firstRest), lastRest), shelfPage
	} else {
		sh.rest, sh.page = 0, min(4*sh.page, maxShelves)
	}
	sh.from, sh.back, sh.next = lastID, false, time.Time{}
	return from
}

// end marks the end of a read of some entries. from is the first task of the next read; lastID: all
// were read.
func (s *shelves) end(on shelf, from bellman.ID, read []store.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.of[on]
	if bytes.Compare(from[:], sh.from[:]) < 0 {
		sh.from = from
		if len(read) > 0 {
			sh.attempts = int(read[len(read)-1].Attempts)
		}
	}
}

// forget forgets a shelf whose tasks have all been read.
func (s *shelves) forget(on shelf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh := s.of[on]; sh != nil && sh.from == lastID {
		delete(s.of, on)
		s.n.Store(int64(len(s.of)))
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
