// Package store is the contract between an engine and the store that keeps its tasks. The packages
// below it are stores. Package storetest holds the contract as tests. DESIGN.md in this folder is
// the contract on one page.
package store

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
)

// A Store keeps tasks. It is [Tasks], [Cluster], [Pages] and Close. What only some stores can do is
// an ability: [Traits], [Counter], [Health], [Backup], [Checker], [Figures]. [As] finds an ability.
//
// These promises hold for all methods:
//   - They are safe for concurrent use.
//   - A read sees every commit that returned before the read began.
//   - Times are kept in whole milliseconds, and come back in UTC.
//   - Texts and bodies are bytes. They are compared byte by byte.
//   - The caller may change an argument after the call, and a result: nothing is shared.
//   - The caller owns ctx. A call whose ctx has ended returns an error soon.
//   - After Close a method returns [bellman.ErrClosed].
//   - An error that wraps [bellman.ErrUnreachable] means that the database did not answer.
type Store interface {
	Tasks
	Cluster
	Pages

	// Close waits for the calls under way and frees what the store has open. A second Close returns
	// nil.
	Close() error
}

// Tasks writes tasks, and reads what an engine needs to attempt them.
type Tasks interface {
	// Commit writes b in one transaction. When Commit returns nil, b is durable.
	//
	// Adds are written before Changes. Each row sees the rows before it in b.
	//
	// A row of Adds or Changes that is refused has its own Err, and the other rows are written.
	// This holds for every refusal that this package names: see [Add] and [Change]. It does not
	// hold when the database itself refuses a row, for example because it is too large. Then Commit
	// returns the database's error and nothing of b is written. To look at each row first would
	// cost every good batch, so the caller finds the bad row: it commits b in halves.
	//
	// When Commit returns an error, nothing of b was written, with one exception:
	// [bellman.ErrUnknown] means that b may have been written. The other named errors are:
	//   - [bellman.ErrFenced]: a lease of b is not the newest of its shard.
	//   - [bellman.ErrConflict]: a document of b is not what its Was says.
	//   - [bellman.ErrFull]: there is no room even for changes, or not for all rows of a [Batch.Whole].
	//   - [bellman.ErrLocked]: another transaction, which is still open, has added a key or an alias of
	//     b, or has locked the table.
	//   - [bellman.ErrClosed].
	Commit(ctx context.Context, b *Batch) error

	// Due appends entries of pending tasks to buf and returns it: those of the given shards whose
	// VisibleAt is at or after from.VisibleAt and before the time to (Unix ms), in order of
	// (VisibleAt, ID), at most limit. An entry at from itself is left out. With the zero from.ID,
	// all entries of from.VisibleAt are included. shards names each shard once.
	Due(ctx context.Context, shards []uint16, from Position, to int64, limit int, buf []Entry) ([]Entry, error)

	// Load reads the tasks of entries, in their order, without Last. An element is nil if the task
	// was deleted, has ended, or has another version than the entry.
	Load(ctx context.Context, entries []Entry) ([]*bellman.Task, error)

	// Task reads a task, with Last. ErrNotFound: there is none.
	Task(ctx context.Context, id bellman.ID) (*bellman.Task, error)

	// Attempts reads attempts of a task whose numbers are above after, in order of their numbers,
	// at most limit. A task that does not exist has none.
	Attempts(ctx context.Context, id bellman.ID, after, limit int) ([]bellman.Attempt, error)

	// Chain reads the pending tasks of a queue that have this ordering key, as seen from the task
	// id. ErrNotFound: the task id is not among them. The zero id stands for the first of them, and
	// then an empty chain is no error. Chain reads one moment.
	//
	// The order of a chain is this. A task that was added after the Commit of another had returned
	// is behind that one, whatever the clocks of their nodes say. Tasks of one batch have the order
	// of the batch. Tasks that were added concurrently may have either order. A task that had ended
	// and is pending again has its old place, if its new status has its Place.
	Chain(ctx context.Context, queue, orderingKey string, id bellman.ID, limit int) (Chain, error)
}

// A Chain describes the pending tasks of one ordering key, as seen from one of them.
type Chain struct {
	First        []bellman.ID // the first tasks of the chain, at most as many as were asked for
	SupersededBy bellman.ID   // the last task behind this one that supersedes; zero: there is none
}

// Before returns the first task of the chain if that is not id; otherwise zero.
func (c Chain) Before(id bellman.ID) bellman.ID {
	if len(c.First) == 0 || c.First[0] == id {
		return bellman.ID{}
	}
	return c.First[0]
}

// A Position is a place in the order of due tasks.
type Position struct {
	VisibleAt int64 // Unix ms
	ID        bellman.ID
}

// Position returns the place of an entry.
func (e *Entry) Position() Position { return Position{VisibleAt: e.VisibleAt, ID: e.ID} }

// A node sends a heartbeat every LeaseBeat. If its last heartbeat is older than LeaseTTL, the node
// is dead for the others, and they may claim its shards.
const (
	LeaseTTL  = 2700 * time.Millisecond
	LeaseBeat = 800 * time.Millisecond
)

// MaxSkew is the largest difference between the clocks of a process and its database. A store with
// a larger one cannot be opened, because tasks are due by the clock of the process, and leases end
// by the clock of the database.
const MaxSkew = time.Second

// MaxShards is the largest number of shards of a new store. A database reads due tasks with one
// statement, which has a part for each shard of a node, and one node may own all shards. PostgreSQL
// plans 1,024 parts in 0.15 s, 4,096 in seconds, and rejects 8,192.
const MaxShards = 1024

// MaxTime is the largest VisibleAt, Unix ms. A store may keep times as 64-bit floating-point
// numbers.
const MaxTime = 1<<53 - 1

// An Entry is a task's entry in the due index. An engine waits for the task with it, and reads the
// content of the task later.
type Entry struct {
	ID        bellman.ID
	VisibleAt int64 // Unix ms; when the owner of the shard looks at the task
	Due       int64 // Unix ms; before VisibleAt while something holds the task back
	Line      Line
	Version   uint32
	Attempts  uint32
	Shard     uint16
}

// Cluster shares the shards out among nodes. The epoch of a shard only grows. The node that made
// the newest claim owns the shard until it releases the shard, leaves or expires. The store's own
// clock decides which nodes have expired.
type Cluster interface {
	// State reads, of one moment, the nodes in order of their names, all shards in order of their
	// numbers, and all documents of a kind in order of their names. An empty kind reads no
	// documents. Nodes that expired are listed for a while, at least ten times their ttl.
	State(ctx context.Context, kind string) (State, error)

	// Join registers a node. It stays registered as long as it beats at least every ttl, which is a
	// millisecond or more. ErrConflict: a node of that name is registered and has not expired.
	Join(ctx context.Context, n Node, ttl time.Duration) error

	// Beat keeps a node registered for another ttl. ErrFenced: it has expired. Then others may
	// claim its shards, and it must join under a new name.
	Beat(ctx context.Context, node string) error

	// Leave ends a node's registration and releases its shards. It returns nil for a node that is
	// not registered.
	Leave(ctx context.Context, node string) error

	// Claim makes a node the owner of a shard and raises the epoch from seen to seen plus one.
	// ErrFenced: the epoch is not seen, another node that has not expired owns the shard, or the
	// claiming node is not registered or has expired.
	Claim(ctx context.Context, node string, shard uint16, seen int64) (Lease, error)

	// Release gives up one shard. It keeps its epoch, and nobody owns it until the next claim.
	// Until then commits under the lease are still accepted. ErrFenced: the node does not own the
	// shard, or the lease is not the newest.
	Release(ctx context.Context, node string, l Lease) error
}

// A State is what all nodes share.
type State struct {
	Nodes  []Node
	Shards []Shard // their number is fixed when the store is created
	Docs   []Doc
}

// A Lease is the right to attempt the tasks of a shard, and to write under its fence.
type Lease struct {
	Shard uint16
	Epoch int64 // the fencing token: each claim raises it by one

	// Mark says who made the claim. Every fence compares the epoch and the mark. A database that
	// fails over to an asynchronous replica may lose a claim. The next claim then gets the same
	// epoch again, but another node has another mark. The store chooses the mark; it is not empty.
	Mark string
}

// A Shard is a slice of the tasks, and its newest lease.
type Shard struct {
	Lease
	Owner string // a node's name; empty: nobody owns the shard
	Alive bool   // the owner is registered and has not expired
}

// A Node is one process that attempts tasks.
type Node struct {
	Name    string
	Addr    string // where its API listens; may be empty
	Version string
	Joined  time.Time // by the store's clock
	Beat    time.Time // the last one, by the store's clock
}
