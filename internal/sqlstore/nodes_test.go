package sqlstore_test

import (
	"fmt"
	"testing"
	"time"
)

// TestIdle is a node with nothing to do: it asks little of the database, alone and with
// others.
func TestIdle(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel() // it hardly does anything
				perSecond := idle(t, d.nodes(t, n), 8*time.Second)
				t.Logf("%.2f statements a second each", perSecond)
				if perSecond > 2.2 { // 2, and what eight seconds are too short for
					t.Errorf("%.2f statements a second each, want at most 2", perSecond)
				}
			})
		}
	})
}

// TestHandOver is nodes that stop and hand over: no task is late by much, and none
// attempted twice.
func TestHandOver(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		before, late, made, twice := handOver(t, d.nodes(t, 3))
		most := time.Second + 10*before // 500 ms, on a machine that does nothing else
		t.Logf("%d tasks, %v late at most, %v before the first stop, %d twice", made, late, before, twice)
		if late > most || twice > 0 {
			t.Errorf("of %d tasks the latest was %v late, and %d were attempted twice; want %v at most, and none", made, late, twice, most)
		}
	})
}

// BenchmarkNodes is how fast one node attempts stored tasks, and how fast three do on the
// same machine: what it costs that they share.
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
