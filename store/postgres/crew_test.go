package postgres

import (
	"testing"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
)

// connections are those of n nodes to one new database.
func connections(t testing.TB, n int) []sqlstore.Driver {
	url := newDatabase(t)
	list := make([]sqlstore.Driver, n)
	for i := range list {
		list[i] = connectTest(t, url)
	}
	return list
}

func TestIdle(t *testing.T) { sqltest.Quiet(t, connections) }

func TestHandOver(t *testing.T) { sqltest.HandOver(t, connections) }

func BenchmarkNodes(b *testing.B) { sqltest.Shared(b, connections, *drained) }
