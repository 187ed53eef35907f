// Package store is the contract between an engine and what keeps its tasks: what an engine writes,
// reads and claims. The packages below it are stores; storetest is the contract as tests.
package store

import (
	"context"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
)

// A Store keeps tasks. Package storetest states this contract as tests. All
// methods are safe for concurrent use, and times given to a store are cut to
// whole milliseconds.
type Store interface {
	Writer
	Reader
	Sharder
	Close() error
}

// A Writer changes a store.
type Writer interface {
	// Commit writes b as one transaction that is durable when Commit returns nil.
	// Adds and Changes succeed or fail one by one, in their Err; a failing one
	// does not stop its neighbours. Adds come before Changes, and each sees what
	// those before it in b wrote. When Commit returns an error nothing of b was
	// written (ErrFenced, ErrConflict for a document that is another by now, ErrFull,
	// ErrClosed, or the cause), except for ErrUnknown: then it may have been.
	//
	// A store that has no room for new tasks, and has room for the rest, sets ErrFull in
	// each Add that it refuses, and returns nil: also for a batch of Adds alone. Where b
	// has a Doc with a Was, it returns ErrFull and writes nothing instead.
	Commit(ctx context.Context, b *Batch) error

	// Prune deletes up to limit tasks, and their attempts, that ended in state
	// and finished before the given time. It says how many it deleted; fewer than
	// limit means that there are no more.
	Prune(ctx context.Context, state bellman.State, before time.Time, limit int) (int, error)
}

// A Batch is what one transaction writes.
type Batch struct {
	Leases  []Lease // every one must still be the newest of its shard, or nothing is written
	Adds    []Add
	Changes []Change
	Docs    []Doc   // small documents: set, or deleted when Value is nil
	Audits  []Audit // appended
}

// Whole reports whether b is written as a whole or not at all even where a store has no
// room for its Adds: it has a Doc with a Was.
func (b *Batch) Whole() bool {
	return slices.ContainsFunc(b.Docs, func(d Doc) bool { return d.Was != nil })
}

// An Add inserts a task, unless its key exists in its queue already, or its id
// does: the same id again is the same task, so that a batch whose outcome was
// unknown can be handed in again.
type Add struct {
	Task   *bellman.Task  // with ID, and Status as it is to be kept (Version 1, or what it was in another store) but for Place, which Commit sets; Last is ignored
	Digest bellman.Digest // of what was asked for; compared when the key exists

	// Moved says that the task has its Place from another store, and keeps it. One with
	// no place in its ordering key gets one as a new task does.
	Moved bool

	// Set by Commit: nil when the task was added, or was there with the same
	// digest or the same id (then Existing is its id); ErrKeyTaken when its key
	// was there with another digest (Existing is set too); ErrFull when there is no
	// room for new tasks.
	Existing bellman.ID
	Err      error
}

// A Change moves one task from one status to the next, by compare-and-set.
type Change struct {
	ID      bellman.ID
	Version uint32           // what the task must still have
	To      bellman.Status   // its new status; Version is set by Commit to the old one plus one
	Attempt *bellman.Attempt // appended to the task's log; nil: none
	Follow  []Add            // added in the same transaction, only if the change is made
	Audit   *Audit           // appended, only if the change is made; nil: none

	// Of is the task as it was at Version, which a store need not read then to know
	// its queue, its endpoint and its state. Nil: not said.
	Of *bellman.Task

	// Ordering is the task's: it gives up its place among those of its key when it
	// ends, and has it again when it is pending again. Nil: it has none.
	Ordering *bellman.Ordering

	// Set by Commit: ErrConflict when the version differs, ErrNotFound when
	// there is no such task.
	Err error
}

// A Doc is a small named document: a paused queue, the state of a bulk job.
type Doc struct {
	Kind  string // what it is: "pause", "resend"
	Name  string // unique within its kind
	Value []byte // JSON; nil: deleted

	// Was is what the document must still be, byte for byte: if it is not, nothing of
	// the batch is written. Empty but not nil: there must be none yet. Nil: whatever
	// there is. Such a document stands in its batch once, and has a Value where Was is
	// empty. Reads leave it nil.
	Was []byte
}

// An Audit records one action taken by hand.
type Audit struct {
	At     time.Time `json:"at"`
	Who    string    `json:"who"`    // the key's name; empty: nobody had to say
	Action string    `json:"action"` // resend, restart, cancel, pause, …
	Target string    `json:"target"` // a task's id, or queue/NAME, endpoint/HOST, resend/ID
	Reason string    `json:"reason"`
	From   string    `json:"from,omitempty"` // the address of who asked; empty: not known, or of before it was kept

	// Job names the bulk job or the batch that the action was a part of, as resend/ID or
	// batch/ID. Empty: it was done alone.
	Job string `json:"job,omitempty"`

	Changes []Changed `json:"changes,omitempty"` // the fields that the action changed; nil: none
}

// A Changed is one field that an action changed. A secret is shown by its last characters.
type Changed struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"` // empty: it had no value
	After  string `json:"after,omitempty"`  // empty: it has no value
}

// A Reader reads a store.
type Reader interface {
	// Due appends to buf up to limit entries whose Look is at or after from.Look
	// and before the time to (Unix ms), in order of (Look, ID), after from; only of
	// the given shards. from.ID is exclusive: the zero ID starts at from.Look.
	Due(ctx context.Context, shards []uint16, from Position, to int64, limit int, buf []Entry) ([]Entry, error)

	// Load reads whole tasks (without Last) for entries, in their order. An
	// element is nil where the task is gone, ended, or of another version.
	Load(ctx context.Context, entries []Entry) ([]*bellman.Task, error)

	// Task reads a task, with Last. ErrNotFound if there is none.
	Task(ctx context.Context, id bellman.ID) (*bellman.Task, error)

	// Lookup finds the id of the task with this key. ErrNotFound if there is none.
	Lookup(ctx context.Context, queue, key string) (bellman.ID, error)

	// Turn says what stands in the way of a pending task that has this ordering key in
	// its queue. ErrNotFound when it is not pending.
	//
	// Pending tasks of one queue and ordering key have an order: a task that was added
	// after the Commit that added another had returned is behind it, whatever the
	// clocks of their nodes; of one batch, one is behind those before it; otherwise
	// either is. One that had ended and is pending again has its place again, if its
	// new status says which it was.
	Turn(ctx context.Context, queue, orderingKey string, id bellman.ID) (Turn, error)

	// Ordered reads up to limit of the pending tasks that have an ordering key, the
	// first of them first.
	Ordered(ctx context.Context, queue, orderingKey string, limit int) ([]bellman.ID, error)

	// Digests reads what the tasks with these ids and keys were added with as their
	// Digest, in their order; zero for one without a key, and for one that is gone.
	Digests(ctx context.Context, tasks []*bellman.Task) ([]bellman.Digest, error)

	// Attempts reads up to limit attempts of a task with numbers above after, in
	// order of their numbers.
	Attempts(ctx context.Context, id bellman.ID, after, limit int) ([]bellman.Attempt, error)

	// List reads tasks that fit f, with Last, newest first, up to limit, starting
	// below the id before (zero: from the newest). It looks at a bounded number of
	// rows: a page may be short, even empty, although more follow; next is zero
	// only at the end.
	List(ctx context.Context, f Filter, before bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error)

	// Depths counts the tasks of each queue that has any, by state. A store may
	// estimate; the embedded one is exact.
	Depths(ctx context.Context) ([]Depth, error)

	// Docs reads up to limit documents of a kind with names above after, by name.
	Docs(ctx context.Context, kind, after string, limit int) ([]Doc, error)

	// Doc reads one document. ErrNotFound if there is none of that kind and name.
	Doc(ctx context.Context, kind, name string) (Doc, error)

	// Audits reads up to limit audit records older than before (zero: from the
	// newest), newest first. Records of one millisecond come out together with
	// the last one of a page, even above limit.
	Audits(ctx context.Context, before time.Time, limit int) ([]Audit, error)
}

// A Position is a place in the order of a shard's due tasks.
type Position struct {
	VisibleAt int64 // Unix ms
	ID        bellman.ID
}

// An Entry is what the due index says of a task: enough to wait for it, without
// its content.
type Entry struct {
	ID        bellman.ID
	VisibleAt int64 // Unix ms; the owner looks at the task then
	Due       int64 // Unix ms; earlier than Look while the task is set aside
	Line      Line
	Version   uint32
	Attempts  uint32
	Shard     uint16
}

// A Filter chooses tasks. Zero fields choose all.
type Filter struct {
	Queue      string         `json:"queue,omitempty"`
	Key        string         `json:"key,omitempty"`
	State      *bellman.State `json:"state,omitempty"`
	MerchantNo string         `json:"merchant_no,omitempty"`
	OrderNo    string         `json:"order_no,omitempty"`
	Event      string         `json:"event,omitempty"`
	URLHost    string         `json:"url_host,omitempty"` // host, or host:port, of the task's URL

	CreatedFrom time.Time `json:"created_from,omitzero"` // inclusive
	CreatedTo   time.Time `json:"created_to,omitzero"`   // exclusive
}

// A Depth counts the tasks of one queue.
type Depth struct {
	Queue                                 string
	Pending, Succeeded, Failed, Cancelled int64
}

// A Sharder shares the tasks out among nodes. A shard's epoch only grows, and
// whoever holds the newest lease owns the shard.
type Sharder interface {
	// Shards reads all shards, in order; their number is fixed when the store is
	// created.
	Shards(ctx context.Context) ([]Shard, error)

	// Join registers a node for as long as it beats at least every ttl.
	// ErrConflict while a node of that name is registered and has not expired.
	Join(ctx context.Context, n Node, ttl time.Duration) error

	// Beat keeps the node registered for another ttl. ErrFenced when it had
	// expired: then its shards are anyone's, and it must join under a new name.
	Beat(ctx context.Context, node string) error

	// Leave ends a node's registration and frees its shards.
	Leave(ctx context.Context, node string) error

	// Release gives one shard back: it is nobody's then, at the same epoch, and
	// the next claim raises that. ErrFenced when the lease is not the newest, or the
	// shard is not the node's.
	Release(ctx context.Context, node string, l Lease) error

	// Claim takes a shard for a node if its epoch is still seen, and its owner is
	// the node itself, gone or expired; the new epoch is seen plus one. ErrFenced
	// otherwise, and when the claiming node is not registered or has expired.
	Claim(ctx context.Context, node string, shard uint16, seen int64) (Lease, error)

	// Nodes reads the registered nodes, expired ones included until they are
	// swept away.
	Nodes(ctx context.Context) ([]Node, error)
}

// A Lease is the right to fire the tasks of a shard.
type Lease struct {
	Shard uint16
	Epoch int64 // the fencing token: larger for each new owner

	// Mark tells apart claims that reached the same epoch. A database that fails over to an
	// asynchronous replica may lose a claim, and the next one then gets its epoch again. The
	// store chooses it, and compares it wherever it compares the epoch. Shards returns the
	// mark of the newest claim; it may be empty once the shard was given back.
	Mark string
}

// A Shard is a slice of the tasks.
type Shard struct {
	Lease
	Owner string // a node's name; empty: nobody's
	Alive bool   // the owner's registration has not expired
}

// A Node is one process that fires tasks.
type Node struct {
	Name    string
	Addr    string // where its API listens; may be empty
	Version string
	Joined  time.Time
	Beat    time.Time // the last one, by the store's clock
}
