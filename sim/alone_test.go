package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/memory"
)

// alone runs a seed in this process.
func alone(t *testing.T, seed uint64) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // or it would collect when it likes; see collect
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30))
	cryptotest.SetGlobalRandom(t, seed)
	newestThread()
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
	t.Logf("seed %d: %d nodes, %v of trouble, %d incidents, print %016x", seed, w.plan.nodes,
		w.plan.length.Round(time.Second), len(w.plan.incidents), g.count.Print)
	if *story || len(g.wrongs) > 0 {
		os.Stdout.WriteString(g.tale(*story))
	}
}

// collect frees memory now and then, when everything stands still, so that it does not
// change who goes first.
func (w *world) collect(over <-chan struct{}) {
	const enough = 200 << 20 // bytes, since the last time
	used := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	left := uint64(0)
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if metrics.Read(used); used[0].Value.Uint64() > left+enough {
			synctest.Wait()
			runtime.GC()
			metrics.Read(used)
			left = used[0].Value.Uint64()
		}
	}
}

// newestThread goes on in a thread of which the runtime has made a certain number: each has
// chance of its own, and how many there are before a test begins hangs on how quick they are.
func newestThread() {
	const enough = 16
	for threads := pprof.Lookup("threadcreate"); threads.Count() < enough; {
		taken := make(chan struct{})
		go func() {
			runtime.LockOSThread() // and keeps it
			close(taken)
			select {}
		}()
		<-taken
	}
}
