package torture

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/server"
	"github.com/bellmanhq/bellman/store"
)

// A cluster is several nodes on one database, each behind a proxy of its own,
// with creators and a receiver.
type cluster struct {
	nodes    []*node
	proxies  [][]*proxy // of each node, to the servers of its database
	receiver *receiver
	journal  *journal
	dice     *rand.Rand
	store    string     // for a look when the nodes have stopped
	sound    chan *node // those that are in no trouble
}

// A backend is what a cluster is on.
type backend struct {
	servers [][]string                  // the addresses that each node uses
	url     func(address string) string // the store there; several addresses have commas between them
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

// spoiled is how many commits of a node met a fault of their own.
func (c *cluster) spoiled(n *node) (hits int) {
	for _, p := range c.proxies[n.number] {
		hits += p.hits()
	}
	return hits
}

// awaitReady waits until a node says that it can fire.
func (c *cluster) awaitReady(t testing.TB, n *node) {
	t.Helper()
	if !soon(patient, func() bool { return n.ready(t) }) {
		n.mu.Lock()
		defer n.mu.Unlock()
		t.Fatalf("node %d is not ready after %s: %v\n%s", n.number, patient, n.client.Ready(t.Context()), n.process.said.tail(20))
	}
}

// settleWithin is how long what is left may take when trouble is over: what all
// else has missed is found by a sweep of the store once a minute.
const settleWithin = 100 * time.Second

// settleSoon is how long it should take: the shards of a node that died last are
// taken, and the last task that waits is due.
const settleSoon = 22 * time.Second

// settle waits until no task is pending, then stops the nodes, and returns what
// is kept.
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
	if !soon(settleSoon, over) {
		t.Logf("%d tasks are still pending, %s after the last trouble: a sweep must find them", left, settleSoon)
		c.remains(t)
	}
	if soon(settleWithin, over) {
		t.Logf("all tasks had ended %v after the last trouble", time.Since(began).Round(100*time.Millisecond))
	} else {
		t.Errorf("%d tasks are still pending, %s after the last trouble", left, settleWithin)
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

// remains shows what the nodes say of the receiver, whose the shards are, and
// what is due in them.
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

// pending is how many tasks have not ended; -1: nobody said.
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

// logs shows the last lines of what each process of each node said.
func (c *cluster) logs(t testing.TB, lines int) {
	for _, n := range c.nodes {
		var text strings.Builder
		for _, l := range n.logs {
			text.WriteString(l.tail(lines))
		}
		t.Logf("node %d:\n%s", n.number, &text)
	}
}

// exits fails the test for each time that a node ended by itself while nothing
// was wrong.
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
const startWithin = 10 * time.Second
