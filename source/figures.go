package source

import (
	"sync"
	"time"
)

// A State says what a source is doing.
type State string

// The states of a source.
const (
	Connecting State = "connecting" // there is no session: it is being opened, or is tried again soon
	Consuming  State = "consuming"
	Paused     State = "paused" // there is no room: messages stay with the broker
	Stopped    State = "stopped"
)

// An Info is a source as an operator looks at it. Counts are of this process,
// since it started.
type Info struct {
	Name  string
	Into  string // the queue of tasks that name none
	State State
	Since time.Time // when the state began
	Why   string    // why it is paused, or what went wrong last while it connects

	Stored   int64 // messages that became tasks
	Existing int64 // messages that were tasks already
	Dead     int64 // messages that can be no task
	InHand   int   // messages that are being stored or put away
	Failures int64 // sessions that could not be opened, or broke

	LastError   string // what went wrong last; empty: nothing did
	LastErrorAt time.Time
}

// figures are what an Info is made of.
type figures struct {
	mu   sync.Mutex
	info Info
}

// Info describes the source.
func (s *Source) Info() Info {
	s.figures.mu.Lock()
	defer s.figures.mu.Unlock()
	i := s.figures.info
	i.Name, i.Into = s.o.Name, s.o.Into
	return i
}

func (f *figures) change(do func(*Info)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(&f.info)
}

// is notes the state, and why.
func (f *figures) is(s State, why string) {
	f.change(func(i *Info) {
		if i.State != s {
			i.State, i.Since = s, time.Now().UTC().Truncate(time.Millisecond)
		}
		i.Why = why
	})
}

// failed notes that a session could not be opened, or broke.
func (f *figures) failed(err error) {
	f.is(Connecting, err.Error())
	f.change(func(i *Info) { i.Failures++ })
	f.held(err)
}

// held notes what went wrong.
func (f *figures) held(err error) {
	f.change(func(i *Info) {
		i.LastError, i.LastErrorAt = oneLine(err.Error()), time.Now().UTC().Truncate(time.Millisecond)
	})
}

func (f *figures) taken(n int)  { f.change(func(i *Info) { i.InHand += n }) }
func (f *figures) buried(n int) { f.change(func(i *Info) { i.Dead += int64(n) }) }

func (f *figures) stored(existing bool) {
	f.change(func(i *Info) {
		if existing {
			i.Existing++
		} else {
			i.Stored++
		}
	})
}
