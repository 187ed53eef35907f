package mysql

import (
	"flag"
	"testing"

	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/storetest"
)

var waiting = flag.Int("waiting", 200_000, "tasks that wait in the store that is measured")

func BenchmarkStore(b *testing.B) {
	s := openTest(b, newDatabase(b), Options{})
	sqltest.Fill(b, s, *waiting)
	sqltest.Bench(b, s)
}

// TestStatementsPerTask lets an engine work through what is stored: statements
// are for many tasks at once.
func TestStatementsPerTask(t *testing.T) {
	perTask, perSecond := sqltest.Drain(t, connectTest(t, newDatabase(t)), *drained)
	t.Logf("%.3f statements a task, %.0f tasks a second", perTask, perSecond)
	if perTask > 0.1 {
		t.Errorf("%.3f statements a task, want at most 0.1", perTask)
	}
}

var drained = flag.Int("drained", 10_000, "tasks that an engine works through")

// BenchmarkChains measures what a long chain of an ordering key costs.
func BenchmarkChains(b *testing.B) {
	storetest.Chains(b, func(b *testing.B) store.Store { return openTest(b, newDatabase(b), Options{}) })
}
