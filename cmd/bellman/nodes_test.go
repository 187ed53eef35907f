package main

import (
	"testing"

	"github.com/bellmanhq/bellman/client"
)

func TestShardsInShort(t *testing.T) {
	tests := []struct {
		numbers        []int
		ranges, epochs string
	}{
		{nil, "", ""},
		{[]int{3}, "3", "4"},
		{[]int{0, 1, 2, 5, 7, 8}, "0-2,5,7-8", "1-9"},
	}
	for _, tt := range tests {
		var shards []client.Shard
		for _, n := range tt.numbers {
			shards = append(shards, client.Shard{Shard: n, Epoch: int64(n + 1)})
		}
		if r, e := ranges(shards), epochs(shards); r != tt.ranges || e != tt.epochs {
			t.Errorf("shards %v are shown as %q with epochs %q; want %q with %q", tt.numbers, r, e, tt.ranges, tt.epochs)
		}
	}
}
