package source

import (
	"sync"
	"time"
)

// States of a source.
const (
	Connecting = "connecting" // there is no session yet; the source keeps trying
	Consuming  = "consuming"
	Paused     = "paused" // new tasks are not accepted now; messages stay with the broker
	Stopped    = "stopped"
)

// figures are the values behind Info.
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

// is sets the state and its reason.
func (f *figures) is(state, why string) {
	f.change(func(i *Info) {
		if i.State != state {
			i.State, i.Since = state, time.Now().UTC().Truncate(time.Millisecond)
		}
		i.Why = why
	})
}

// failed counts a session that could not be opened, or broke.
func (f *figures) failed(err error) {
	f.is(Connecting, err.Error())
	f.change(func(i *Info) { i.Failures++ })
	f.held(err)
}

// held notes the latest error.
func (f *figures) held(err error) {
	f.change(func(i *Info) {
		i.LastError, i.LastErrorAt = oneLine(err.Error()), time.Now().UTC().Truncate(time.Millisecond)
	})
}

func (f *figures) taken(n int)        { f.change(func(i *Info) { i.InHand += n }) }
func (f *figures) deadLettered(n int) { f.change(func(i *Info) { i.Dead += int64(n) }) }

// stored counts messages that became tasks, and messages whose task existed.
func (f *figures) stored(made, existing int) {
	f.change(func(i *Info) {
		i.Stored += int64(made)
		i.Existing += int64(existing)
	})
}
