package sim

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A chain identifies the tasks of a queue with one ordering key.
type chain struct{ queue, key string }

func chainOf(t *bellman.Task) chain { return chain{t.Queue, t.OrderingKey} }

// An asking is a life that asked the store for the turn of a task.
type asking struct {
	life *life
	task bellman.ID
}

// lined records a new task of an ordering key. It must come after all others.
func (g *ledger) lined(t *bellman.Task) {
	if t.OrderingKey == "" {
		return
	}
	g.count.Keyed++
	c := chainOf(t)
	if all := g.chains[c]; len(all) > 0 {
		last := &g.tasks[all[len(all)-1]].task
		if last.Place >= t.Place && (g.warped.IsZero() || !last.State.Ended()) {
			g.wrong(t.ID, "has place %d, and task %v, added before it, %d", t.Place, last.ID, last.Place)
		}
	}
	all := append(g.chains[c], t.ID)
	slices.SortStableFunc(all, func(a, b bellman.ID) int { return cmp.Compare(g.tasks[a].task.Place, g.tasks[b].task.Place) })
	g.chains[c] = all // where the clock was set back, one that has ended may stand behind one that came after it
}

// moves checks a change without a lease that no person made. Such a change may say that another
// task superseded this one, or restore a former status, or move VisibleAt to now.
func (g *ledger) moves(c *store.Change, was *bellman.Status, t *bellman.Task) bool {
	to := c.To
	if t.OrderingKey == "" || c.Attempt != nil {
		return false
	}
	if to.WasSuperseded() {
		return true
	}
	if b := was.Before; b != nil && b.State.Ended() && to.Before == nil && to.State == b.State && to.Reason == b.Reason {
		return true // it had ended before somebody asked for one more attempt
	}
	to.VisibleAt, to.Began, to.Updated, to.Version = was.VisibleAt, was.Began, was.Updated, was.Version
	return to.State == was.State && to.Step == was.Step && to.Due.Equal(was.Due) && to.Trigger == was.Trigger && to.Attempts == was.Attempts
}

// superseding returns the first task behind one that supersedes it, and what the store said about
// it at some time; nil: there is none. A zero time means any time.
func (g *ledger) superseding(t *bellman.Task, at time.Time) *account {
	all := g.chains[chainOf(t)]
	for _, id := range all[slices.Index(all, t.ID)+1:] {
		a := g.tasks[id]
		if a.task.Supersedes && (at.IsZero() || a.pendingAt(at)) {
			return a
		}
	}
	return nil
}

// pendingAt reports whether a task was certainly pending at a time.
func (a *account) pendingAt(at time.Time) bool {
	if a.added.After(at) || a.revived.After(at) {
		return false
	}
	return !a.task.State.Ended() || a.ended.After(at)
}

// inTurn checks a request against the other tasks of its ordering key: those before it have ended,
// none of them is being attempted, and it was not superseded when its node was told that it may go.
// That answer holds for one attempt.
func (g *ledger) inTurn(a *account, s *send) {
	t := &a.task
	if t.OrderingKey == "" {
		return
	}
	all := g.chains[chainOf(t)]
	own := slices.Index(all, t.ID)
	asked, ok := g.clear[asking{s.life, t.ID}]
	if !ok || asked.After(s.begun) {
		asked = s.begun
	}
	delete(g.clear, asking{s.life, t.ID})
	for _, id := range all[:own] {
		if before := g.tasks[id]; !before.task.State.Ended() && !before.revived.After(asked) {
			g.bad[id] = true
			g.wrong(t.ID, "%s sends attempt %d, and task %v, before it in %s, has not ended", s.life, s.number, id, t.OrderingKey)
		}
	}
	if by := g.superseding(t, asked); by != nil {
		g.bad[by.task.ID] = true
		g.wrong(t.ID, "%s sends attempt %d, and asked at %s, when task %v of %s superseded it", s.life, s.number, g.since(asked), by.task.ID, t.OrderingKey)
	}
	if t.WasSuperseded() && !a.ended.After(asked) {
		g.wrong(t.ID, "%s sends attempt %d, and it had been superseded", s.life, s.number)
	}
	lost := g.shard(s.shard).owner().life != s.life
	for other := range g.flying {
		o := g.tasks[other.task]
		if other.task == t.ID || chainOf(&o.task) != chainOf(t) || !other.landed.IsZero() || !other.life.alive() {
			continue
		}
		g.count.Beside++
		away := other.life != s.life
		if away && (lost || o.byHand || g.shard(other.shard).owner().life != other.life) {
			continue
		}
		if away && a.byHand && s.shard != other.shard { // their queue's limits put them on two nodes
			continue
		}
		g.bad[other.task] = true
		g.wrong(t.ID, "%s sends attempt %d while attempt %d of task %v of %s is being made by %s", s.life, s.number, other.number, other.task, t.OrderingKey, other.life)
	}
}

// freeSince returns since when no task of its ordering key has come before a task.
func (g *ledger) freeSince(t *bellman.Task) (since time.Time) {
	all := g.chains[chainOf(t)]
	for _, id := range all[:max(slices.Index(all, t.ID), 0)] {
		if ended := g.tasks[id].ended; ended.After(since) {
			since = ended
		}
	}
	return since
}

// chain asks the store, and records when the answer was that nothing comes before the task. A later
// answer that says otherwise may be for another caller in the same process.
func (t *truth) chain(l *life, queue, orderingKey string, id bellman.ID, limit int) (store.Chain, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	chain, err := t.Store.Chain(context.Background(), queue, orderingKey, id, limit)
	if err == nil && !id.IsZero() && chain.Before(id).IsZero() && chain.SupersededBy.IsZero() {
		t.clear[asking{l, id}] = time.Now()
	}
	return chain, err
}

// left checks that no chain has tasks when all tasks have ended.
func (w *world) left(g *ledger) {
	for c, all := range g.chains {
		left, err := w.truth.Store.Chain(context.Background(), c.queue, c.key, bellman.ID{}, 1)
		if err != nil || len(left.First) > 0 && g.tasks[left.First[0]].task.State.Ended() {
			g.wrong(all[0], "%v still stand in line in %s: %v", left.First, c.key, err)
		}
		for _, id := range all {
			if g.tasks[id].task.WasSuperseded() {
				g.count.Superseded++
			}
		}
	}
}
