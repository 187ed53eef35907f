package engine

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A task that was due when its last owner died may be what killed it: a handler
// that takes all memory, an answer that crashes a parser. Nothing on disk tells
// it from the others, for firing writes nothing. So an attempt of a suspect is
// announced on disk first, in its phase. One found announced at the next
// take-over was in flight at a death: that attempt is logged as unknown, and
// after a few in a row the task is left alone for longer and longer. An attempt
// that this process announced, and has not sent, is no such attempt.
const (
	maxDeaths       = 3
	firstQuarantine = 10 * time.Minute
	lastQuarantine  = 24 * time.Hour
)

// An announcer announces attempts of suspects, and knows those that were never sent.
type announcer struct {
	store     store.Store
	log       *slog.Logger
	clock     *clock
	leases    *leases
	agenda    *agenda
	committer *committer
}

func newAnnouncer(e *Engine) *announcer {
	return &announcer{store: e.store, log: e.log, clock: e.clock, leases: e.leases, agenda: e.agenda, committer: e.committer}
}

// suspected announces the attempt of a suspect. It is false when the task must
// not be attempted now.
func (a *announcer) suspected(ctx context.Context, it *item) bool {
	t := *it.task
	change := store.Change{ID: t.ID, Version: t.Version, To: t.Status}
	quarantined := false
	if t.InDoubt() {
		change.Attempt = a.lostAttempt(&t)
		if change.Attempt == nil && t.Phase == bellman.Announced {
			return true // by this process, which has not sent it
		}
	}
	if change.Attempt != nil {
		change.To.Attempts++
		if deaths := a.deaths(ctx, &t) + 1; deaths >= maxDeaths {
			quarantined = true
			wait := min(firstQuarantine<<min(deaths-maxDeaths, 10), lastQuarantine)
			change.To.VisibleAt = roundUp(a.clock.now().Add(wait))
			change.To.Phase = bellman.Quarantined
			a.log.Warn("task set aside: its attempts keep ending with the death of the node", "task", t.ID, "queue", t.Queue, "deaths", deaths, "wait", wait)
		}
	}
	if !quarantined {
		change.To.Phase, change.To.VisibleAt = bellman.Announced, t.Due
	}
	change.To.Updated = roundUp(a.clock.now())
	if !quarantined {
		a.leases.announce(&change.To, t.ID)
	}
	began := time.Now()
	if err := a.committer.do(ctx, &op{change: &change, task: &t, own: true}); err != nil {
		a.agenda.drop(true, it)
		return false
	}
	if quarantined {
		a.agenda.drop(true, it)
		return false
	}
	a.agenda.mu.Lock()
	defer a.agenda.mu.Unlock()
	it.task, it.Version, it.known = &t, t.Version, began
	it.VisibleAt = t.VisibleAt.UnixMilli() // if it is not attempted after all, the loader looks for it there
	return true
}

// An announcement is of an attempt that this process announces and has not sent.
type announcement struct {
	number int32
	at     time.Time // what the task's Updated says with it
	lost   bool      // the shard was lost since: an announcement with another time is another node's
}

// announce notes that this process is about to write an announcement, as a task's status, until sent.
// It may be on disk although its commit seemed to fail.
func (l *leases) announce(to *bellman.Status, id bellman.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.unsent[to.Shard]
	if of == nil {
		of = make(map[bellman.ID]announcement)
		l.unsent[to.Shard] = of
	}
	of[id] = announcement{number: to.Attempts + 1, at: to.Updated}
}

// announced reports whether this process announced the next attempt of a task, and has not sent it.
func (l *leases) announced(t *bellman.Task) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	a, ok := l.unsent[t.Shard][t.ID]
	return ok && a.number == t.Attempts+1 && (!a.lost || a.at.Equal(t.Updated))
}

// withdraw takes back, on disk, the announcements of attempts of a shard's tasks that were not
// sent: its next owner would take them for cut off by a death. It is false if that failed.
func (a *announcer) withdraw(ctx context.Context, shard uint16) bool {
	a.leases.mu.RLock()
	unsent := maps.Clone(a.leases.unsent[shard])
	a.leases.mu.RUnlock()
	done := true
	for id := range unsent {
		t, err := a.store.Task(ctx, id)
		if errors.Is(err, bellman.ErrNotFound) {
			continue
		}
		if err == nil && t.Phase == bellman.Announced && a.leases.announced(t) {
			to := t.Status
			to.Phase, to.Updated = bellman.Waiting, a.clock.now()
			err = a.committer.do(ctx, &op{change: &store.Change{ID: id, Version: t.Version, To: to}, task: t, own: true})
		}
		done = done && err == nil
	}
	return done
}

// sent notes that the announced attempt of a task is made now, or never.
func (l *leases) sent(t *bellman.Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of := l.unsent[t.Shard]; of != nil {
		delete(of, t.ID)
	}
}

// lostAttempt is the attempt of a task that was announced and never recorded; nil if this process
// announced it and has not sent it.
func (a *announcer) lostAttempt(t *bellman.Task) *bellman.Attempt {
	if a.leases.announced(t) {
		return nil
	}
	return &bellman.Attempt{
		Number:  int(t.Attempts) + 1,
		Trigger: bellman.ByTakeover,
		Due:     t.Due,
		Started: t.Updated,
		Result:  bellman.Unknown,
		Error:   "the node that made this attempt died before it could record the outcome",
		Node:    a.leases.base,
	}
}

// deaths counts the unknown attempts at the end of a task's log.
func (a *announcer) deaths(ctx context.Context, t *bellman.Task) int {
	log, err := a.store.Attempts(ctx, t.ID, max(int(t.Attempts)-20, 0), 20)
	if err != nil {
		return 0
	}
	n := 0
	for i := len(log) - 1; i >= 0 && log[i].Result == bellman.Unknown; i-- {
		n++
	}
	return n
}
