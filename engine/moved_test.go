package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/memory"
)

// The outcome of an attempt whose task was moved to another node's shard meanwhile is not
// written: that this node still has the shard which the task was of gives it no right to.
func TestOutcomeOfMovedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		if err := store.Join(t.Context(), bellman.Node{Name: "other"}, time.Hour); err != nil {
			t.Fatal(err)
		}
		const theirs = 5
		if _, err := store.Claim(t.Context(), "other", theirs, 0); err != nil {
			t.Fatal(err)
		}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: bellman.HandlerFunc(
			func(context.Context, *bellman.Task, int) bellman.Verdict {
				time.Sleep(time.Second)
				return bellman.Verdict{Result: bellman.Refused}
			})})
		defer stop()
		time.Sleep(5 * time.Second) // it has claimed what is nobody's
		id := add(t, e, &bellman.Task{Queue: "q", Schedule: "0s, 1h"})
		time.Sleep(500 * time.Millisecond)
		was := get(t, store, id)
		to := was.Status
		to.Shard = theirs
		b := &bellman.Batch{Changes: []bellman.Change{{ID: id, Version: was.Version, To: to}}}
		if err := store.Commit(t.Context(), b); err != nil || b.Changes[0].Err != nil {
			t.Fatal(err, b.Changes[0].Err)
		}
		time.Sleep(2 * time.Second)
		if is := get(t, store, id); was.Shard == theirs || is.Version != was.Version+1 || is.Attempts != 0 {
			t.Errorf("task of shard %d, moved to %d: version %d with %d attempts; want it as it was moved, version %d",
				was.Shard, is.Shard, is.Version, is.Attempts, was.Version+1)
		}
	})
}
