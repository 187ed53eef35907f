package store

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
)

// A Batch is what one transaction writes.
type Batch struct {
	Leases  []Lease // each must be the newest of its shard; otherwise nothing is written
	Adds    []Add
	Changes []Change
	Docs    []Doc // set, or deleted if Value is nil; if a name occurs twice, the last counts
	Audits  []Audit
}

// Whole reports whether b is written completely or not at all. That is so if a document has a Was.
// If the store has no room for the Adds of another batch, the rest of that batch is still written.
func (b *Batch) Whole() bool {
	return slices.ContainsFunc(b.Docs, func(d Doc) bool { return d.Was != nil })
}

// An Add inserts a task, unless its queue has a task with its key, its id exists, or another task
// has its alias. They are checked in this order. Tasks with the same id are the same task, so a
// batch of unknown outcome can be committed again.
type Add struct {
	// Task has its ID and the Status that it is to have: Version 1, or its version in another
	// store. Commit sets its Place. Last is ignored.
	Task   *bellman.Task
	Digest bellman.Digest // of the content that the caller gave; compared if the key exists

	// Moved says that the task comes from another store and keeps its Place. If its Place is zero,
	// it gets one as a new task does.
	Moved bool

	// Commit sets Existing and Err.
	//
	// Existing is zero if the task was added. Otherwise it is the id of the task that has the key
	// or the alias, or the task's own id if that exists.
	//
	// Err is nil if the task was added, or exists with the same id or the same digest. Otherwise:
	//   - [bellman.ErrKeyTaken]: the key belongs to a task with another digest.
	//   - [bellman.ErrAliasTaken]: the alias belongs to another task.
	//   - [bellman.ErrFull]: the store has no room for new tasks. If it has room for the rest of the
	//     batch, Commit returns nil, also for a batch of Adds alone. A batch that is Whole fails as
	//     a whole instead.
	//   - a [*bellman.Invalid]: the queue is missing, or a name is longer than this store's indexes hold.
	Existing bellman.ID
	Err      error
}

// A Change moves a task from one status to the next, if it has the version that the caller read.
type Change struct {
	ID      bellman.ID
	Version uint32           // the version that the task must have
	To      bellman.Status   // its new status; Commit sets its Version to the old one plus one
	Attempt *bellman.Attempt // appended to the task's attempts; nil: none
	Follow  []Add            // added in the same transaction if the change is made
	Audit   *Audit           // appended if the change is made; nil: none

	// Of is the task as it was at Version. It saves the store a read. Nil: the store reads.
	Of *bellman.Task

	// Ordering is the task's. The task loses its place in its chain when it ends, and takes it
	// again when it is pending again. Nil: the task has no ordering key.
	Ordering *bellman.Ordering

	// Commit sets Err. Nil: the change was made. [bellman.ErrConflict]: the task has another
	// version.
	// [bellman.ErrNotFound]: there is no such task.
	Err error
}

// A Doc is a small named document: a paused queue, the state of a bulk job.
type Doc struct {
	Kind  string // what it is: "resend"; "pause", "death" and "probe" are the engine's own
	Name  string // unique within its kind; not empty
	Value []byte // nil: deleted

	// Was is the value that the document must have before, byte for byte. If it has another,
	// nothing of the batch is written. Empty but not nil: the document must not exist, and Value
	// must not be nil. Nil: any value. A batch names a document with a Was only once. Reads leave
	// Was nil.
	Was []byte
}

// An Audit records one action of a person.
type Audit struct {
	At     time.Time `json:"at"`
	Who    string    `json:"who"`    // the name of the key; empty: no key was needed
	Action string    `json:"action"` // resend, restart, cancel, pause, …
	Target string    `json:"target"` // a task's id, or queue/NAME, endpoint/HOST, resend/ID
	Reason string    `json:"reason"`
	From   string    `json:"from,omitempty"` // the person's address; empty: not known

	// Job names the bulk job or batch of which the action was a part: resend/ID or batch/ID. Empty:
	// the action stood alone.
	Job string `json:"job,omitempty"`

	Changes []Changed `json:"changes,omitempty"` // the fields that the action changed; nil: none
}

// A Changed is one field that an action changed. A secret is shown by its last characters.
type Changed struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"` // empty: it had no value
	After  string `json:"after,omitempty"`  // empty: it has no value
}

// AuditOf returns the record of an action.
func AuditOf(by bellman.By, at time.Time, action, target string) Audit {
	return Audit{At: at, Who: by.Who, Action: action, Target: target, Reason: by.Reason, From: by.From, Job: by.Job}
}
