// Package engine attempts tasks when they are due, until their answers end them. A
// [bellman.Handler] makes the attempts and a [store.Store] keeps the tasks. The engine decides when
// an attempt is made, and by which node. It knows nothing of HTTP or payments. DESIGN.md in this
// folder explains which object owns which state, and in which order locks are taken.
//
// The files of one attempt, in order:
//
//	accept.go     a new task gets its queue's rules, a shard and a due time (rules.go)
//	committer.go  it is committed together with everything else that waits (writer.go, internal/commit)
//	agenda.go     it waits in memory until it is due (item.go, timers.go)
//	load.go       tasks on disk come into the agenda when they are due soon (loader.go)
//	lines.go      a due task goes to the line of its endpoint in the dispatcher
//	fire.go       the dispatcher picks the next task; a goroutine makes the attempt
//	gate.go       mayStart lists every condition of a start
//	decide.go     the verdict and the schedule give the new status
//	record.go     attempt and status are committed, and the task returns to the agenda or ends
//
// engine.go makes the objects and connects them; run.go starts and stops them. No two
// files use each other, directly or through others, so that each can be read after the files it
// builds on (TestFilesHaveAnOrder). Where the flow goes back, from a commit to the next
// attempt or from a lost shard to its tasks, the lower file declares an interface: afterCommit
// (aftermath.go) and cluster.Host (shards.go).
//
// [Admin] holds the methods by which people and services change tasks: admin.go, complete.go,
// settle.go and pause.go. [Monitor] holds those that observe: info.go, figures.go and wait.go.
//
// Several engines on one store form a cluster and divide its tasks by shard:
//
//	internal/cluster  heartbeats, leases and hints: which shards this node owns, and for how long
//	shards.go         what happens here when a shard comes or goes
//	rescan.go         reading the tasks of shards that were claimed
//	handover.go       passing a shard on without waiting for slow attempts
//	quota.go          this node's part of a cluster-wide limit
//
// check.go compares the agenda with the store. Tests call it through internal/agendacheck.
package engine
