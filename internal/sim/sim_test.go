// Package sim runs several nodes of bellman in one process, over one store and in fake time, while
// everything that can fail does. It checks the promises of DESIGN.md section 1 from outside: at the
// store and at the receivers. It consists of tests alone.
//
// In half of the seeds the store is exclusive: one node has it at a time, as the embedded one,
// and no look each second hides a task that was forgotten. In four of ten the sizes of
// engine.Limits are a tenth to a three hundredth, so that lines, agendas, pages and batches fill.
//
// planted.md says which bugs it finds that were planted on purpose, and how soon.
package sim

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

var (
	one     = flag.Int64("sim.seed", -1, "run this seed alone")
	seeds   = flag.Int("sim.seeds", usual, "how many seeds to run")
	first   = flag.Int64("sim.first", 1, "the first of them")
	story   = flag.Bool("sim.story", false, "with -sim.seed: tell all that happened")
	asUsual = flag.Bool("sim.threads", false, "with -sim.here: only if it began with the usual number of threads; see unusual")
	here    = flag.Bool("sim.here", false, "with -sim.seed: in this process, as a debugger wants it; it may come otherwise then")
)

// mostNodes is how many nodes a run has at most.
const mostNodes = 5

// tries is how often a seed that failed is run again, to say whether it does so each time.
const tries = 3

// tooLong bounds a run in real time: fake time stands still while a goroutine does not stop
// working.
const tooLong = 4 * time.Minute

// Each seed is a run of its own, in a process of its own, so that its course depends on the seed
// alone.
func TestSim(t *testing.T) {
	if *one >= 0 && *here {
		alone(t, uint64(*one))
		return
	}
	if *one >= 0 {
		said, err := play(t.Context(), os.Args[0], *one, *story)
		if os.Stdout.WriteString(said); err != nil {
			t.Error(err)
		}
		return
	}
	var (
		mu     sync.Mutex
		wg     sync.WaitGroup
		sum    counts
		next   = *first
		failed int
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				mu.Lock()
				seed := next
				next++
				mu.Unlock()
				if seed >= *first+int64(*seeds) {
					return
				}
				c, wrong := child(t.Context(), os.Args[0], seed)
				again := 0
				for range tries {
					if wrong != "" {
						if _, same := child(t.Context(), os.Args[0], seed); same != "" {
							again++
						}
					}
				}
				mu.Lock()
				sum.add(c)
				if wrong != "" {
					failed++
					t.Errorf("seed %d:\n%s\nit failed %d times of %d that it was run again: CGO_ENABLED=0 go test ./internal/sim -run TestSim -sim.seed=%d", seed, wrong, again, tries, seed)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d seeds, %d failed: %+v", *seeds, failed, sum)
	if *seeds >= 20 && (sum.Fenced == 0 || sum.Unknown == 0 || sum.Late == 0 && *seeds >= 100 || sum.Takeovers == 0 || sum.Twice == 0 || sum.Keyed == 0 || sum.Superseded == 0) {
		t.Errorf("there was too little trouble: %+v", sum)
	}
}

// tale describes everything that happened, or what concerns the tasks that broke a promise.
func (g *ledger) tale(all bool) string {
	shards := make(map[int]bool)
	for id := range g.bad {
		if a := g.tasks[id]; a != nil {
			shards[int(a.task.Shard)] = true
		}
	}
	var b bytes.Buffer
	for _, e := range g.events {
		if all || g.bad[e.task] || e.task.IsZero() && (e.shard < 0 || shards[e.shard]) {
			fmt.Fprintf(&b, "%14v ", e.at.Sub(g.began).Round(time.Microsecond))
			if !e.task.IsZero() {
				fmt.Fprintf(&b, "%s: ", e.task.String()[9:23])
			}
			b.WriteString(e.text())
			b.WriteByte('\n')
		}
	}
	return b.String()
}
