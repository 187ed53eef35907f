package engine

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

// A due task is deferred when its line is paused, or has no room for long. It is written once: its
// VisibleAt becomes the shelf of the line, where it costs nothing as long as the line is blocked.
// When the line may go again, nothing is written either: the loader reads that shelf.
//
// A shelf is a value of VisibleAt, in Unix ms, that lies beyond all times that a task may have. So
// all tasks of a shelf stand together in the due index, in the order of their ids, behind all times.
// Two lines may have the same shelf; then the one is read with the other.
type shelf int64

const firstShelf shelf = 1 << 52 // in the year 144683. The last one is below 1<<53, up to which a float64 counts

func shelfOf(l store.Line) shelf { return firstShelf | shelf(l)&(firstShelf-1) }

// merchantShelf is for the tasks of a merchant who is paused.
func merchantShelf(no string) shelf { return shelfOf(store.LineOf("", merchantTarget+no)) }

func (s shelf) time() time.Time { return time.UnixMilli(int64(s)).UTC() }

// isShelf reports whether a VisibleAt is a shelf.
func isShelf(visibleAt int64) bool { return shelf(visibleAt) >= firstShelf }

// When the tasks of a shelf are read that was read in vain: its line took none of them.
const (
	firstRest = 500 * time.Millisecond
	lastRest  = 30 * time.Second

	shelfPage  = 16      // entries that are read then; four times as many each time that the line takes them all
	maxShelves = 200_000 // that are known at once
	mostLooked = 64      // shelves without room that the loader looks at before it goes on with something else
)

// shelves are those that may have tasks of this node's shards which are not in hand.
type shelves struct {
	mu   locks.Mutex
	of   map[shelf]*shelved
	full bool // there are others

	woken bool // some may be read now that could not before
}

// shelved is what is known of a shelf.
type shelved struct {
	line     store.Line // of its tasks; 0: not known
	merchant string     // who is paused, for which they wait; empty: their line
	from     bellman.ID // the first that may have to be read
	read     time.Time  // when it was read last, or found
	next     time.Time  // when it is read again
	rest     time.Duration
	page     int  // how much is read then
	back     bool // something that was read was put back
}

// put notes that a task stands on a shelf and is not in hand.
func (s *shelves) put(on shelf, line store.Line, merchant string, id bellman.ID, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(on, line, merchant, id, now)
}

// putBack is put for one that had been read, and was not attempted.
func (s *shelves) putBack(on shelf, line store.Line, merchant string, id bellman.ID, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh := s.note(on, line, merchant, id, now); sh != nil && !sh.back {
		sh.back, sh.next = true, now.Add(sh.rest)
	}
}

// note is put. Call it with mu held. It returns nil if there is no room.
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

// wake makes the loader look at all shelves again.
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

// takeFull reports whether there were shelves which are not known, and room for some now.
func (s *shelves) takeFull() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	full := s.full && len(s.of) < maxShelves/2
	s.full = s.full && !full
	return full
}

// ready appends the shelves that may be read now.
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

// get returns what is known of a shelf.
func (s *shelves) get(on shelf) (sh shelved, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.of[on]; p != nil {
		return *p, true
	}
	return shelved{}, false
}

// put off looks at a shelf later.
func (s *shelves) putOff(on shelf, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh := s.of[on]; sh != nil {
		sh.next = until
	}
}

// begin notes that a shelf is about to be read, and returns from where. What is put there meanwhile has to be read again.
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

// end notes that a shelf was read up to the first task that may have to be read next; lastID: there is none.
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

// startAt is the position just before the one of an id.
func startAt(on shelf, id bellman.ID) store.Position {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]--; id[i] != 0xff {
			break
		}
	}
	if id == lastID { // it was zero
		id = bellman.ID{}
	}
	return store.Position{VisibleAt: int64(on), ID: id}
}

// idAfter is the first id after one.
func idAfter(id bellman.ID) bellman.ID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			return id
		}
	}
	return lastID
}

// mayGo reports whether the tasks of a shelf may go, as far as is known, and how many its line has room for. If
// not, until says when to ask again.
func (l *loader) mayGo(sh *shelved, now time.Time) (room int, until time.Time) {
	if sh.merchant != "" && l.pauses.merchant(sh.merchant) != nil {
		return 0, now.Add(lastRest)
	}
	if sh.line == 0 {
		return sh.page - len(l.pending), until
	}
	room, wait := l.dispatch.Room(now.UnixNano(), uint64(sh.line), longWait)
	switch {
	case wait == dispatch.Forever:
		return 0, now.Add(lastRest)
	case now.Sub(sh.read) >= lastRest:
		return shelfPage, until // they are older than what takes all the room
	case room <= 0 && wait > longWait:
		return 0, now.Add(min(wait/2, lastRest))
	}
	for p, n := range l.share {
		if p.line == sh.line {
			room -= n
		}
	}
	return min(room, sh.page), until
}

// readShelf takes the next page of a shelf in hand whose line may go. more says that another may be read at once.
func (l *loader) readShelf(ctx context.Context, now time.Time) (more bool, err error) {
	if l.shelves.takeWoken() || now.Sub(l.looked) >= fastSweep {
		l.looked = now
		l.ready = l.shelves.ready(now, l.ready[:0])
	}
	waits := 0
	for len(l.ready) > waits && waits < mostLooked {
		on := l.ready[0]
		sh, ok := l.shelves.get(on)
		if !ok || sh.next.After(now) {
			l.ready = l.ready[1:]
			continue
		}
		room, until := l.mayGo(&sh, now)
		switch {
		case !until.IsZero():
			l.shelves.putOff(on, until)
			l.ready = l.ready[1:]
			continue
		case room <= 0:
			waits++
			l.ready = append(l.ready[1:], on)
			continue
		}
		l.ready = append(l.ready[1:], on)
		return true, l.readOn(ctx, on, min(room, l.limits.Page), now)
	}
	return false, nil
}

// readOn takes a page of a shelf in hand.
func (l *loader) readOn(ctx context.Context, on shelf, limit int, now time.Time) (err error) {
	from := l.shelves.begin(on, now)
	defer func() { l.shelves.end(on, from) }()
	l.agenda.beginRead(0)
	l.page, err = l.store.Due(ctx, l.leases.shards(), startAt(on, from), int64(on)+1, limit, l.page[:0])
	l.take(l.agenda.endRead(l.page, 0, now.UnixMilli(), nil))
	switch {
	case err != nil:
		return err
	case len(l.page) < limit:
		from = lastID
	default:
		from = idAfter(l.page[limit-1].ID)
	}
	return nil
}

// A search is for the shelves of shards that this node has won.
type search struct {
	shards []uint16
	at     store.Position
}

// find reads on in a search for shelves. The tasks that it finds are read by readShelf.
func (l *loader) find(ctx context.Context, now time.Time) (more bool, err error) {
	if l.search == nil {
		return false, nil
	}
	s := l.search
	if s.shards = l.among(s.shards); len(s.shards) == 0 {
		l.search = nil
		return false, nil
	}
	l.page, err = l.store.Due(ctx, s.shards, s.at, noTime, l.limits.Page, l.page[:0])
	if err != nil {
		return false, err
	}
	on := shelf(0)
	for i := range l.page {
		if en := &l.page[i]; shelf(en.VisibleAt) != on {
			on = shelf(en.VisibleAt)
			l.shelves.put(on, en.Line, "", en.ID, now)
		}
	}
	l.looked = time.Time{} // some may be read
	if len(l.page) < l.limits.Page {
		l.search = nil
		return false, nil
	}
	s.at = store.Position{VisibleAt: int64(on) + 1}
	return true, nil
}

// searchShelves makes the loader find the shelves of some shards.
func (l *loader) searchShelves(shards []uint16) {
	if l.search != nil {
		shards = slices.Compact(slices.Sorted(slices.Values(slices.Concat(shards, l.search.shards))))
	}
	l.search = &search{shards, store.Position{VisibleAt: int64(firstShelf)}}
}
