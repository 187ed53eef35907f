package postgres

import (
	"fmt"
	"testing"
	"time"

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

// A node with nothing to do asks little of the database, alone and with others.
func TestIdle(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			t.Parallel() // it hardly does anything
			perSecond := sqltest.Idle(t, connections(t, nodes), 8*time.Second)
			t.Logf("%.2f statements a second each", perSecond)
			if perSecond > 2.2 { // 2, and what eight seconds are too short for
				t.Errorf("%.2f statements a second each, want at most 2", perSecond)
			}
		})
	}
}

// Nodes that stop hand over: no task is late by much, and none attempted twice.
func TestHandOver(t *testing.T) {
	late, made, twice := sqltest.HandOver(t, connections(t, 3))
	t.Logf("%d tasks, %v late at most, %d twice", made, late, twice)
	if late > time.Second || twice > 0 { // 500 ms, on a machine that does nothing else
		t.Errorf("of %d tasks the latest was %v late, and %d were attempted twice; want a second at most, and none", made, late, twice)
	}
}

// BenchmarkNodes is how fast one node attempts stored tasks, and how fast three do
// on the same machine: what it costs that they share.
func BenchmarkNodes(b *testing.B) {
	for _, nodes := range []int{1, 3} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(sqltest.Throughput(b, connections(b, nodes), *drained), "tasks/s")
			}
		})
	}
}
