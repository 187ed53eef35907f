package sim

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A shard is the history of its owners.
type shard struct {
	epoch  int64
	mark   string
	owners []owner
}

type owner struct {
	at   time.Time
	node string // its name as it joined; empty: no owner
	life *life
}

// ownerAt returns the owner of a shard at some time.
func (s *shard) ownerAt(at time.Time) owner {
	for _, o := range slices.Backward(s.owners) {
		if !o.at.After(at) {
			return o
		}
	}
	return owner{}
}

func (s *shard) lease(n uint16) store.Lease {
	return store.Lease{Shard: n, Epoch: s.epoch, Mark: s.mark}
}

func (g *ledger) joined(l *life, n store.Node, ttl time.Duration) {
	if g.alive(n.Name) {
		g.wrong(bellman.ID{}, "node %s joined twice", n.Name)
	}
	g.nodes[n.Name], g.ttl[n.Name], g.joinedBy[n.Name] = g.clock().Add(ttl), ttl, l
	g.newcomer = time.Now()
	l.lastName, l.lastJoined = n.Name, time.Now()
	if l.joins == 0 {
		l.joined = l.lastJoined
	}
	if l.joins++; l.joins > 1 && !l.world.cutShort(l.node) {
		g.wrong(bellman.ID{}, "%s lost its leases, and reached the database but for one connection at most", l)
	}
	g.tell(bellman.ID{}, "%s joined as %s", l, n.Name)
}

func (g *ledger) beaten(node string) {
	if !g.alive(node) {
		g.wrong(bellman.ID{}, "node %s had expired, and its beat was taken", node)
	}
	g.nodes[node] = g.clock().Add(g.ttl[node])
}

func (g *ledger) left(l *life, node string) {
	delete(g.nodes, node)
	for _, s := range g.shards {
		if s.owner().node == node {
			s.owners = append(s.owners, owner{at: time.Now()})
		}
	}
	g.tell(bellman.ID{}, "%s left", l)
}

func (g *ledger) released(l *life, node string, lease store.Lease) {
	s := g.shard(lease.Shard)
	if s.epoch != lease.Epoch || s.owner().node != node {
		g.wrong(bellman.ID{}, "%s gave back shard %d under epoch %d, and it is %s's at %d", l, lease.Shard, lease.Epoch, s.owner().node, s.epoch)
	}
	began := s.owner().at
	for out := range g.flying {
		a := g.tasks[out.task]
		if out.life == l && a.task.Shard == lease.Shard && out.shard == lease.Shard && !out.lost && !a.pruned && !out.begun.Before(began) && !a.handedOver[l] && l.alive() {
			g.wrong(out.task, "%s gave back shard %d, and attempt %d, sent at %s, is neither recorded nor handed over",
				l, lease.Shard, out.number, g.since(out.at))
		}
	}
	for id, a := range g.tasks {
		if st := &a.task.Status; a.announcer == l && !a.changed.Before(began) && l.alive() && st.Shard == lease.Shard && st.Phase == bellman.Announced {
			g.wrong(id, "%s gave back shard %d, and it announced attempt %d and never sent it", l, lease.Shard, st.Attempts+1)
		}
	}
	g.moved(lease.Shard, "%s gave back shard %d: epoch %d", l, lease.Shard, lease.Epoch)
	s.owners = append(s.owners, owner{at: time.Now()})
}

func (g *ledger) claimed(l *life, node string, n uint16, seen int64, lease store.Lease) {
	s := g.shard(n)
	was := s.owner()
	switch {
	case seen != s.epoch || lease.Epoch != s.epoch+1 || lease.Shard != n:
		g.wrong(bellman.ID{}, "%s claimed shard %d at epoch %d, having seen %d, and got %+v", l, n, s.epoch, seen, lease)
	case !g.alive(node):
		g.wrong(bellman.ID{}, "%s claimed shard %d as %s, which had expired", l, n, node)
	case was.node != node && g.alive(was.node):
		g.wrong(bellman.ID{}, "%s claimed shard %d of %s, which is alive", l, n, was.node)
	case was.life != nil && was.life != l && time.Since(l.joined) > patience && time.Since(g.warped) > patience && l.world.unharmed(was):
		// One that has just joined knows nothing of trouble before, and a clock that was set ages
		// one heartbeat more than another.
		g.wrong(bellman.ID{}, "%s took over shard %d of %s, which runs, and of which the database heard nothing only because it heard nothing of anybody", l, n, was.life)
	}
	if of, ok := g.leases[lease]; ok && of != node { // by a claim that a fail-over lost
		g.wrong(bellman.ID{}, "%s claimed shard %d as %s, and got a lease that %s has: %+v", l, n, node, of, lease)
	}
	g.leases[lease] = node
	g.moved(n, "%s claimed shard %d from %s: epoch %d", l, n, was.life, lease.Epoch)
	s.epoch, s.mark = lease.Epoch, lease.Mark
	s.owners = append(s.owners, owner{time.Now(), node, l})
	if was.life != l {
		g.moving()
	}
	if was.life != nil && was.life != l {
		g.count.Takeovers++
	}
	g.stamp(2, int64(n), lease.Epoch)
}
