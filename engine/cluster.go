package engine

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A NodeInfo is a node as an operator looks at it.
type NodeInfo struct {
	Name    string
	Addr    string // where other nodes reach it; may be empty
	Version string
	Joined  time.Time
	Beat    time.Time     // the last one, by the store's clock
	Alive   bool          // it has not expired
	Self    bool          // it is the node that was asked
	Shards  []store.Lease // those it owns, in order; none is no error
}

// A Hint is what a node tells another, so that this one need not find it out by
// looking at the store. A hint that is lost costs a moment, one that is not true
// a look; a zero hint says that From has joined. Its JSON is what nodes of one
// cluster send to each other, also while they are of different versions.
type Hint struct {
	From    string `json:"from"`              // the name of the node that tells, as in the list of nodes
	Leaving bool   `json:"leaving,omitempty"` // From is about to stop, and takes no shards

	// Released are shards that From gave back for the receiver to claim.
	Released []uint16 `json:"released,omitempty"`

	// Added are shards of the receiver in which From added tasks or changed them.
	// They are to be looked at from Since to Until, Unix ms, both inclusive.
	Added []uint16 `json:"added,omitempty"`
	Since int64    `json:"since_ms,omitempty"`
	Until int64    `json:"until_ms,omitempty"`

	// Changed are tasks of the receiver's that From changed or ended: what is known of
	// them in memory is old. No more than MostChanged: what is cut off is found when the
	// tasks are about to be attempted, as is what was lost.
	Changed []bellman.ID `json:"changed,omitempty"`

	// Docs are kinds of documents that changed, such as "pause".
	Docs []string `json:"docs,omitempty"`
}

// MostChanged is how many tasks one hint names.
const MostChanged = 1000

// Join returns one hint that says what h and a later one of the same node say.
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

// union returns what is in a or b, in order and once; nil for nothing.
func union[T interface{ uint16 | string }](a, b []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}
