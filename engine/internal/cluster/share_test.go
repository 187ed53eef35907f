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

// All nodes say the same of a shard, in whatever order they know the nodes, and
// each gets about its part.
func TestOwnerOf(t *testing.T) {
	const shards = 6400
	for n := 1; n <= 8; n++ {
		names := nodeNames(n)
		counts := make(map[string]int)
		for s := range uint16(shards) {
			owner := ownerOf(s, names)
			if !slices.Contains(names, owner) {
				t.Fatalf("shard %d of %d nodes: %q", s, n, owner)
			}
			counts[owner]++
			other := slices.Clone(names)
			rand.Shuffle(n, func(i, j int) { other[i], other[j] = other[j], other[i] })
			if again := ownerOf(s, other); again != owner {
				t.Fatalf("shard %d: %s, and in another order %s", s, owner, again)
			}
		}
		for name, got := range counts {
			if want := shards / n; got < want*8/10 || got > want*12/10 {
				t.Errorf("of %d nodes %s gets %d of %d shards; want about %d", n, name, got, shards, want)
			}
		}
	}
	if owner := ownerOf(0, nil); owner != "" {
		t.Errorf("without nodes: %q", owner)
	}
}

// A node that comes takes its part and moves nothing between the others; when it
// goes, all is as it was.
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
				t.Errorf("shard %d moved from %s to %s when %s came", s, before, after, names[n])
			}
		}
		if want := shards / (n + 1); moved < want*8/10 || moved > want*12/10 {
			t.Errorf("%d of %d shards moved when a node came to %d; want about %d", moved, shards, n, want)
		}
	}
}

// Who should own what is worked out when the nodes change, and is what ownerOf says.
func TestDivision(t *testing.T) {
	var d division
	for _, nodes := range [][]string{{"a"}, {"a", "b"}, {"a", "c"}, {"a", "c"}, {"c"}, {}} {
		for _, shards := range []int{64, 64, 16} {
			owners := d.among(nodes, shards)
			if len(owners) != shards {
				t.Fatalf("%d owners of %d shards", len(owners), shards)
			}
			for s, owner := range owners {
				if want := ownerOf(uint16(s), nodes); owner != want {
					t.Errorf("shard %d of %v is %q's; want %q", s, nodes, owner, want)
				}
			}
		}
	}
}
