package engine

import (
	"errors"
	"slices"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/store"
)

// An outcome is written under the lease of its shard. An outcome that was handed over, and a change
// by a caller, need no lease.
func TestShardsOf(t *testing.T) {
	type named struct {
		shard uint16
		must  bool
	}
	flight := func(handedOver bool) *op {
		task := &bellman.Task{Status: bellman.Status{Shard: 3}}
		return &op{flight: &flight{item: &item{handedOver: handedOver}, task: task, change: store.Change{To: task.Status}}}
	}
	change := func(own bool) *op {
		return &op{change: &store.Change{To: bellman.Status{Shard: 5}}, own: own}
	}
	moved := flight(false)
	moved.flight.change.To.Shard = 4
	for _, tt := range []struct {
		name string
		op   *op
		want []named
	}{
		{"outcome", flight(false), []named{{3, true}, {3, false}}},
		{"outcome of a task that moves", moved, []named{{3, true}, {4, false}}},
		{"outcome that was handed over", flight(true), []named{{3, false}, {3, false}}},
		{"handover", change(true), []named{{5, true}}},
		{"change by a caller", change(false), []named{{5, false}}},
		{"new tasks", &op{adds: make([]store.Add, 1)}, nil},
	} {
		var got []named
		for shard, must := range shardsOf([]*op{tt.op}) {
			got = append(got, named{shard, must})
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
		}
	}
}

// A change that needs the lease of its shard, such as an announcement, is refused when the shard is
// lost: the store would reject its batch again and again. A change by a caller is written.
func TestRecordableWithoutLease(t *testing.T) {
	c := &committer{leases: new(cluster.Member)}
	own := &op{change: new(store.Change), own: true, done: make(chan error, 1)}
	callers := &op{change: new(store.Change), done: make(chan error, 1)}
	if kept := c.recordable([]*op{own, callers}); len(kept) != 1 || kept[0] != callers {
		t.Errorf("recordable keeps %v; want the caller's change alone", kept)
	}
	select {
	case err := <-own.done:
		if !errors.Is(err, bellman.ErrFenced) {
			t.Errorf("a change of a lost shard = %v; want ErrFenced", err)
		}
	default:
		t.Error("a change of a lost shard has no result; want ErrFenced")
	}
}
