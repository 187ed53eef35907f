package torture

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/server"
	"github.com/bellmanhq/bellman/store"
)

// A cluster is several nodes on one database, each behind its own proxy, with creators and a
// receiver.
type cluster struct {
	nodes    []*node
	proxies  [][]*proxy // by node, one for each server of its database
	receiver *receiver
	journal  *journal
	dice     *rand.Rand
	store    string     // the URL to read it after the nodes have stopped
	sound    chan *node // nodes without trouble
}

// A backend is the database of a cluster.
type backend struct {
	servers [][]string                  // the addresses that each node uses
	url     func(address string) string // URL of the store at an address; several addresses are separated by commas
	wire    func() wire
}

// newCluster starts a node for each list of servers.
func newCluster(t testing.TB, b backend) *cluster {
	t.Helper()
	c := &cluster{receiver: receive(t), journal: &journal{}, dice: dice(t), store: b.url(strings.Join(b.servers[0], ",")), sound: make(chan *node, len(b.servers))}
	for i, servers := range b.servers {
		var proxies []*proxy
		var addresses []string
		for _, to := range servers {
			p := newProxy(t, to, b.wire)
			proxies, addresses = append(proxies, p), append(addresses, p.address)
		}
		n := newNode(t, i, b.url(strings.Join(addresses, ",")))
		c.proxies, c.nodes = append(c.proxies, proxies), append(c.nodes, n)
		n.start(t)
		c.awaitReady(t, n)
		c.give(n)
	}
	return c
}

// set makes a fault between a node and its database.
func (c *cluster) set(n *node, f fault, delay time.Duration) {
	for _, p := range c.proxies[n.number] {
		p.set(f, delay)
	}
}

// spoiled returns the number of a node's commits that a fault hit.
func (c *cluster) spoiled(n *node) (hits int) {
	for _, p := range c.proxies[n.number] {
		hits += p.hits()
	}
	return hits
}

// awaitReady waits until a node reports that it can start attempts.
func (c *cluster) awaitReady(t testing.TB, n *node) {
	t.Helper()
	if !eventually.Within(eventually.Limit, func() bool { return n.ready(t) }) {
		n.mu.Lock()
		defer n.mu.Unlock()
		t.Fatalf("node %d is not ready after %s: %v\n%s", n.number, patient, n.client.Ready(t.Context()), n.process.said.tail(20))
	}
}

// settleWithin is how long the remaining tasks may take after the last trouble. If everything else
// has missed a task, a sweep of the store finds it within a minute; what follows takes time on a
// busy machine.
const settleWithin = patient

// settleSoon is how long they should take: the shards of the last dead node are claimed, and the
// last waiting task is due.
const settleSoon = 22 * time.Second

// settle waits until no task is pending, stops the nodes, and returns the tasks in the store.
func (c *cluster) settle(t *testing.T) map[string]client.TaskDetail {
	t.Helper()
	for _, n := range c.nodes {
		c.awaitReady(t, n)
	}
	began := time.Now()
	left := int64(-1)
	over := func() bool {
		left = c.pending(t)
		return left == 0
	}
	if !eventually.Within(settleSoon, over) {
		t.Logf("%d tasks are still pending, %s after the last trouble: a sweep must find them", left, settleSoon)
		c.remains(t)
	}
	if eventually.Within(settleWithin, over) {
		t.Logf("all tasks had ended %v after the last trouble", time.Since(began).Round(100*time.Millisecond))
	} else {
		t.Errorf("%d tasks are still pending %s after the last trouble; want none", left, settleWithin)
		c.remains(t)
	}
	for _, n := range c.nodes {
		n.stop(t)
	}
	if t.Failed() {
		c.logs(t, 12)
	}
	return kept(t, c.store)
}

// remains logs what the nodes report about the receiver, who owns the shards, and which tasks are
// due in them.
func (c *cluster) remains(t testing.TB) {
	for _, n := range c.nodes {
		endpoints, err := n.client.Endpoints(t.Context())
		t.Logf("endpoints of node %d: %+v, %v", n.number, endpoints, err)
	}
	db, err := server.OpenStore(t.Context(), c.store, server.StoreOptions{Existing: true})
	if err != nil {
		t.Error(err)
		return
	}
	defer db.Close()
	state, err := db.State(t.Context(), "")
	if err != nil {
		t.Error(err)
	}
	for _, s := range state.Shards {
		due, err := db.Due(t.Context(), []uint16{s.Shard}, store.Position{}, math.MaxInt64, 100, nil)
		if err != nil {
			t.Error(err)
		}
		if len(due) > 0 {
			first := due[0]
			t.Logf("shard %d of %q (alive: %t), epoch %d: %d tasks, the first is %s, version %d, look %s", s.Shard, s.Owner, s.Alive, s.Epoch, len(due),
				first.ID, first.Version, time.UnixMilli(first.VisibleAt).UTC().Format("15:04:05.000"))
		}
	}
}

// pending returns the number of pending tasks, or -1 if no node answered.
func (c *cluster) pending(t testing.TB) int64 {
	queues, err := c.nodes[0].client.Queues(t.Context())
	if err != nil {
		return -1
	}
	var n int64
	for _, q := range queues.Queues {
		n += int64(q.Depth.Pending)
	}
	return n
}

// logs logs the last lines of each process of each node.
func (c *cluster) logs(t testing.TB, lines int) {
	for _, n := range c.nodes {
		var text strings.Builder
		for _, l := range n.logs {
			text.WriteString(l.tail(lines))
		}
		t.Logf("node %d:\n%s", n.number, &text)
	}
}

// exits fails the test for each time that a node ended by itself without trouble.
func (c *cluster) exits(t testing.TB) {
	for _, n := range c.nodes {
		for _, e := range n.ended() {
			if c.journal.hits(n.number, e.at.Add(-startWithin), e.at) == nil {
				t.Errorf("node %d ended by itself at %s:\n%s", n.number, e.at.UTC().Format("15:04:05.000"), e.said)
			}
		}
	}
}

// startWithin is how long a node waits for its database before it gives up.
const startWithin = 30 * time.Second
