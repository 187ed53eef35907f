package pebble

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A toggle is a switch shared by several goroutines.
type toggle struct{ v atomic.Bool }

func (t *toggle) on() bool   { return t.v.Load() }
func (t *toggle) set(v bool) { t.v.Store(v) }

// TestCrash makes random calls, crashes the machine at a random moment, and checks the store
// afterwards. Everything that was answered is there, and Check finds nothing wrong. The batch in
// progress at the crash is there as a whole or not at all.
// Each run tries different crashes, 10 by default. More can be requested with BELLMAN_CRASHES=2000
// or -rapid.checks=2000, which takes an hour.
func TestCrash(t *testing.T) {
	crashes(t)
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		fs := vfs.NewCrashableMem()
		model := map[bellman.ID]*bellman.Task{} // as it was answered
		for life := range rapid.IntRange(1, 4).Draw(rt, "lives") {
			s, err := Open("data", small(fs))
			if err != nil {
				rt.Fatalf("life %d: Open() = %v", life, err)
			}
			agree(rt, s, model)
			w := &world{s: s, model: model, rnd: rand.New(rand.NewPCG(seed, uint64(life)))}
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				w.step(rt)
			}

			// The crash comes during the write of one more batch.
			b, after := w.batch()
			done := make(chan error, 1)
			go func() { done <- s.Commit(bg, b) }()
			for range rapid.IntRange(0, 2000).Draw(rt, "wait") {
				if len(done) > 0 {
					break
				}
			}
			answered := len(done) > 0
			clone := fs.CrashClone(vfs.CrashCloneCfg{
				UnsyncedDataPercent: rapid.SampledFrom([]int{0, 50, 100}).Draw(rt, "unsynced"),
				RNG:                 rand.New(rand.NewPCG(seed, 1)),
			})
			if err := <-done; err != nil {
				rt.Fatal(err)
			}
			if err := s.Close(); err != nil {
				rt.Fatal(err)
			}
			fs = clone
			if model = w.model; answered || written(rt, fs, after) {
				model = after
			}
		}
		s, err := Open("data", small(fs))
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		agree(rt, s, model)
	})
}

// crashes sets how many crashes a test tries: from -rapid.checks, otherwise from BELLMAN_CRASHES,
// otherwise 10, or 3 for short tests.
func crashes(t *testing.T) {
	const name = "rapid.checks"
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	n := cmp.Or(os.Getenv("BELLMAN_CRASHES"), "10")
	if testing.Short() {
		n = "3"
	}
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, n); err != nil {
		t.Fatalf("BELLMAN_CRASHES: %v", err)
	}
	t.Cleanup(func() {
		if err := flag.Set(name, before); err != nil {
			t.Error(err)
		}
	})
}

// written reports whether the store after a crash has the state after the batch.
func written(rt *rapid.T, fs *vfs.MemFS, after map[bellman.ID]*bellman.Task) bool {
	s, err := Open("data", small(fs))
	if err != nil {
		rt.Fatalf("Open() after a crash = %v", err)
	}
	defer s.Close()
	for id, task := range after {
		if got, err := s.Task(bg, id); err != nil || got.Version != task.Version {
			return false
		}
	}
	return true
}

// agree compares a store with the model.
func agree(rt *rapid.T, s *Store, model map[bellman.ID]*bellman.Task) {
	report, err := s.Check(bg)
	if err != nil || report.Wrong != 0 {
		rt.Fatalf("Check() found %d problems, %v: %.500q; want none", report.Wrong, err, report.Problems)
	}
	if report.Tasks != int64(len(model)) {
		rt.Fatalf("there are %d tasks, want %d", report.Tasks, len(model))
	}
	for id, want := range model {
		got, err := s.Task(bg, id)
		if err != nil || got.Version != want.Version || got.State != want.State || got.Attempts != want.Attempts {
			rt.Fatalf("Task(%v) = %+v, %v; want %+v", id, got, err, want.Status)
		}
	}
}

// A world is a store under random use, with a model of its content.
type world struct {
	s     *Store
	model map[bellman.ID]*bellman.Task
	rnd   *rand.Rand
}

func (w *world) step(rt *rapid.T) {
	switch w.rnd.IntN(12) {
	case 0:
		before := time.Now()
		n, err := w.s.Prune(bg, bellman.Succeeded, before, 1<<20)
		if err != nil {
			rt.Fatal(err)
		}
		for id, task := range w.model {
			if task.State == bellman.Succeeded && task.Finished.Before(before.Truncate(time.Millisecond)) {
				delete(w.model, id)
				n--
			}
		}
		if n != 0 {
			rt.Fatalf("Prune() deleted %d tasks too many", n)
		}
	case 1:
		if err := w.s.db.Flush(); err != nil {
			rt.Fatal(err)
		}
	case 2:
		if err := w.s.db.Compact(bg, []byte{0}, []byte{255}, false); err != nil {
			rt.Fatal(err)
		}
	default:
		b, after := w.batch()
		if err := w.s.Commit(bg, b); err != nil {
			rt.Fatal(err)
		}
		for _, a := range b.Adds {
			if (a.Err != nil) != (after[a.Task.ID] == nil) && !errors.Is(a.Err, bellman.ErrKeyTaken) {
				rt.Fatalf("add: %v", a.Err)
			}
		}
		for _, c := range b.Changes {
			if c.Err != nil {
				rt.Fatalf("change: %v", c.Err)
			}
		}
		w.model = after
	}
}

// batch returns a random batch, and the model as it should be after it.
func (w *world) batch() (*store.Batch, map[bellman.ID]*bellman.Task) {
	after := make(map[bellman.ID]*bellman.Task, len(w.model))
	maps.Copy(after, w.model)
	b := &store.Batch{Audits: []store.Audit{{At: time.Now(), Who: "w"}}}
	now := time.Now().Truncate(time.Millisecond)
	for range w.rnd.IntN(20) {
		task := &bellman.Task{ID: bellman.NewID(), Queue: fmt.Sprint("q", w.rnd.IntN(3)), MerchantNo: fmt.Sprint("m", w.rnd.IntN(3)),
			Body: make([]byte, w.rnd.IntN(2000)), Status: bellman.Status{Version: 1, Due: now, VisibleAt: now}}
		if w.rnd.IntN(2) == 0 {
			task.Key, task.OrderNo = task.ID.String(), "o"
		}
		b.Adds = append(b.Adds, store.Add{Task: task})
		after[task.ID] = task
	}
	for id, task := range w.model {
		if w.rnd.IntN(4) != 0 {
			continue
		}
		to := bellman.Status{State: bellman.State(w.rnd.IntN(4)), Attempts: task.Attempts + 1, Updated: now}
		if to.State.Ended() {
			to.Finished = now
		} else {
			to.Due = now
			to.VisibleAt = now.Add(time.Duration(w.rnd.IntN(3)) * time.Second)
		}
		b.Changes = append(b.Changes, store.Change{ID: id, Version: task.Version, To: to, Attempt: &bellman.Attempt{Number: int(to.Attempts)}})
		next := *task
		next.Status = to
		next.Version = task.Version + 1
		after[id] = &next
	}
	return b, after
}
