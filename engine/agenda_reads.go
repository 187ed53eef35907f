package engine

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
)

// missed are the earliest VisibleAts, Unix ms, of tasks that belong into the agenda and are not
// there. The loader goes back to both. noTime: there is none. The agenda's mutex guards them.
type missed struct {
	due   int64 // of tasks that were due when they were missed
	ahead int64 // of the others
}

// add notes a task with this VisibleAt.
func (m *missed) add(visibleAt, now int64) {
	if visibleAt > now {
		m.ahead = min(m.ahead, visibleAt)
	} else {
		m.due = min(m.due, visibleAt)
	}
}

// take returns and resets both.
func (m *missed) take() (due, ahead int64) {
	due, ahead = m.due, m.ahead
	*m = missed{noTime, noTime}
	return due, ahead
}

// departures tell readers which tasks left the agenda while they read. Each reader of a page and
// each parallel commit follows them: a page may still show such a task as it was, and the loader
// may find a committed task and have it attempted before the commit is answered. The agenda's mutex
// guards them.
type departures struct{ followers []*asOf }

// An asOf is the moment just before a page was read or a commit was sent.
type asOf struct {
	claims uint64                // number of claims of this node before that moment
	at     time.Time             // that moment, on the monotonic clock
	left   map[bellman.ID]uint32 // tasks that left the agenda since, with their versions; nil: not followed
}

// past reports whether this version of a task, or a later one, left the agenda since then.
func (a *asOf) past(id bellman.ID, version uint32) bool {
	left, ok := a.left[id]
	return ok && left >= version
}

// follow returns this moment, and records tasks that leave the agenda until unfollow.
func (d *departures) follow(claims uint64) *asOf {
	a := &asOf{claims, time.Now(), make(map[bellman.ID]uint32)}
	d.followers = append(d.followers, a)
	return a
}

func (d *departures) unfollow(a *asOf) {
	if i := slices.Index(d.followers, a); i >= 0 {
		d.followers = slices.Delete(d.followers, i, i+1)
	}
}

// leave notes that a version of a task left the agenda.
func (d *departures) leave(id bellman.ID, version uint32) {
	for _, a := range d.followers {
		a.left[id] = version
	}
}

// unleave forgets that a task left the agenda, so the same version may be added again.
func (d *departures) unleave(id bellman.ID) {
	for _, a := range d.followers {
		delete(a.left, id)
	}
}
