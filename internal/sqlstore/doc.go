// Package sqlstore is store.Store in SQL, once for all databases: what
// differs between them is a [Driver], and packages postgres and mysql have one
// each.
//
// # Layout
//
//	bellman_task     cold: what never changes of a task; written once
//	bellman_live     hot: the status of a pending task, narrow, with one covering
//	                 index in the order in which tasks come due
//	bellman_ended    the status of a task that ended, by state and id, with the
//	                 attempt that ended it
//	bellman_attempt  all other attempts, appended
//	bellman_order    the places of pending tasks that have an ordering key
//	bellman_depth    how many tasks a queue has, by state: sums of the slots
//	bellman_count    the same, of callers' transactions, until it is added to the sums
//	bellman_shard    epoch and owner of each shard
//	bellman_node     nodes, by name
//	bellman_doc      documents
//	bellman_audit    audit records
//	bellman_schema   versions of this layout
//
// A task has a cold row, and exactly one of a live and an ended row. Times are
// Unix ms, and what callers name is bytes, compared byte by byte.
//
// # A commit
//
// The first flight writes the fence and the cold rows of new tasks, and reads
// the versions of those that change; from this follows what each item's outcome
// is. The second flight deletes the old status rows, each with its version, and
// inserts the new ones. If another number of rows went than was read, somebody
// was faster, and the transaction begins again. So no lock outlives a decision,
// and nothing is decided by a lock: that holds on databases which check writes
// alone, such as a Galera cluster, where a lock read protects nothing.
//
// The fence is an UPDATE of the leases' shards that overflows where the epoch
// is not the lease's. It is a write, for the same reason.
//
// # What is not known
//
// An error before COMMIT was sent means that nothing was written, and a
// deadlock or a lost serialization that the transaction is tried again. An
// error of COMMIT itself that is not the database's own answer is
// bellman.ErrUnknown.
package sqlstore
