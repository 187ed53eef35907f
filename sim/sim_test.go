// Package sim runs several nodes of bellman in one process, over one store and in
// fake time, while everything that can go wrong does, and checks the promises of
// DESIGN.md section 1 from outside: at the store and at the receivers. It is
// nothing but tests.
package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/memory"
)

var (
	one   = flag.Int64("sim.seed", -1, "run this seed alone")
	seeds = flag.Int("sim.seeds", usual, "how many seeds to run")
	first = flag.Int64("sim.first", 1, "the first of them")
	story = flag.Bool("sim.story", false, "with -sim.seed: tell all that happened")
)

// mostNodes is how many nodes a run has at most.
const mostNodes = 5

// tooLong is when a run is given up: fake time stands still while something does
// not stop to work.
const tooLong = 4 * time.Minute

// Each seed is a run of its own, in a process of its own, so that what it does
// hangs on nothing but the seed.
func TestSim(t *testing.T) {
	if *one >= 0 {
		alone(t, uint64(*one))
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
				c, wrong := child(t.Context(), seed)
				mu.Lock()
				sum.add(c)
				if wrong != "" {
					failed++
					t.Errorf("seed %d:\n%s\nagain: go test ./sim -run TestSim -sim.seed=%d", seed, wrong, seed)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d seeds, %d failed: %+v", *seeds, failed, sum)
	if *seeds >= 20 && (sum.Fenced == 0 || sum.Unknown == 0 || sum.Late == 0 || sum.Takeovers == 0 || sum.Twice == 0) {
		t.Errorf("there was too little trouble: %+v", sum)
	}
}

// child runs a seed in a process of its own. It returns what is wrong; empty:
// nothing.
func child(ctx context.Context, seed int64) (c counts, wrong string) {
	ctx, cancel := context.WithTimeout(ctx, tooLong)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSim$", fmt.Sprintf("-sim.seed=%d", seed))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines {
		if text, ok := strings.CutPrefix(line, "counts "); ok {
			if err := json.Unmarshal([]byte(text), &c); err != nil {
				return c, err.Error()
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		return c, fmt.Sprintf("it takes longer than %v", tooLong)
	case err != nil:
		lines = matter(lines)
		return c, fmt.Sprintf("%v\n%s", err, strings.Join(lines, "\n"))
	case c.Commits == 0:
		return c, "nothing happened: " + string(out)
	}
	return c, ""
}

// aboutTask finds the task that something is wrong with, and in it what the story
// calls it.
var aboutTask = regexp.MustCompile(`WRONG: task [0-9a-f]+-([0-9a-f]+-[0-9a-f]+-[0-9a-f]+)-`)

// matter leaves of what a child says the end, and the story of the tasks with
// which something is wrong.
func matter(lines []string) (kept []string) {
	const ending = 20
	var tasks []string
	for _, line := range lines {
		if m := aboutTask.FindStringSubmatch(line); m != nil && len(tasks) < 3 {
			tasks = append(tasks, m[1])
		}
	}
	for i, line := range lines {
		if i >= len(lines)-ending || slices.ContainsFunc(tasks, func(task string) bool { return strings.Contains(line, task) }) {
			kept = append(kept, line)
		}
	}
	return kept
}

// alone runs a seed in this process.
func alone(t *testing.T, seed uint64) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collector comes when it likes
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(400 << 20))
	cryptotest.SetGlobalRandom(t, seed)
	began := time.Now()
	var w *world
	synctest.Test(t, func(*testing.T) {
		w = newWorld(newPlan(seed, mostNodes), memory.New())
		w.run()
		w.judge()
	})
	g := w.truth.ledger
	for _, wrong := range g.wrongs {
		t.Error(wrong)
	}
	text, err := json.Marshal(g.count)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("counts %s\n", text)
	t.Logf("seed %d: %d nodes, %v of trouble, %d incidents, print %016x, in %v", seed, w.plan.nodes,
		w.plan.length.Round(time.Second), len(w.plan.incidents), g.count.Print, time.Since(began).Round(time.Millisecond))
	if *story || len(g.wrongs) > 0 {
		os.Stdout.WriteString(g.tale(*story))
	}
}

// tale tells all that happened, or what concerns the tasks with which something
// is wrong.
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
