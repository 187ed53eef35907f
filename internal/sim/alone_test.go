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

	"github.com/bellmanhq/bellman/store/memory"
)

// alone runs a seed in this process.
func alone(t *testing.T, seed uint64) {
	if *asUsual && pprof.Lookup("threadcreate").Count() != usualThreads {
		os.Exit(unusual)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // or it would collect when it likes; see collect
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30))
	cryptotest.SetGlobalRandom(t, seed)
	anew := threads()
	anew()
	var w *world
	synctest.Test(t, func(*testing.T) {
		store := memory.New()
		w = newWorld(newPlan(seed, mostNodes), store)
		store.Clock = w.truth.clock
		over := make(chan struct{})
		go w.collect(over, anew)
		w.run()
		close(over)
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

// collect frees memory now and then, while everything stands still, so that the collection does not
// change the order of goroutines.
func (w *world) collect(over <-chan struct{}, anew func()) {
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
			anew()
			metrics.Read(used)
			left = used[0].Value.Uint64()
		}
	}
}

// threads returns what goes on in a new thread, which is the runtime's 16th, 32nd and so on.
// Each has chance of its own, by its number, and which one it is before a test begins, and
// after a collection, hangs on how quick they are.
func threads() (anew func()) {
	ask := make(chan struct{}) // what it starts must not be in the bubble
	go func() {
		made := pprof.Lookup("threadcreate")
		for want := 16; ; want += 16 {
			<-ask
			for made.Count() < want {
				taken := make(chan struct{})
				go func() {
					runtime.LockOSThread() // and keeps it
					close(taken)
					select {}
				}()
				<-taken
			}
			ask <- struct{}{}
		}
	}()
	return func() {
		ask <- struct{}{}
		<-ask
	}
}
