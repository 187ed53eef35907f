package cluster

import (
	"slices"
)

// A division caches which node should own each shard.
type division struct {
	nodes  []string
	owners []string
}

// among returns the owner of each shard among the live nodes. The result is valid until the next
// call.
func (d *division) among(nodes []string, shards int) (owners []string) {
	if len(d.owners) != shards || !slices.Equal(d.nodes, nodes) {
		d.nodes, d.owners = append(d.nodes[:0], nodes...), d.owners[:0]
		for s := range shards {
			d.owners = append(d.owners, ownerOf(uint16(s), nodes))
		}
	}
	return d.owners
}

// ownerOf returns which of the live nodes should own a shard, by rendezvous hashing: all nodes
// compute the same owner, and a node that comes or goes moves no other shards. It returns "" if
// there are no nodes.
func ownerOf(shard uint16, nodes []string) (owner string) {
	var best uint64
	for _, name := range nodes {
		if w := Weight(shard, name); owner == "" || w > best || w == best && name < owner {
			owner, best = name, w
		}
	}
	return owner
}

// Weight hashes a shard and a node's name: FNV-1a, then the finalizer of MurmurHash3, because node
// names differ only in their last characters.
func Weight(shard uint16, name string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * prime
	}
	h = (h ^ uint64(shard&0xff)) * prime
	h = (h ^ uint64(shard>>8)) * prime
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
