// Package engine attempts tasks when they are due, until their answers end
// them. It owns time and order: shards and leases, loading what is due soon,
// firing, and group commit. It knows no HTTP and no payments: a
// [bellman.Handler] makes the attempts and a [bellman.Store] keeps the tasks.
//
// One attempt, in a straight line, a file a step:
//
//	accept.go   a task handed in gets its queue's rules, a shard and a due time
//	lane.go     … is committed together with whatever else is waiting
//	hand.go     … and taken in hand: the wheel until it is due, then the dispatcher
//	load.go     tasks on disk come in hand when they are due soon
//	fire.go     the dispatcher says who goes next; a goroutine makes the attempt
//	advance.go  what the task becomes, by its verdict and schedule
//	merge.go    … if somebody changed it while the attempt was in flight
//	record.go   … committed; back in hand, or done
//
// manual.go has what people do by hand, complete.go what comes from outside,
// settle.go what readers ask for, lease.go what nodes do among
// themselves, watch.go what can be seen of it.
package engine
