package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// While an attempt is in flight, its task moves to a shard of another node. The attempt's outcome
// is not written: owning the task's former shard gives no right to.
func TestOutcomeOfMovedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory.New()
		if err := db.Join(t.Context(), store.Node{Name: "other"}, time.Hour); err != nil {
			t.Fatal(err)
		}
		const theirs = 5
		if _, err := db.Claim(t.Context(), "other", theirs, 0); err != nil {
			t.Fatal(err)
		}
		e, stop := run(t, db, engine.Queue{Name: "q", Handler: bellman.HandlerFunc(
			func(context.Context, *bellman.Task, int) bellman.Verdict {
				time.Sleep(time.Second)
				return bellman.Verdict{Result: bellman.Refused}
			})})
		defer stop()
		time.Sleep(5 * time.Second) // all shards without an owner have been claimed
		var id bellman.ID
		was := &bellman.Task{Status: bellman.Status{Phase: bellman.HandedOver}}
		for was.Phase == bellman.HandedOver { // its shard was just released to the other node: try another task
			id = add(t, e, &bellman.Task{Queue: "q", Schedule: "0s, 1h"})
			time.Sleep(500 * time.Millisecond)
			was = get(t, db, id)
		}
		to := was.Status
		to.Shard = theirs
		b := &store.Batch{Changes: []store.Change{{ID: id, Version: was.Version, To: to}}}
		if err := db.Commit(t.Context(), b); err != nil || b.Changes[0].Err != nil {
			t.Fatal(err, b.Changes[0].Err)
		}
		time.Sleep(2 * time.Second)
		if is := get(t, db, id); was.Shard == theirs || is.Version != was.Version+1 || is.Attempts != 0 {
			t.Errorf("task of shard %d, moved to %d: version %d with %d attempts; want it as it was moved, version %d",
				was.Shard, is.Shard, is.Version, is.Attempts, was.Version+1)
		}
	})
}
