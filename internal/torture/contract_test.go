package torture

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/mysql"
	"github.com/bellmanhq/bellman/store/storetest"
)

// TestGaleraContract runs storetest on a store whose connections lead to all members of a Galera
// cluster in turn: what one member has committed, the others read. This is harder than the
// supported setup, in which each bellman uses one member.
func TestGaleraContract(t *testing.T) {
	onlyLong(t)
	g := newGalera(t)
	address := g.inTurn(t)
	storetest.Run(t, func(t *testing.T) store.Store {
		g.empty(t)
		s, err := mysql.Open(t.Context(), mysqlURL(address), mysql.Options{Connections: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
		return s
	})
}

// TestGaleraMigrates creates the tables at all members at the same time.
func TestGaleraMigrates(t *testing.T) {
	onlyLong(t)
	g := newGalera(t)
	g.everywhere(t)
	var group sync.WaitGroup
	for _, m := range g.members {
		for range 3 {
			group.Go(func() {
				if err := mysql.Migrate(context.Background(), mysqlURL(m.address), mysql.Options{}); err != nil {
					t.Errorf("Migrate() at %s = %v", m.name, err)
				}
			})
		}
	}
	group.Wait()
}

// inTurn returns an address whose connections lead to one member after the other.
func (g *galera) inTurn(t *testing.T) (address string) {
	t.Helper()
	g.everywhere(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for i := 0; ; i++ {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				server, err := net.Dial("tcp", g.members[i%len(g.members)].address)
				if err != nil {
					client.Close()
					return
				}
				work.Go(func() {
					io.Copy(client, server)
					client.Close()
				})
				io.Copy(server, client)
				server.Close()
			})
		}
	})
	t.Cleanup(func() { // runs after the cleanups that close stores
		listener.Close()
		work.Wait()
	})
	return listener.Addr().String()
}

// everywhere waits until all members have the database.
func (g *galera) everywhere(t *testing.T) {
	t.Helper()
	for _, m := range g.members {
		eventually.True(t, "there: the database at "+m.name, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return m.exec(ctx, "CREATE TABLE IF NOT EXISTS bellman.there (n INT PRIMARY KEY)") == nil
		})
	}
}

// empty deletes what earlier tests left.
func (g *galera) empty(t *testing.T) {
	t.Helper()
	if err := mysql.Migrate(t.Context(), mysqlURL(g.members[0].address), mysql.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"task", "alias", "live", "ended", "attempt", "order", "depth", "count", "node", "doc", "audit"} {
		if err := g.members[0].exec(t.Context(), "DELETE FROM bellman.bellman_"+table); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.members[0].exec(t.Context(), "UPDATE bellman.bellman_shard SET owner = ''"); err != nil {
		t.Fatal(err)
	}
}
