package cluster

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A NodeInfo describes a node for operators.
type NodeInfo struct {
	Name    string
	Addr    string // where other nodes reach it; may be empty
	Version string
	Joined  time.Time
	Beat    time.Time     // last heartbeat, by the store's clock
	Alive   bool          // its last heartbeat is not older than the TTL
	Self    bool          // the node that was asked
	Shards  []store.Lease // that it owns, in order; a node may have none
}

// A Hint is a message between nodes that saves the receiver a poll of the store. A lost hint costs
// a moment, a wrong hint one poll. A zero Hint means that From has joined. Nodes of different
// versions exchange it as JSON.
type Hint struct {
	From    string `json:"from"`              // the name of the node that tells, as in the list of nodes
	Leaving bool   `json:"leaving,omitempty"` // From is about to stop, and takes no shards

	// Released are shards that From released for the receiver to claim.
	Released []uint16 `json:"released,omitempty"`

	// Added are shards of the receiver in which From added or changed tasks. The receiver reads
	// them again from Since to Until, Unix ms, both inclusive.
	Added []uint16 `json:"added,omitempty"`
	Since int64    `json:"since_ms,omitempty"`
	Until int64    `json:"until_ms,omitempty"`

	// Changed are tasks of the receiver that From changed or ended, MostChanged at most. The
	// receiver drops them from memory and reads them again. It finds a missing or lost entry when
	// the attempt of the task is due.
	Changed []bellman.ID `json:"changed,omitempty"`

	// Docs are kinds of documents that changed, such as "pause".
	Docs []string `json:"docs,omitempty"`
}

// MostChanged bounds Hint.Changed.
const MostChanged = 1000

// Join merges h with a later hint of the same node.
func (h Hint) Join(later Hint) Hint {
	joined := Hint{
		From:     later.From,
		Leaving:  h.Leaving || later.Leaving,
		Released: union(h.Released, later.Released),
		Added:    union(h.Added, later.Added),
		Docs:     union(h.Docs, later.Docs),
		Changed:  slices.Concat(h.Changed, later.Changed),
	}
	joined.Changed = joined.Changed[:min(len(joined.Changed), MostChanged)]
	switch {
	case len(h.Added) == 0:
		joined.Since, joined.Until = later.Since, later.Until
	case len(later.Added) == 0:
		joined.Since, joined.Until = h.Since, h.Until
	default:
		joined.Since, joined.Until = min(h.Since, later.Since), max(h.Until, later.Until)
	}
	return joined
}

// union returns the sorted union of a and b; nil if it is empty.
func union[T interface{ uint16 | string }](a, b []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}
