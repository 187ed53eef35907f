// Package redis is the store in Redis: one server, a primary with Sentinels, or a Cluster.
//
// All keys of a store have one hash tag, {bellman}, and are therefore in one slot. Each batch is
// one script, which compares the epochs first and then writes everything or nothing. A script is
// the transaction that store.Store requires. A Cluster adds fail-over, but no capacity: one store
// is limited to one server's memory.
//
// A task is one string: a head of fixed size, the request, the part that attempts change, and the
// newest attempt. Due entries are in a sorted set for each shard, and a member holds the whole
// Entry. lua/rows.lua defines the layout.
//
// Durability depends on the server's settings: see check.go.
package redis
