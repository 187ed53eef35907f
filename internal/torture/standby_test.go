package torture

import (
	"context"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/eventually"
)

// A pair is a PostgreSQL primary and its synchronous standby. Everything committed is on both.
type pair struct {
	mu      sync.Mutex // held during a change of roles
	primary *postgres
	standby *postgres
}

// newPair starts a pair with an empty database.
func newPair(t testing.TB) *pair {
	t.Helper()
	p := &pair{primary: newPostgres(t, "postgres-a"), standby: locatePostgres(t, "postgres-b")}
	p.primary.start(t)
	p.follow(t)
	return p
}

// pairURL returns the URL of the store in whichever of two databases accepts writes.
func pairURL(addresses string) string {
	return postgresURL(addresses) + "&target_session_attrs=read-write"
}

// addresses returns the addresses of both, as a URL names them.
func (p *pair) addresses() []string { return []string{p.primary.address, p.standby.address} }

// follow makes the standby a copy of the primary. From then on the primary waits for it at each
// COMMIT.
func (p *pair) follow(t testing.TB) {
	t.Helper()
	host, port, err := net.SplitHostPort(p.primary.address)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(p.standby.data); err != nil {
		t.Fatal(err)
	}
	must(t, p.standby.run("pg_basebackup", "-D", p.standby.data, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-U", "postgres", "-h", host, "-p", port))
	p.standby.start(t)
	p.tell(t, p.primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	p.tell(t, p.primary, "SELECT pg_reload_conf()")
	eventually.True(t, "synchronous: the standby", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		state, err := p.primary.ask(ctx, "SELECT sync_state FROM pg_stat_replication")
		return err == nil && state == "sync"
	})
}

// tell runs a statement, which must succeed.
func (p *pair) tell(t testing.TB, s *postgres, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	if _, err := s.ask(ctx, text); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
}

// promote ends the primary and makes the standby the primary, as a fail-over tool does, which first
// makes sure that the old primary is down. The new primary waits for no standby until the old one
// follows it.
func (p *pair) promote(c *cluster) trouble {
	return func(t *testing.T, length time.Duration) {
		p.mu.Lock()
		defer p.mu.Unlock()
		over := c.journal.begin(t, "promotion of the standby", all)
		p.primary.immediately()
		wait(length)
		p.primary, p.standby = p.standby, p.primary
		p.tell(t, p.primary, "ALTER SYSTEM SET synchronous_standby_names = ''")
		p.tell(t, p.primary, "SELECT pg_promote()")
		over()
		wait(2 * time.Second)
		p.follow(t)
	}
}

// lag stops the standby for a while, in which no COMMIT returns.
func (p *pair) lag(c *cluster) trouble {
	return func(t *testing.T, length time.Duration) {
		p.mu.Lock()
		defer p.mu.Unlock()
		over := c.journal.begin(t, "standby that stopped", all)
		p.standby.immediately()
		wait(time.Second + 5*length)
		p.standby.start(t)
		over()
	}
}

// TestUnreplicated creates the same tasks repeatedly while the standby is down, and then promotes
// the standby. Every task that a node accepted, even one that existed already, must have been on
// both before.
func TestUnreplicated(t *testing.T) {
	onlyLong(t)
	p := newPair(t)
	c := newCluster(t, backend{[][]string{p.addresses()}, pairURL, postgresWires})
	over := c.journal.begin(t, "standby that stopped", all)
	p.standby.immediately()
	made := newCreator(0, c.receiver.url, c.nodes, c.dice)
	for began := time.Now(); time.Since(began) < 30*time.Second && len(made.accepted) == 0; {
		if len(made.open) == 0 {
			made.next()
		}
		made.ask(t.Context())
		wait(pace)
	}
	t.Logf("asked %d times in vain, %d tasks accepted meanwhile", made.asked, len(made.accepted))
	p.primary.immediately()
	p.standby.start(t)
	p.primary, p.standby = p.standby, p.primary
	p.tell(t, p.primary, "ALTER SYSTEM SET synchronous_standby_names = ''")
	p.tell(t, p.primary, "SELECT pg_promote()")
	over()
	c.awaitReady(t, c.nodes[0])
	made.finish(t)
	left := c.settle(t)
	for id := range made.accepted {
		if _, ok := left[id]; !ok {
			t.Errorf("task %s was accepted, but is missing", id) // a task that was not accepted may be lost, delivered or not
		}
	}
}
