package torture

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/eventually"
)

// switchoverPatient is how long it may take until attempts go on after a switchover. It is
// generous; the log has the time that they took.
const switchoverPatient = 5 * time.Minute

// memberURL returns the URL of the store for a user without administrative rights. Such a user
// cannot write to a read-only server.
func memberURL(address string) string { return "mysql://bellman@" + address + "/bellman" }

// ask reads one value.
func (s *mariadb) ask(t testing.TB, text string, args ...any) (value string) {
	t.Helper()
	db, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), text, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %s: %v", s.name, text, err)
	}
	return value
}

func (s *mariadb) must(t testing.TB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := s.exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %s: %v", s.name, text, err)
		}
	}
}

// newReplicated starts a MariaDB server and a replica of it.
func newReplicated(t testing.TB) (primary, replica *mariadb) {
	t.Helper()
	primary = newMariaDB(t, "mariadb-old", "--server-id=1", "--log-bin=binlog", "--binlog-format=ROW", "--sync-binlog=1")
	replica = newMariaDB(t, "mariadb-new", "--server-id=2", "--log-bin=binlog", "--binlog-format=ROW", "--log-slave-updates=ON")
	primary.start(t)
	replica.start(t)
	primary.create(t)
	primary.must(t, "CREATE USER bellman@localhost", "GRANT ALL ON bellman.* TO bellman@localhost")
	replica.must(t, fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%s, MASTER_USER='root', MASTER_USE_GTID=slave_pos", primary.ask(t, "SELECT @@port")), "START SLAVE")
	catchUp(t, primary, replica)
	return primary, replica
}

// catchUp waits until the replica has everything that the primary has.
func catchUp(t testing.TB, primary, replica *mariadb) {
	t.Helper()
	at := primary.ask(t, "SELECT @@gtid_binlog_pos")
	if waited := replica.ask(t, "SELECT MASTER_GTID_WAIT(?, ?)", at, patient.Seconds()); waited != "0" {
		t.Fatalf("%s has not reached %s after %v", replica.name, at, patient)
	}
}

// TestSwitchover moves a cluster from a MariaDB server to its replica, as a planned switchover. The
// old primary becomes read-only and stays up, and new connections lead to the new one. Attempts go
// on, although nobody cuts a connection or restarts a node.
func TestSwitchover(t *testing.T) {
	t.Parallel()
	old, next := newReplicated(t)
	c := newCluster(t, backend{everyOne(old.address), memberURL, mysqlWires})
	made := create(t, load, c.receiver.url, c.nodes, c.dice)
	eventually.True(t, "delivered: 100 tasks", func() bool { return len(c.receiver.sights()) >= 100 })

	over := c.journal.begin(t, "switchover", all)
	old.must(t, "SET GLOBAL read_only = 1")
	catchUp(t, old, next)
	next.must(t, "STOP SLAVE")
	for _, proxies := range c.proxies {
		for _, p := range proxies {
			p.lead(next.address)
		}
	}
	began := time.Now()
	c.store = memberURL(next.address)
	accepted, sent := make([]time.Duration, nodes), make([]time.Duration, nodes) // by node, after the switchover
	after := creators{stop: func() {}}
	for _, n := range c.nodes {
		after.each = append(after.each, newCreator(load+n.number, c.receiver.url, []*node{n}, c.dice))
	}
	if !eventually.Within(switchoverPatient, func() bool {
		whole := true
		sights := c.receiver.sights()
		for n, one := range after.each {
			if len(one.open) == 0 {
				one.next()
			}
			one.ask(t.Context())
			if len(one.accepted) > 0 && accepted[n] == 0 {
				accepted[n] = time.Since(began)
			}
			for id := range one.accepted {
				if seen := sights[id]; len(seen) > 0 && seen[0].node >= 0 && sent[seen[0].node] == 0 {
					sent[seen[0].node] = seen[0].at.Sub(began)
				}
			}
			whole = whole && accepted[n] != 0
		}
		return whole && !slices.Contains(sent, 0)
	}) {
		c.logs(t, 20)
		t.Fatalf("%v after the switchover some node does not accept tasks or attempt them; nodes accepted after %v and attempted after %v", switchoverPatient, accepted, sent)
	}
	t.Logf("after the switchover the nodes accepted tasks after %v, and attempted them after %v", accepted, sent)
	over()

	ledger := made.finish(t)
	maps.Copy(ledger, after.finish(t))
	check(t, ledger, c.receiver, c.journal, c.settle(t))
	c.exits(t)
	for _, n := range c.nodes {
		for _, e := range n.ended() {
			t.Errorf("node %d ended by itself at %s:\n%s", n.number, e.at.UTC().Format("15:04:05.000"), e.said)
		}
	}
	if t.Failed() {
		c.logs(t, 100)
	}
}
