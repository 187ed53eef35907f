package cluster

import (
	"maps"
	"slices"
	"testing"

	"github.com/bellmanhq/bellman/store"
)

// Leases returns a shard that the member has lost only if its lease is required, with an epoch that
// the store rejects.
func TestLeasesOfLostShards(t *testing.T) {
	m := &Member{held: map[uint16]store.Lease{3: {Shard: 3, Epoch: 7}}}
	mine, refused := store.Lease{Shard: 3, Epoch: 7}, store.Lease{Shard: 4, Epoch: NoEpoch}
	for _, tt := range []struct {
		name string
		must map[uint16]bool
		want []store.Lease
	}{
		{"none", nil, nil},
		{"held", map[uint16]bool{3: true}, []store.Lease{mine}},
		{"held, and not required", map[uint16]bool{3: false}, []store.Lease{mine}},
		{"lost", map[uint16]bool{4: true}, []store.Lease{refused}},
		{"lost, and not required", map[uint16]bool{4: false}, nil},
	} {
		if got := m.Leases(nil, maps.All(tt.must)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
		}
	}
	twice := func(yield func(uint16, bool) bool) {
		_ = yield(4, false) && yield(3, true) && yield(4, true) && yield(3, false)
	}
	if got, want := m.Leases(nil, twice), []store.Lease{mine, refused}; !slices.Equal(got, want) {
		t.Errorf("each shard twice: %v; want %v", got, want)
	}
}
