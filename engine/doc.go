// Package engine attempts tasks when they are due, until their answers end
// them. A [bellman.Handler] makes the attempts and a [store.Store] keeps the tasks; the
// engine decides when an attempt is made, and by which node. DESIGN.md in this folder
// says who owns which state, and in which order locks are taken.
//
// One attempt, in a straight line, a file a step:
//
//	accept.go   a task handed in gets its queue's rules, a shard and a due time (rules.go)
//	writer.go   … is committed together with whatever else is waiting (committer.go, internal/commit)
//	hand.go     … and taken in hand: it waits until it is due, and goes to the dispatcher
//	load.go     tasks on disk come in hand when they are due soon
//	fire.go     the dispatcher says who goes next; a goroutine makes the attempt
//	start.go    … if it may: all that must be true of an attempt is in mayStart
//	advance.go  what the task becomes, by its verdict and schedule
//	merge.go    … if somebody changed it while the attempt was in flight
//	record.go   … committed; back in hand, or done
//
// check.go compares what is in memory with what the store says is due: tests call it, by way of
// internal/handcheck.
//
// [Admin] is what people do by hand (manual.go), what comes from outside (complete.go), what readers ask for
// (settle.go) and pauses (pause.go). [Monitor] is what can be seen (info.go, figures.go, watch.go).
//
// Several engines on one store share its tasks, a shard at a time:
//
//	share.go    which node should own which shard
//	beat.go     a node stays registered, or joins anew
//	look.go     … sees who is there, and claims what should be its
//	lease.go    … knows what it owns, and for how long it may trust that
//	found.go    … and reads what is due in shards that it has won
//	give.go     shards are given back: to others that should own them, and at a stop
//	park.go     … without waiting for what takes long
//	fence.go    a transaction was refused, for a shard was lost
//	hint.go     what nodes tell one another, so that they need not look
package engine
