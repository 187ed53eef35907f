package engine

import (
	"slices"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// An outcome whose shard was lost after it was found recordable goes under a lease that the
// store refuses, and not under none. What needs no lease is not held up.
func TestLeasesOfLostShards(t *testing.T) {
	l := &leases{held: map[uint16]store.Lease{3: {Shard: 3, Epoch: 7}}}
	flight := func(shard uint16, handedOver bool) *op {
		task := &bellman.Task{Status: bellman.Status{Shard: shard}}
		return &op{flight: &flight{item: &item{handedOver: handedOver}, task: task, change: store.Change{To: task.Status}}}
	}
	change := func(shard uint16, own bool) *op {
		return &op{change: &store.Change{To: bellman.Status{Shard: shard}}, own: own}
	}
	moved := flight(3, false)
	moved.flight.change.To.Shard = 4
	mine, refused := store.Lease{Shard: 3, Epoch: 7}, store.Lease{Shard: 4, Epoch: noEpoch}
	tests := []struct {
		name string
		ops  []*op
		want []store.Lease
	}{
		{"held", []*op{flight(3, false), flight(3, true), change(3, true)}, []store.Lease{mine}},
		{"lost", []*op{flight(3, false), flight(4, false)}, []store.Lease{mine, refused}},
		{"lost, and to be parked", []*op{change(4, true)}, []store.Lease{refused}},
		{"parked", []*op{flight(4, true)}, nil},
		{"by agenda", []*op{change(4, false)}, nil},
		{"by agenda, then lost", []*op{change(4, false), flight(4, false)}, []store.Lease{refused}},
		{"moved to another's", []*op{moved}, []store.Lease{mine}},
	}
	for _, tt := range tests {
		if got := l.of(tt.ops, nil); !slices.Equal(got, tt.want) {
			t.Errorf("%s: of = %v; want %v", tt.name, got, tt.want)
		}
	}
}
