package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func nodeNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("host/%d/0192f3a4-5b6c-7d8e-9f01-%012x", 100+i, rand.Uint64()>>16)
	}
	return names
}

// All nodes agree on the owner of a shard, in whatever order they list the nodes. Each node gets
// about its share.
func TestOwnerOf(t *testing.T) {
	const shards = 6400
	for n := 1; n <= 8; n++ {
		names := nodeNames(n)
		counts := make(map[string]int)
		for s := range uint16(shards) {
			owner := ownerOf(s, names)
			if !slices.Contains(names, owner) {
				t.Fatalf("owner of shard %d among %d nodes is %q; want one of the nodes", s, n, owner)
			}
			counts[owner]++
			other := slices.Clone(names)
			rand.Shuffle(n, func(i, j int) { other[i], other[j] = other[j], other[i] })
			if again := ownerOf(s, other); again != owner {
				t.Fatalf("the owner of shard %d is %s, and %s if the nodes are listed in another order", s, owner, again)
			}
		}
		for name, got := range counts {
			if want := shards / n; got < want*8/10 || got > want*12/10 {
				t.Errorf("of %d nodes %s gets %d of %d shards; want about %d", n, name, got, shards, want)
			}
		}
	}
	if owner := ownerOf(0, nil); owner != "" {
		t.Errorf("owner without nodes is %q; want none", owner)
	}
}

// A new node takes its share from all others, and no shard moves between those.
func TestOwnerOfMovesLittle(t *testing.T) {
	const shards = 6400
	for n := 1; n <= 8; n++ {
		names := nodeNames(n + 1)
		moved := 0
		for s := range uint16(shards) {
			before, after := ownerOf(s, names[:n]), ownerOf(s, names)
			if before == after {
				continue
			}
			moved++
			if after != names[n] {
				t.Errorf("shard %d moved from %s to %s when %s joined; want it to move only to that node", s, before, after, names[n])
			}
		}
		if want := shards / (n + 1); moved < want*8/10 || moved > want*12/10 {
			t.Errorf("%d of %d shards moved when a node joined %d others; want about %d", moved, shards, n, want)
		}
	}
}

// A division caches the owners of all shards. It agrees with ownerOf after every change of the
// nodes.
func TestDivisionAgreesWithOwnerOf(t *testing.T) {
	var d division
	for _, nodes := range [][]string{{"a"}, {"a", "b"}, {"a", "c"}, {"a", "c"}, {"c"}, {}} {
		for _, shards := range []int{64, 64, 16} {
			owners := d.among(nodes, shards)
			if len(owners) != shards {
				t.Fatalf("%d owners; want one for each of %d shards", len(owners), shards)
			}
			for s, owner := range owners {
				if want := ownerOf(uint16(s), nodes); owner != want {
					t.Errorf("with the nodes %[2]v shard %[1]d is owned by %[3]q; want %[4]q", s, nodes, owner, want)
				}
			}
		}
	}
}
