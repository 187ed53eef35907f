package cluster

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
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

// A node keeps the death of a shard's former owner only under its lease of the shard: otherwise it
// would overwrite the death that the next owner has found.
func TestDeathsAreKeptUnderTheLease(t *testing.T) {
	ctx, s := t.Context(), memory.New()
	for _, name := range []string{"a", "b"} {
		if err := s.Join(ctx, store.Node{Name: name}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	claim := func(name string, seen int64) store.Lease {
		l, err := s.Claim(ctx, name, 3, seen)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	lease := claim("a", 0)
	m := &Member{store: s, claiming: locks.NewChan("cluster.claiming"), held: map[uint16]store.Lease{3: lease}, deaths: map[uint16]Death{3: {Found: 5, Node: "dead"}}}
	if err := m.keepDeaths(ctx, 3); err != nil || !m.Death(3).Kept {
		t.Errorf("keepDeaths = %v; want it kept", err)
	}
	if err := s.Release(ctx, "a", lease); err != nil {
		t.Fatal(err)
	}
	claim("b", lease.Epoch)
	m.know(3, Death{Found: 4, Node: "another"})
	if err := m.keepDeaths(ctx, 3); !errors.Is(err, bellman.ErrFenced) || m.Death(3).Kept {
		t.Errorf("keepDeaths of a shard of another node = %v; want ErrFenced", err)
	}
	m.node.Name = "a"
	left := m.Leave(ctx)
	if state, err := s.State(ctx, ""); left != nil || err != nil || len(state.Nodes) != 1 || state.Nodes[0].Name != "b" {
		t.Errorf("Leave after a shard was lost to a living node = %v, then %v, %v; want only that node", left, state.Nodes, err)
	}
	if err := s.Leave(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if err := m.keepOwnDeaths(ctx); !errors.Is(err, bellman.ErrFenced) {
		t.Errorf("keepOwnDeaths with a shard that a late claim could still get = %v; want ErrFenced", err)
	}
	if kept, err := m.keptDeaths(ctx, time.Minute); err != nil || kept[3].Found != 5 {
		t.Errorf("the store has %+v, %v; want the death that was kept under the lease", kept, err)
	}
}

// A deaf host ignores what its member tells it.
type deaf struct{ Host }

func (deaf) Lost(uint16)    {}
func (deaf) Left(...uint16) {}

// joinedTwice returns a member that claimed shard 3 twice under one name, and joined again under
// another. In the store the shard is still that of the first name.
func joinedTwice(t *testing.T) (m *Member, s store.Store, first, second store.Lease) {
	ctx := t.Context()
	s = memory.New()
	m = New(Options{Store: s, Log: slog.New(slog.DiscardHandler), Clock: clock.New(time.Now)}, deaf{})
	for _, name := range []string{"a/1", "a/2", "b/1"} {
		if err := s.Join(ctx, store.Node{Name: name}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	var errs [3]error
	first, errs[0] = s.Claim(ctx, "a/1", 3, 0)
	second, errs[1] = s.Claim(ctx, "a/1", 3, first.Epoch)
	errs[2] = s.Leave(ctx, "a/1")
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	m.joined(store.Node{Name: "a/1"}, time.Now())
	m.won(second)
	m.joined(store.Node{Name: "a/2"}, time.Now())
	return m, s, first, second
}

// A batch under an earlier lease says nothing about the newer lease of the shard: only the shards
// of outdated leases are dropped.
func TestFencedByAnEarlierLease(t *testing.T) {
	m, s, first, second := joinedTwice(t)
	if !m.Fenced(t.Context(), []store.Lease{first}) || !m.Holds(3) {
		t.Errorf("after a batch under an earlier lease the shard is held: %t; want Fenced, and the shard held", m.Holds(3))
	}
	if m.Fenced(t.Context(), []store.Lease{second}) {
		t.Error("the newest lease is fenced; want it valid")
	}
	if _, err := s.Claim(t.Context(), "b/1", 3, second.Epoch); err != nil {
		t.Fatal(err)
	}
	if !m.Fenced(t.Context(), []store.Lease{second}) || m.Holds(3) {
		t.Errorf("after another node took the shard it is held: %t; want Fenced, and the shard lost", m.Holds(3))
	}
}

// Only the newest lease of a held shard is replaced: a shard that was released meanwhile is not
// claimed again, and one that was claimed meanwhile not once more.
func TestReclaimSkipsOutdatedLeases(t *testing.T) {
	m, s, first, second := joinedTwice(t)
	ctx := t.Context()
	epoch := func() (string, int64) {
		state, err := s.State(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		return state.Shards[3].Owner, state.Shards[3].Epoch
	}
	if err := m.Reclaim(ctx, []store.Lease{first}); err != nil || !m.Holds(3) {
		t.Errorf("Reclaim of an earlier lease = %v, held %t; want nothing changed", err, m.Holds(3))
	}
	if owner, now := epoch(); now != second.Epoch {
		t.Errorf("after Reclaim of an earlier lease the shard is of %s, epoch %d; want epoch %d", owner, now, second.Epoch)
	}
	if err := m.Reclaim(ctx, []store.Lease{second}); err != nil {
		t.Fatal(err)
	}
	third, _ := m.lease(3)
	if owner, now := epoch(); owner != "a/2" || now != third.Epoch || now == second.Epoch {
		t.Errorf("after Reclaim of the newest lease the shard is of %s, epoch %d, and %d here; want a/2 and a new epoch", owner, now, third.Epoch)
	}
	if err := s.Release(ctx, "a/2", third); err != nil {
		t.Fatal(err)
	}
	m.lose(3)
	if err := m.Reclaim(ctx, []store.Lease{third}); err != nil {
		t.Fatal(err)
	}
	if owner, _ := epoch(); owner != "" {
		t.Errorf("after Reclaim of a released shard it is of %s; want nobody's", owner)
	}
}
