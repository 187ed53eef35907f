// Package commit implements group commit: all waiting rows are committed in one transaction, and
// the next group gathers meanwhile.
//
// An engine has two lanes. One writes outcomes of attempts: they happened, so they are written
// however long that takes. The other writes requests: new tasks, and changes by callers. A slow,
// full or failing lane does not hold up the other. A store in a directory of this process alone has
// one lane for both, because each transaction is one wait for the disk.
//
//	lane.go   the queue of a lane, and when a group is taken
//	write.go  the reaction to the store's answer: done, retry, halve, or isolate a row
package commit
