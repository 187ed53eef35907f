package sqlstore_test

import (
	"fmt"
	"testing"
	"time"
)

// TestIdle counts the statements of nodes that have nothing to do, alone and with others.
func TestIdle(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()   // these nodes hardly use the machine
				const most = 3 // 2.75, and an allowance because the test runs only eight seconds
				perSecond := idle(t, d.nodes(t, n), 8*time.Second, most)
				t.Logf("%.2f statements a second for each node", perSecond)
				if perSecond > most {
					t.Errorf("%.2f statements a second for each node; want about 2.75", perSecond)
				}
			})
		}
	})
}

// TestHandOver stops nodes that hand over their shards. Every task is attempted once, unless a node
// loses shards because its heartbeats are late: then the next node attempts what was in flight.
func TestHandOver(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		const tries = 5
		for try, again := 1, true; again; try++ {
			t.Run(fmt.Sprint(try), func(t *testing.T) {
				again = false
				log := new(troubles)
				before, late, made, twice := handOver(t, d.nodes(t, 3), log)
				t.Logf("%d tasks, %v late at most, %v before the first stop", made, late, before) // 500 ms on an otherwise idle machine
				lost := log.n.Load()
				if again = twice > 0 && lost > 0 && try < tries; twice > 0 && !again {
					t.Errorf("%d of %d tasks were attempted twice, with %d warnings of the nodes; want none", twice, made, lost)
				}
			})
		}
	})
}

// BenchmarkNodes measures how fast one node attempts stored tasks, and how fast three do on the
// same machine. The difference is the cost of sharing.
func BenchmarkNodes(b *testing.B) {
	for _, d := range databases {
		for _, crew := range []int{1, 3} {
			b.Run(fmt.Sprint(d.name, "/", crew), func(b *testing.B) {
				for b.Loop() {
					b.ReportMetric(throughput(b, d.nodes(b, crew), *drained), "tasks/s")
				}
			})
		}
	}
}
