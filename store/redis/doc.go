// Package redis is the store in Redis, for teams that keep their queues there:
// one server, a primary that Sentinel watches, or a Cluster.
//
// All of a store is under one hash tag, {bellman}, and so in one slot: every
// batch is one call of a script, which compares the epochs first and then writes
// everything, or nothing. That is the transaction that store.Store asks for; a
// Cluster gives such a store its fail-over, not more than one server's memory.
//
// A task is one string: a head of fixed size, what was asked for, what attempts
// change, and the newest attempt. What waits is in a sorted set for each shard,
// whose members say all that an Entry does. lua/rows.lua has the layout.
//
// What Redis answers is only as durable as its settings: see check.go.
package redis
