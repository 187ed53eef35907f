package migrate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

var errKilled = errors.New("killed")

// A mortal is a store of a process that dies at one of its commits, before or after the commit is
// written. After the death no call is answered.
type mortal struct {
	store.Store
	left *atomic.Int64 // commits until the death, over all stores of the process
	late bool
}

func (m mortal) Commit(ctx context.Context, b *store.Batch) error {
	left := m.left.Add(-1)
	if left > 0 {
		return m.Store.Commit(ctx, b)
	}
	if left == 0 && m.late {
		_ = m.Store.Commit(ctx, b)
	}
	return errKilled
}

func (m mortal) Leave(context.Context, string) error { return errKilled } // a killed process does not sign off

// TestMove moves a store that is in use, with processes that die at any commit.
func TestMove(t *testing.T) {
	deaths := 0
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{T: t, random: rand.New(rand.NewPCG(seed, 1)), store: memory.New(), keys: 5000}
			if seed%2 == 0 {
				w.pruned, w.keys = map[bellman.ID]bool{}, 15 // keys are reused after a prune
			}
			w.add()
			for range page * int(seed%4/3) { // one case in four has more than a page
				w.add()
			}
			w.live(300)
			to := memory.New()
			ctx := t.Context()
			node := store.Node{Name: "server"}
			if err := w.store.Join(ctx, node, time.Hour); err != nil {
				t.Fatal(err)
			}
			beating, still := context.WithCancel(ctx)
			var beats sync.WaitGroup
			defer beats.Wait()
			defer still()
			beats.Go(func() {
				for sleep.For(beating, time.Second) {
					_ = w.store.Beat(beating, node.Name) // until the node has left
				}
			})
			for tries := 1; ; tries++ {
				var left atomic.Int64
				left.Store(int64(1 + w.random.IntN(4*tries)))
				late := w.random.IntN(2) == 0
				o := Options{From: mortal{w.store, &left, late}, To: mortal{to, &left, late}, FromName: "old", ToName: "new", Kinds: []string{"link", "pause"}}
				o.Report = func(p Progress) {
					switch p.Phase {
					case "copying":
						w.live(30)
					case "waiting":
						if len(p.Wait) == 1 && p.Wait[0] == "server" {
							w.live(30) // the last changes of the source
							still()
							if err := w.store.Leave(ctx, "server"); err != nil {
								t.Error(err)
							}
						}
					}
				}
				err := Run(ctx, o)
				if err == nil {
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatalf("seed %d, try %d: %v", seed, tries, err)
				}
				deaths++
				from, into := Refuse(ctx, w.store), Refuse(ctx, to)
				c, err := Counted(ctx, to, o.Kinds)
				if from == nil && into == nil && c != (Count{}) {
					t.Fatalf("seed %d: servers would start on both stores; the target has the cutover %+v (%v)", seed, c, err)
				}
			}
			w.equal(to)
			if err := Refuse(ctx, to); err != nil {
				t.Errorf("a server does not start on the target: %v", err)
			}
			if err := Refuse(ctx, w.store); err == nil || !strings.Contains(err.Error(), "new") {
				t.Errorf("a server on the source: %v; want an error", err)
			}
			if err := Run(ctx, Options{From: w.store, To: to, Kinds: []string{"link", "pause"}}); err != nil {
				t.Errorf("Run after the move: %v", err)
			}
			if err := Abandon(ctx, w.store); err == nil {
				t.Error("Abandon of a finished move: no error")
			}
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
	if deaths < 100 {
		t.Errorf("only %d deaths, so the test shows too little", deaths)
	}
}

// TestRefused tries to move stores that may not be moved.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, random: rand.New(rand.NewPCG(1, 1)), store: memory.New(), keys: 5}
		w.add()
		ctx := t.Context()
		other := &world{T: t, random: w.random, store: memory.New(), keys: 5}
		other.add()
		if err := Run(ctx, Options{From: w.store, To: other.store}); !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), "1 tasks that wait") {
			t.Errorf("Run() into a store with a task = %v; want an error", err)
		}
		if err := errors.Join(Refuse(ctx, w.store), Refuse(ctx, other.store)); err != nil {
			t.Errorf("after a rejected move: %v", err)
		}
		if err := Run(ctx, Options{From: w.store, To: w.store}); err == nil {
			t.Error("Run() of a store into itself: no error")
		}
		busy := memory.New()
		if err := busy.Join(ctx, store.Node{Name: "server"}, time.Hour); err != nil {
			t.Fatal(err)
		}
		if _, err := busy.Claim(ctx, "server", 3, 0); err != nil {
			t.Fatal(err)
		}
		if err := Run(ctx, Options{From: w.store, To: busy}); err == nil || !strings.Contains(err.Error(), "node server") {
			t.Errorf("Run() into a store with a live node = %v; want an error", err)
		}
		if err := Abandon(ctx, w.store); err != nil {
			t.Errorf("Abandon() = %v", err)
		}
		first := memory.New()
		var left atomic.Int64
		left.Store(4) // the process dies on the way
		if err := Run(ctx, Options{From: mortal{w.store, &left, true}, To: mortal{first, &left, true}}); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if err := Run(ctx, Options{From: other.store, To: first}); !errors.Is(err, ErrNotEmpty) {
			t.Errorf("Run() of a second move into the same store: %v; want an error", err)
		}
		second := memory.New()
		if err := Run(ctx, Options{From: w.store, To: second, ToName: "second"}); err != nil {
			t.Fatal(err)
		}
		if err := Run(ctx, Options{From: w.store, To: first}); err == nil || !strings.Contains(err.Error(), "were moved to second") {
			t.Errorf("Run() into the target of the interrupted move, after a move to another: %v; want an error", err)
		}
		if err := Refuse(ctx, first); err == nil {
			t.Error("a server starts on the target of the interrupted move, beside the one that has the tasks")
		}
	})
}

// Somebody gives up a move that still runs. It ends with an error that says so, and only the source
// can be served.
func TestAbandonedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, random: rand.New(rand.NewPCG(1, 1)), store: memory.New(), keys: 5}
		w.add()
		to := memory.New()
		given := false
		err := Run(t.Context(), Options{From: w.store, To: to, Report: func(p Progress) {
			if p.Phase == "moving" && !given {
				given = true
				if err := Abandon(t.Context(), w.store); err != nil {
					t.Error(err)
				}
			}
		}})
		if !errors.Is(err, bellman.ErrConflict) || !strings.Contains(err.Error(), "this move was given up") {
			t.Errorf("Run() of a move that was given up = %v; want an error that says so", err)
		}
		if err := Refuse(t.Context(), w.store); err != nil {
			t.Errorf("a server on the source: %v", err)
		}
		if err := Refuse(t.Context(), to); err == nil {
			t.Error("a server starts on the target of a move that was given up")
		}
	})
}

// A narrow store has half of the shards.
type narrow struct{ store.Store }

func (n narrow) State(ctx context.Context, kind string) (store.State, error) {
	state, err := n.Store.State(ctx, kind)
	state.Shards = state.Shards[:len(state.Shards)/2]
	return state, err
}

// Check returns the error that Run would return, and changes nothing.
func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := func() store.Store {
			w := &world{T: t, random: rand.New(rand.NewPCG(1, 1)), store: memory.New(), keys: 5}
			w.add()
			return w.store
		}
		gone, target := full(), memory.New()
		if err := Run(t.Context(), Options{From: gone, To: target, ToName: "target"}); err != nil {
			t.Fatal(err)
		}
		interrupted, half := full(), memory.New()
		var left atomic.Int64
		left.Store(4) // the process dies on the way
		if err := Run(t.Context(), Options{From: mortal{interrupted, &left, true}, To: mortal{half, &left, true}}); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name     string
			from, to store.Store
			want     string // part of the error; empty: no error
		}{
			{"a new target", full(), memory.New(), ""},
			{"the same move again", gone, target, ""},
			{"a target with a task", full(), full(), "the target is not empty"},
			{"a target of another move", full(), half, "the target is not empty"},
			{"a source that is a target", half, memory.New(), "is where a move from"},
			{"an interrupted move", interrupted, half, ""},
			{"a source that was moved", gone, memory.New(), "were moved to target"},
			{"other shards", full(), narrow{memory.New()}, "?shards=64"},
		} {
			o := Options{From: tt.from, To: tt.to}
			check := Check(t.Context(), o)
			if docs, err := tt.to.Docs(t.Context(), store.DocFilter{Kind: kind, Name: in}, 1); err != nil || len(docs) > 0 && tt.to != half {
				t.Errorf("%s: Check() marked the target: %v, %v", tt.name, docs, err)
			}
			err := Run(t.Context(), o)
			if fmt.Sprint(check) != fmt.Sprint(err) || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: Check() = %v, Run() = %v; want the same with %q", tt.name, check, err, tt.want)
			}
		}
		if err := Check(t.Context(), Options{From: gone}); err == nil || !strings.Contains(err.Error(), "were moved to target") {
			t.Errorf("Check() without a target, of a source that was moved: %v; want an error", err)
		}
		if err := Check(t.Context(), Options{From: full()}); err != nil {
			t.Errorf("Check() without a target: %v", err)
		}
	})
}

// A broken store is one whose commits fail after a while.
type broken struct{ store.Store }

var errBroken = errors.New("the disk is broken")

func (broken) Commit(_ context.Context, b *store.Batch) error {
	if len(b.Adds) == 0 {
		return nil // commits of the move's own state succeed
	}
	return errBroken
}

// A holding store does not release its shards.
type holding struct{ store.Store }

func (holding) Leave(context.Context, string) error { return errBroken }

// A move that cannot release a store says so. Everything is moved then, and the next run says that.
func TestErrorOfLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, o := range []Options{{From: holding{memory.New()}, To: memory.New()}, {From: memory.New(), To: holding{memory.New()}}} {
			if err := Run(t.Context(), o); !errors.Is(err, errBroken) {
				t.Errorf("Run() = %v; want %v", err, errBroken)
			}
			if err := Run(t.Context(), o); err != nil {
				t.Errorf("the next Run() = %v", err)
			}
		}
	})
}

// If a write to the target fails, the error of the move is that of the write, not that reading was
// cancelled because of it.
func TestErrorOfFailedMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, random: rand.New(rand.NewPCG(1, 1)), store: memory.New(), keys: 1 << 30}
		for range 10 * page {
			w.add()
		}
		_, err := (&run{Options: Options{From: w.store, To: broken{memory.New()}, Report: func(Progress) {}}, leases: make([]store.Lease, 1)}).pass(t.Context(), "copying", false)
		if !errors.Is(err, errBroken) || errors.Is(err, context.Canceled) {
			t.Errorf("pass() = %v, want %v", err, errBroken)
		}
	})
}
