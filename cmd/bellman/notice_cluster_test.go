package main

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/internal/eventually"
)

// A cutter stands between a node and its database. It kills the node at the nth step of what
// passes: before a piece of a request is delivered, after that, or after a piece of an answer.
type cutter struct {
	address string
	to      string

	mu    sync.Mutex
	left  int    // steps until the kill
	kill  func() // nil: it is not armed
	dead  bool   // nothing passes any more
	links []net.Conn
}

func newCutter(t *testing.T, to string) *cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{address: l.Addr().String(), to: to}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			node, err := l.Accept()
			if err != nil {
				return
			}
			database, err := net.Dial("tcp", to)
			if err != nil {
				node.Close()
				continue
			}
			c.mu.Lock()
			c.links = append(c.links, node, database)
			if c.dead {
				c.cut()
			}
			c.mu.Unlock()
			work.Go(func() { c.carry(node, database, true) })
			work.Go(func() { c.carry(database, node, false) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.mu.Lock()
		c.dead = true
		c.cut()
		c.mu.Unlock()
		work.Wait()
	})
	return c
}

// carry passes on what one side says.
func (c *cutter) carry(from, to net.Conn, asks bool) {
	defer from.Close()
	defer to.Close()
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		if err != nil || asks && !c.step() {
			return
		}
		if _, err := to.Write(piece[:n]); err != nil || !c.step() {
			return
		}
	}
}

// step counts a step, and reports whether to go on. At the last one the node dies.
func (c *cutter) step() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return false
	}
	if c.kill == nil {
		return true
	}
	if c.left--; c.left >= 0 {
		return true
	}
	c.dead = true
	c.kill() // nothing else passes meanwhile
	c.cut()
	return false
}

// cut ends all connections. c.mu is held.
func (c *cutter) cut() {
	for _, conn := range c.links {
		conn.Close()
	}
}

// arm has the node killed after so many steps more.
func (c *cutter) arm(steps int, kill func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.kill = steps, kill
}

// disarm reports whether the node has died.
func (c *cutter) disarm() (dead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kill = nil
	return c.dead
}

// A node is one of several servers on one database.
type node struct {
	*process
	cutter  *cutter
	notices string // the address
}

// newNode starts a node on a database that it reaches through a cutter.
func newNode(t *testing.T, c *counter, database url.URL) *node {
	n := &node{cutter: newCutter(t, database.Host)}
	database.Host = n.cutter.address
	n.process = serveOn(t, database.String(), "--config", c.settings)
	c.servers = append(c.servers, n.process)
	n.notices = n.noticesURL()
	return n
}

// newDatabase makes an empty database in PostgreSQL for a test.
func newDatabase(t *testing.T) url.URL {
	t.Helper()
	u, err := url.Parse(scratchtest.New(t, "postgres").URL)
	if err != nil {
		t.Fatal(err)
	}
	if u.Port() == "" {
		u.Host += ":5432"
	}
	return *u
}

// order reads an order at a node.
func (n *node) order(t *testing.T, no string) *client.Order {
	t.Helper()
	o, err := n.client().Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: no}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// ended reports whether the notification of an order was recorded.
func ended(o *client.Order) bool {
	return slices.ContainsFunc(o.Tasks, func(k client.Task) bool { return k.Event == "order.paid" && k.State == "succeeded" })
}

// kill -9 between any two steps of a notice, on PostgreSQL with three nodes: a node dies at its
// first message to the database, then another at the second, and so on, until a notice is over
// before its node would die. What was answered as accepted is decided at the other nodes, and the
// merchant is told; the channel sends the rest again, to another node.
func TestNoticeKilledInCluster(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	c := openCounter(t)
	var nodes [3]*node
	for i := range nodes {
		nodes[i] = newNode(t, c, database)
	}
	var all, open []string // open: their notifications were not recorded before this step
	accepted, deaths, over := 0, 0, 0
	const most = 200 // notices; a node has steps of its own in between, on a slow machine more
	for try, step := 0, 0; over < 3 && try < most; try, step = try+1, step+1 {
		victim, other := nodes[try%3], nodes[(try+1)%3]
		no := fmt.Sprintf("notice-%d", try)
		open = slices.DeleteFunc(open, func(no string) bool { return ended(other.order(t, no)) })
		all, open = append(all, no), append(open, no)
		c.place(t, other.client(), no)
		victim.cutter.arm(step, victim.kill)
		taken := notify(t, victim.notices, no)
		eventually.True(t, "dead, or over", func() bool {
			select {
			case <-victim.exited:
				return true
			default:
				return taken && ended(other.order(t, no))
			}
		})
		if !victim.cutter.disarm() {
			if over++; over == 3 && accepted == 0 { // other nodes told all merchants: again, from before the answer
				over, step = 0, max(step-20, -1)
			}
			continue
		}
		over = 0
		deaths++
		for _, no := range open { // the dead node may have sent any of them
			c.died([]client.TaskDetail{{Task: client.Task{Queue: "tell", State: "pending", OrderNo: no}}})
		}
		if taken {
			accepted++
			if o := other.order(t, no); o.OrderState != "PAID" {
				t.Errorf("step %d: the notice was answered as accepted, and the order is %s", step, o.OrderState)
			}
		}
		again(t, other.notices, no)
		nodes[try%3] = newNode(t, c, database)
	}
	began := time.Now()
	c.rest(t, nodes[0].process, all...)
	c.check(t, nodes[0].client(), all...)
	if accepted == 0 || accepted == deaths {
		t.Errorf("%d deaths, %d of them after the answer: want some of each", deaths, accepted)
	}
	t.Logf("%d deaths, %d of them after the notice was accepted; all told %v later", deaths, accepted, time.Since(began).Round(time.Millisecond))
	for _, n := range nodes {
		n.stop()
	}
}

// The same notice comes to three nodes at once: one of them decides the order, and the merchant is
// told once.
func TestSameNoticeOnTwoNodesAtOnce(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	c := openCounter(t)
	var nodes [3]*node
	for i := range nodes {
		nodes[i] = newNode(t, c, database)
	}
	var all []string
	for i := range 40 {
		all = append(all, fmt.Sprint("o", i))
	}
	c.place(t, nodes[0].client(), all[:30]...) // the others are placed after their notices
	var sent sync.WaitGroup
	for _, no := range all {
		gate := make(chan struct{})
		for _, n := range nodes {
			sent.Go(func() {
				<-gate
				again(t, n.notices, no)
			})
		}
		close(gate)
	}
	sent.Wait()
	c.place(t, nodes[0].client(), all[30:]...)
	c.rest(t, nodes[0].process, all...)
	c.check(t, nodes[0].client(), all...)
	for _, n := range nodes {
		n.stop()
	}
}
