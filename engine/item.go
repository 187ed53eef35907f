package engine

import (
	"math"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// An item is one task in the agenda.
type item struct {
	store.Entry
	task       *bellman.Task // nil until it is needed
	timer      int           // index in the timers
	place      place
	gone       bool          // removed from the agenda, for example by a cancel: a line that still holds it skips it (gate.inAgenda)
	urgent     bool          // somebody waits for its attempt
	deferral   bool          // in flight only to be deferred
	handedOver bool          // in flight while its shard moves to another node
	fresh      bool          // this node has just added its task
	suspect    bool          // due before its shard was claimed from a dead owner: it may have caused that death
	begun      bool          // its attempt has started
	stays      bool          // in flight and cannot be handed over: its shard is not released meanwhile
	awaited    bool          // another task of its chain waits for it
	peers      peers         // the line and age class under which it is counted while pending
	limit      time.Duration // of its attempt, once in flight
	known      time.Time     // the store confirmed its content at this moment or later, on the monotonic clock
	notBefore  int64         // earliest time of its line, if that is after VisibleAt, Unix ms
	changed    int64         // its VisibleAt after a manual change while in flight, Unix ms; 0: no change
	bytes      int64         // of its content, counted in contents.bytes
	chain      *chain        // its ordering key while it is in flight; nil otherwise
}

// A place is where an item is.
type place uint8

const (
	held     place = iota // by the loader or the ticker, on its way to a line
	inTimers              // not due yet
	inLine                // due, in the dispatcher
	inFlight              // being attempted, or its outcome being committed
)

// when returns when an item may go to its line, Unix ms. For a deferred task this is its due time,
// which may not have come by this node's clock.
func (it *item) when() int64 {
	if isShelf(it.VisibleAt) {
		return it.Due
	}
	return max(it.VisibleAt, it.notBefore)
}

// entryOf returns a task's entry in the due index.
func entryOf(t *bellman.Task) store.Entry {
	return store.Entry{
		ID:        t.ID,
		VisibleAt: t.VisibleAt.UnixMilli(),
		Due:       t.Due.UnixMilli(),
		Line:      store.LineOf(t.Queue, t.Endpoint),
		Version:   t.Version,
		Attempts:  uint32(t.Attempts),
		Shard:     t.Shard,
	}
}

// copied returns a copy of a task with another status.
func copied(t *bellman.Task, st bellman.Status) *bellman.Task {
	c := *t
	c.Status = st
	return &c
}

// Peers are the tasks of one line in one age class, deferred or not. They may have room while
// others have none.
type peers struct {
	line     store.Line
	age      int
	of       int // number of age classes of the line
	deferred bool
}

// A chain identifies an ordering key.
type chain struct{ queue, key string }

func chainOf(t *bellman.Task) chain { return chain{t.Queue, t.OrderingKey} }

// A passing describes what happened in a chain.
type passing struct {
	unless     bellman.ID // nothing to do while this task is the first; zero: always something to do
	superseded bool       // a task supersedes others
}

const noTime = math.MaxInt64
