package torture

import (
	"syscall"
	"testing"
)

// load is the number of creators.
const load = 4

// run tortures a cluster and checks the remaining tasks.
func run(t *testing.T, c *cluster, list []trouble) {
	t.Helper()
	made := create(t, load, c.receiver.url, c.nodes, c.dice)
	c.torture(t, list, *long)
	ledger := made.finish(t)
	check(t, ledger, c.receiver, c.journal, c.settle(t))
	c.exits(t)
	if t.Failed() {
		c.logs(t, 300)
	}
}

// everyOne returns the same server for all nodes.
func everyOne(address string) (servers [][]string) {
	for range nodes {
		servers = append(servers, []string{address})
	}
	return servers
}

// TestPostgres tortures nodes on one PostgreSQL.
func TestPostgres(t *testing.T) {
	t.Parallel()
	s := newPostgres(t, "postgres")
	s.start(t)
	c := newCluster(t, backend{everyOne(s.address), postgresURL, postgresWires})
	run(t, c, append(c.usual(), c.outage("stop of the database", s.immediately, func() { s.start(t) })))
}

// TestMariaDB tortures nodes on one MariaDB.
func TestMariaDB(t *testing.T) {
	t.Parallel()
	s := newMariaDB(t, "mariadb")
	s.start(t)
	s.create(t)
	c := newCluster(t, backend{everyOne(s.address), mysqlURL, mysqlWires})
	run(t, c, append(c.usual(), c.outage("kill -9 of the database", func() { s.crash(syscall.SIGKILL) }, func() { s.start(t) })))
}

// TestStandby tortures nodes on a PostgreSQL that fails over to its standby.
func TestStandby(t *testing.T) {
	onlyLong(t)
	p := newPair(t)
	servers := make([][]string, nodes)
	for i := range servers {
		servers[i] = p.addresses()
	}
	c := newCluster(t, backend{servers, pairURL, postgresWires})
	run(t, c, append(c.usual(), p.promote(c), p.promote(c), p.lag(c)))
}

// TestGalera tortures nodes on a Galera cluster, each on its own member.
func TestGalera(t *testing.T) {
	onlyLong(t)
	g := newGalera(t)
	var servers [][]string
	for _, m := range g.members {
		servers = append(servers, []string{m.address})
	}
	c := newCluster(t, backend{servers, mysqlURL, mysqlWires})
	run(t, c, append(c.usual(), g.hit(c, "kill -9 of a member", away), g.hit(c, "split of a member", split), g.hit(c, "SIGSTOP of a member", stopped)))
	if t.Failed() {
		for _, m := range g.members {
			t.Logf("%s:\n%s", m.name, m.current().said.tail(200))
		}
	}
}

func onlyLong(t *testing.T) {
	t.Helper()
	if *long == 0 {
		t.Skip("takes minutes: make torture, or -long 5m")
	}
}
