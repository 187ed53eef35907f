package engine

import "slices"

// A division says who should own each shard. It is worked out anew when the nodes change.
type division struct {
	nodes  []string
	owners []string
}

// among returns by shard which of the live nodes should own it. It is valid until the next call.
func (d *division) among(nodes []string, shards int) (owners []string) {
	if len(d.owners) != shards || !slices.Equal(d.nodes, nodes) {
		d.nodes, d.owners = append(d.nodes[:0], nodes...), d.owners[:0]
		for s := range shards {
			d.owners = append(d.owners, ownerOf(uint16(s), nodes))
		}
	}
	return d.owners
}

// ownerOf says which of the live nodes should own a shard: by rendezvous hashing,
// so that all nodes say the same without asking one another, and a node that
// comes or goes moves no shard but its own. Empty if there are no nodes.
func ownerOf(shard uint16, nodes []string) (owner string) {
	var best uint64
	for _, name := range nodes {
		if w := weight(shard, name); owner == "" || w > best || w == best && name < owner {
			owner, best = name, w
		}
	}
	return owner
}

// weight is a hash of a shard and a node's name: FNV-1a, and what MurmurHash3 ends
// with, since the names of nodes differ in their last characters only.
func weight(shard uint16, name string) uint64 {
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
