// Package pebble is the embedded store. It keeps tasks in one directory of the local machine,
// without a server, in CockroachDB's LSM engine Pebble. Every commit is synced before Commit
// returns.
//
// # Layout
//
// A key begins with the letter of its table. Numbers in keys are big-endian. Text in the middle of
// a key is escaped and terminated. One range of keys is therefore one table, one merchant or one
// state.
//
//	c id                  cold row: the part of a task that never changes; written once
//	h id                  hot row: the status of a pending task, 20 to 40 bytes
//	e state id            ended row: the status of a task that ended
//	d look id             due: version, shard, due, line, attempts of a pending task
//	k queue key           key: id and digest
//	m merchant id         merchant: empty value
//	o order id            order: empty value
//	a id number           attempt
//	q queue               the name for a queue number
//	n queue               number of tasks in the queue, by state
//	s shard               shard: epoch and owner
//	x kind name           document
//	u time sequence       audit record
//	z name                schema version, number of shards
//
// A task has a cold row and either a hot row or an ended row. An index entry is written and deleted
// in the same transaction as its row. [Store.Check] verifies these rules.
//
// # One committer
//
// A mutex serializes commits. A read before a write (is this key taken, is this version current) is
// therefore a compare-and-set. Counters, shards, nodes and the names of queues are also kept in
// memory. While the store is open, the copy in memory is authoritative, because the lock on the
// directory excludes other processes. Registrations of nodes are kept in memory only: a node that
// registered before the directory was opened cannot be alive.
//
// # Disk errors
//
// If free space falls below a reserve, Adds fail with bellman.ErrFull. Changes may still use the
// reserve. If the reserve is used up, the write in flight waits for space. After some seconds its
// caller gets bellman.ErrUnknown, and later callers get bellman.ErrFull at once. When space is
// available again, the store resumes by itself.
//
// Any other write failure (an I/O error, a failed sync) breaks the store. Earlier commits are safe,
// new commits are rejected, and [Store.Broken] is closed. Restart the process to recover.
package pebble
