// Package pebble is the embedded store: tasks in one directory of this
// machine, without a server, through CockroachDB's LSM engine of the same
// name. Every commit is synced before it is answered.
//
// # Layout
//
// A key begins with the letter of its table. Numbers in keys are big-endian,
// text that something follows is escaped and terminated, so that a range of
// keys is a range of one table, one merchant, one state.
//
//	c id                  cold row: what never changes of a task; written once
//	h id                  hot row: the status of a pending task, 20 to 40 bytes
//	e state id            ended row: the status of a task that ended
//	d look id             due: version, shard, due, line, attempts of a pending task
//	k queue key           key: id and digest
//	m merchant id         merchant: nothing
//	o order id            order: nothing
//	a id number           attempt
//	q queue               the name of a queue's number
//	n queue               how many tasks the queue has, by state
//	s shard               shard: epoch and owner
//	x kind name           document
//	u time sequence       audit record
//	z name                schema version, number of shards
//
// A task has a cold row, and exactly one of a hot and an ended row. Index
// entries are written and deleted in the transaction of the row that they
// stand for. [Store.Check] verifies all of that.
//
// # One committer
//
// Commits go one after the other, under a mutex: that is what makes a read
// before a write (is this key taken, is this version current) a
// compare-and-set. Counters, shards, nodes and the names of queues are kept in
// memory too, and the copy in memory is the authority while the store is open:
// the lock on the directory keeps every other process out. For the same reason
// registrations of nodes are kept in memory only: nobody who registered before
// the directory was opened can be alive.
//
// # When the disk fails
//
// A disk that is nearly full refuses Adds with bellman.ErrFull while a reserve
// is left, which Changes may still use. When the reserve is gone too, the write
// in flight waits for space; its caller is told bellman.ErrUnknown after some
// seconds, later callers bellman.ErrFull at once, and everything goes on by
// itself when there is space again. Any other failure to write (an I/O error,
// a sync that failed) breaks the store: what was answered is safe, nothing more
// is accepted, [Store.Broken] is closed, and the process should be started
// again.
package pebble
