package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A fail-over to an asynchronous replica loses what the replica did not have yet: tasks, outcomes,
// changes by hand, pauses, claims of shards and nodes. What is lost is lost (docs/databases.md).
// The ledger is set back with the store, and then every promise holds again: above all, a claim
// that was lost lets nobody write, and everything that is still in the store comes to its end.

// A replica follows the database, some time behind.
type replica struct {
	store *memory.Store
	at    time.Time            // what its clock says while it does what the database did then
	beats map[string]time.Time // of nodes, the last; the store cuts them to milliseconds
	log   []logged
}

// A logged is what the database did at some time.
type logged struct {
	at time.Time // by its clock
	do func(*replica)
}

// mostBehind is how far a replica is behind at most.
const mostBehind = 20 * time.Second

func newReplica() *replica {
	r := &replica{store: memory.New(), beats: make(map[string]time.Time)}
	r.store.Clock = func() time.Time { return r.at }
	return r
}

// follow makes the replica do what is older than some time. Since the clock of the database may be
// set, what was done before something older is older too.
func (r *replica) follow(until time.Time) {
	n := len(r.log)
	for n > 0 && r.log[n-1].at.After(until) {
		n--
	}
	for _, l := range r.log[:n] {
		r.at = l.at
		l.do(r)
	}
	r.log = slices.Delete(r.log, 0, n)
}

// mirrored has the replica do later what the database did. Call it with the mutex held.
func (t *truth) mirrored(do func(*replica)) {
	if t.replica == nil {
		return
	}
	now := t.clock()
	t.replica.log = append(t.replica.log, logged{now, do})
	t.replica.follow(now.Add(-mostBehind))
}

// unshared returns a copy of a batch that has its own tasks too: a store notes in them where they
// stand.
func unshared(b *store.Batch) *store.Batch {
	b = copied(b)
	own := func(adds []store.Add) {
		for i := range adds {
			t := *adds[i].Task
			adds[i].Task = &t
		}
	}
	own(b.Adds)
	for _, c := range b.Changes {
		own(c.Follow)
	}
	return b
}

// at is the database by now.
func (t *truth) at() store.Store {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Store
}

// failOver makes the replica the database, as it was some time ago, and returns the pauses that are
// there again.
func (t *truth) failOver(behind, dark time.Duration) (again []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.replica
	r.follow(t.clock().Add(-behind))
	r.store.Clock = t.clock
	t.Store, t.replica = r.store, nil
	t.wentBack = time.Now().Add(dark)
	t.tell(bellman.ID{}, "the database is as it was %v ago", behind)
	return t.goBack(r)
}

// beat notes that a node has beaten.
func (r *replica) beat(node string, err error) {
	if err == nil {
		r.beats[node] = r.at
	}
}

// goBack sets the ledger back to what a replica says.
func (g *ledger) goBack(r *replica) (again []string) {
	ctx, db := context.Background(), r.store
	state, err := db.State(ctx, "pause")
	if err != nil {
		panic(err)
	}
	nodes, shards, docs := state.Nodes, state.Shards, state.Docs
	clear(g.nodes)
	for _, n := range nodes {
		g.nodes[n.Name] = r.beats[n.Name].Add(g.ttl[n.Name])
	}
	for i := range shards {
		s := g.shard(shards[i].Shard)
		if is := &shards[i]; s.epoch != is.Epoch || s.mark != is.Mark || s.owner().node != is.Owner {
			s.epoch, s.mark = is.Epoch, is.Mark
			s.owners = append(s.owners, owner{time.Now(), is.Owner, g.joinedBy[is.Owner]})
			g.moved(is.Shard, "shard %d is again %s's: epoch %d", is.Shard, is.Owner, is.Epoch)
			g.moving()
		}
	}
	stops := g.stops
	g.stops = make(map[string]*stop)
	for _, d := range docs {
		if g.stops[d.Name] = stops[d.Name]; stops[d.Name] == nil {
			g.stops[d.Name] = &stop{since: time.Now()}
			again = append(again, d.Name)
		}
	}
	for _, id := range g.order {
		a := g.tasks[id]
		t, err := db.Task(ctx, id)
		switch {
		case err == nil && (a.pruned || t.Version != a.task.Version):
			log, err := db.Attempts(ctx, id, 0, 10_000)
			if err != nil {
				panic(err)
			}
			g.setBack(a, t, log)
		case errors.Is(err, bellman.ErrNotFound) && !a.pruned:
			g.vanished(a)
		case err != nil && !a.pruned:
			panic(err)
		}
	}
	return again
}

// setBack makes a task what it was.
func (g *ledger) setBack(a *account, t *bellman.Task, log []bellman.Attempt) {
	g.count.Back++
	g.tell(t.ID, "is again of version %d: %v, due %s, after %d attempts", t.Version, t.State, g.since(t.Due), len(log))
	g.lose(a)
	if t.Key != "" {
		g.keys[t.Queue+"/"+t.Key] = t.ID
	}
	if a.task.State.Ended() && !t.State.Ended() {
		a.revived, a.ended = time.Now(), time.Time{}
	}
	for l := range a.handedOver {
		a.handedOver[l] = true // it may be recorded again
	}
	for _, s := range a.sends {
		if s.version > t.Version {
			s.version = 0 // another status gets that version now
		}
		if !slices.ContainsFunc(log, func(at bellman.Attempt) bool { return s.clock.Sub(at.Started).Abs() <= time.Millisecond }) {
			s.recorded = time.Time{} // or not any more: who did so may not know it, and does it again
		}
	}
	a.task.Status, a.log = t.Status, log
	a.changed, a.by, a.announcer = time.Now(), nil, nil
	a.back, a.torn, a.byHand, a.pruned, a.gap = true, true, true, false, gap{}
	for v := range a.left {
		if v >= t.Version {
			delete(a.left, v)
		}
	}
}

// vanished forgets a task.
func (g *ledger) vanished(a *account) {
	t := &a.task
	g.count.Vanished++
	g.tell(t.ID, "has vanished")
	g.lose(a)
	a.pruned, a.vanished = true, true
	if key := t.Queue + "/" + t.Key; g.keys[key] == t.ID {
		delete(g.keys, key)
	}
	if t.OrderingKey != "" {
		c := chainOf(t)
		g.chains[c] = slices.DeleteFunc(g.chains[c], func(id bellman.ID) bool { return id == t.ID })
	}
}

// lose notes that what was recorded of a task's requests may be lost.
func (g *ledger) lose(a *account) {
	for _, s := range a.sends {
		s.lost = true
	}
}

// resume ends a pause that somebody had ended before, as they see it again.
func (w *world) resume(target string) {
	d := newDice(w.seed, "resume "+target)
	time.Sleep(d.between(0, 10*time.Second))
	w.pause(d, target, false)
}
