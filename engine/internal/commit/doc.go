// Package commit writes what an engine decides to its store in groups: whatever waits is
// committed in one transaction, and the next group gathers meanwhile.
//
// An engine has two lanes. Outcomes of attempts are in one: they happened, so they are written
// however long that takes. What somebody asks for is in the other: new tasks, and what people do
// by hand. A lane that is slow, full or ill does not hold the other up. Where a store is one
// directory that nobody else writes, one lane does both, for each transaction is one wait for the disk.
//
//	lane.go   what waits, and when it is taken
//	write.go  what is done with an answer of the store: done, again, in halves, or apart
package commit
