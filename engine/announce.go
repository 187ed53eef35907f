package engine

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

// A task that was due when its last owner died may have killed that owner, for example with an
// answer that exhausts memory. Firing writes nothing, so the store cannot tell it from other tasks.
// Therefore the next attempt of each such suspect is announced: its phase is written before the
// request is sent. If the node dies again, the next owner finds the announcement and logs that
// attempt as unknown. The node may also have died between the announcement and the request; then
// the attempt is logged although it was not sent. After maxDeaths such attempts in a row the task
// is quarantined for longer and longer. The death before the first announcement is in no log, so a
// task that kills each node is quarantined after its fourth death. An announcement that this
// process wrote, without sending the attempt, does not count.
const (
	maxDeaths       = 3
	firstQuarantine = 10 * time.Minute
	lastQuarantine  = 24 * time.Hour
)

// An announcer announces attempts of suspects, and withdraws announcements that were not sent.
type announcer struct {
	store     store.Store
	log       *slog.Logger
	clock     *clock.Clock
	leases    *cluster.Member
	agenda    *agenda
	committer *committer

	mu     locks.Mutex
	unsent map[uint16]map[bellman.ID]announcement // by shard and task; see announced
}

func (a *announcer) init() {
	a.unsent = make(map[uint16]map[bellman.ID]announcement)
	locks.Name(&a.mu, "announcements")
}

// suspect reports whether an attempt of a task may have been in flight when an owner of its shard
// died.
func suspect(leases *cluster.Member, t *bellman.Task) bool {
	return firstDue(&t.Status).UnixMilli() < leases.Death(t.Shard).Found
}

// suspected announces the attempt of a suspect. It returns false if the task must not be attempted
// now.
func (a *announcer) suspected(ctx context.Context, it *item) bool {
	t := *it.task
	change := store.Change{ID: t.ID, Version: t.Version, To: t.Status}
	quarantined := false
	if t.InDoubt() {
		change.Attempt = a.lostAttempt(&t)
		if change.Attempt == nil && t.Phase == bellman.Announced {
			return true // announced by this process and not sent yet
		}
	}
	if change.Attempt != nil {
		change.To.Attempts++
		if deaths := a.deaths(ctx, &t) + 1; deaths >= maxDeaths {
			quarantined = true
			wait := min(firstQuarantine<<min(deaths-maxDeaths, 10), lastQuarantine)
			change.To.VisibleAt = roundUp(a.clock.Now().Add(wait))
			change.To.Phase = bellman.Quarantined
			a.log.Warn("task quarantined: its attempts keep ending with the death of the node", "task", t.ID, "queue", t.Queue, "deaths", deaths, "wait", wait)
		}
	}
	if !quarantined {
		change.To.Phase, change.To.VisibleAt = bellman.Announced, t.Due
	}
	change.To.Updated = roundUp(a.clock.Now())
	if !quarantined {
		a.announce(&change.To, t.ID)
	}
	began := time.Now()
	if err := a.committer.do(ctx, &op{change: &change, task: &t, own: true}); err != nil {
		a.agenda.reload(it)
		return false
	}
	if quarantined {
		a.agenda.reload(it)
		return false
	}
	a.agenda.rewritten(it, &t, began)
	return true
}

// An announcement is an attempt that this process has announced and not sent.
type announcement struct {
	number int32
	at     time.Time // Updated of the task that was written with it
	lost   bool      // the shard was lost since: an announcement with another time is another node's
}

// announce records an announcement just before it is written, until sent. It may be on disk even if
// its commit seems to fail.
func (a *announcer) announce(to *bellman.Status, id bellman.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.unsent[to.Shard]
	if of == nil {
		of = make(map[bellman.ID]announcement)
		a.unsent[to.Shard] = of
	}
	of[id] = announcement{number: to.Attempts + 1, at: to.Updated}
}

// announced reports whether this process has announced the next attempt of a task and not sent it.
func (a *announcer) announced(t *bellman.Task) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	is, ok := a.unsent[t.Shard][t.ID]
	return ok && is.number == t.Attempts+1 && (!is.lost || is.at.Equal(t.Updated))
}

// withdraw removes from disk the announcements of a shard that were not sent: the next owner would
// take them for attempts that ended with a death. It returns false on an error.
func (a *announcer) withdraw(ctx context.Context, shard uint16) bool {
	a.mu.Lock()
	unsent := maps.Clone(a.unsent[shard])
	a.mu.Unlock()
	if len(unsent) > 0 && a.committer.outcomes.Ill() {
		return false // a commit of unknown outcome may still write announcements
	}
	done := true
	for id := range unsent {
		t, err := a.store.Task(ctx, id)
		if errors.Is(err, bellman.ErrNotFound) {
			continue
		}
		if err == nil && t.Phase == bellman.Announced && a.announced(t) {
			to := t.Status
			to.Phase, to.Updated = bellman.Waiting, a.clock.Now()
			err = a.committer.do(ctx, &op{change: &store.Change{ID: id, Version: t.Version, To: to}, task: t, own: true})
		}
		done = done && err == nil
	}
	return done
}

// sent ends the record of an announcement: the attempt is made now, or never.
func (a *announcer) sent(t *bellman.Task) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if of := a.unsent[t.Shard]; of != nil {
		delete(of, t.ID)
	}
}

// lost notes that a shard is no longer this node's. Announcements of the last hour are remembered,
// because the shard may return before another node has attempted the task.
func (a *announcer) lost(shard uint16) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	for id, of := range a.unsent[shard] {
		of.lost = true
		if now.Sub(of.at) > time.Hour {
			delete(a.unsent[shard], id)
		} else {
			a.unsent[shard][id] = of
		}
	}
}

// lostAttempt returns the log entry of an announced attempt that was never recorded. It returns nil
// if this process has announced it and not sent it.
func (a *announcer) lostAttempt(t *bellman.Task) *bellman.Attempt {
	if a.announced(t) {
		return nil
	}
	return &bellman.Attempt{
		Number:  int(t.Attempts) + 1,
		Trigger: bellman.ByTakeover,
		Due:     t.Due,
		Started: t.Updated,
		Result:  bellman.Unknown,
		Error:   lostError,
		Node:    a.leases.Death(t.Shard).Node,
	}
}

// lostError is the Error of an attempt that a death lost. An attempt that a stop cut off has
// another Error and the same Result.
const lostError = "the node that made this attempt died before it could record the outcome"

// deaths counts the attempts at the end of a task's log that a death lost. It skips attempts that a
// stop cut off, because they show neither that the task kills its node nor that it does not. An
// attempt with a known result ends the count.
func (a *announcer) deaths(ctx context.Context, t *bellman.Task) int {
	log, err := a.store.Attempts(ctx, t.ID, max(int(t.Attempts)-20, 0), 20)
	if err != nil {
		return 0
	}
	n := 0
	for i := len(log) - 1; i >= 0 && log[i].Result == bellman.Unknown; i-- {
		if log[i].Error == lostError {
			n++
		}
	}
	return n
}
