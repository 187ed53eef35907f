// Package sqlstore implements store.Store in SQL for all databases. A [Driver] holds the
// differences between databases. Packages postgres and mysql each have a driver.
//
// # Layout
//
//	bellman_task     cold: the part of a task that never changes; written once
//	bellman_alias    the tasks that have an alias, by alias
//	bellman_live     hot: the status of a pending task, narrow, with one covering
//	                 index in the order in which tasks come due
//	bellman_ended    the status of a task that ended, by state and id, with its
//	                 last attempt
//	bellman_attempt  all other attempts, appended
//	bellman_order    the places of pending tasks that have an ordering key
//	bellman_depth    tasks per queue and state: the sum of the slots, see slots.go
//	bellman_count    counts of callers' transactions, not yet folded into the sums
//	bellman_shard    epoch and owner of each shard
//	bellman_node     nodes, by name
//	bellman_doc      documents
//	bellman_audit    audit records
//	bellman_schema   versions of this layout
//
// A task has a cold row, and either a live row or an ended row. Times are Unix ms. Names from
// callers are bytes, compared byte by byte.
//
// # A commit
//
// The first flight writes the fence and the cold rows of new tasks, and reads the versions of tasks
// that change. The results decide the outcome of each item. The second flight deletes the old
// status rows, each with its version, and inserts the new rows. If the number of deleted rows
// differs from the number read, another transaction was faster, and the commit starts again. No
// decision relies on a lock. The commit is therefore correct on databases that check only writes,
// such as a Galera cluster, where a lock read protects nothing.
//
// The fence is an UPDATE of the leases' shards that overflows if the epoch is not the lease's. The
// fence is a write for the same reason.
//
// # Aliases
//
// Aliases have a table of their own, so that a task without an alias costs nothing more: MySQL has
// no partial index. A commit inserts the aliases behind the cold rows. If an alias is taken, the
// commit deletes the cold row of its task again.
//
// # Unknown outcomes
//
// If an error occurs before COMMIT is sent, nothing was written. After a deadlock or a failed
// serialization, the transaction is retried. If COMMIT fails with an error that the database did
// not send, the outcome is bellman.ErrUnknown.
package sqlstore
