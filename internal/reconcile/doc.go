// Package reconcile compares the orders of a queue with the bill of a day, and keeps the
// differences. Package bill reads and compares. This package decides which orders belong to the day
// and when the bill is downloaded, and keeps the result.
//
// # Runs
//
// A run belongs to a queue, a date and a source: the bill that the queue's
// channel makes, or a file. The same three have the same run, so a second request
// replaces the result of the first. The leader works on runs of channels, one
// after the other. If it dies, the next leader begins the comparison again: pages
// of an unfinished comparison have a token of their own, and the result before it
// stays visible until the new one is complete. A file is compared while it is
// uploaded, by the process that receives it; a crash leaves no trace of it.
//
// # Which orders
//
// The orders that are compared were created from [Queue].Window before the day until [After] after
// it. An order of the bill that is not among them is looked up by the channel's number, whatever
// its age. So an order outside these times is missed in one case only: bellman has it as paid on
// that day, and the bill lacks it.
//
// Orders of registered accounts are compared with the bills of these. An account that
// was paid in the period, and that no name leads to any more, makes the run fail: at once, and
// no later daily job repeats it.
// Bellman knows a refund from a task of kind poll, from the channel's notice, or
// because a query said that the order is refunded. Options of a run leave refunds
// out.
//
// # Midnight
//
// The channel and bellman may count a payment around midnight to different days. A
// run of a channel's bill therefore reads the bill of the day before, too. It
// leaves what the bill lacks of its last hour to the run of the next day. See
// package bill. A run of a file has one bill alone, and marks such differences. A run
// that cannot have the bill of the day before is made without it and fails, because
// nobody has compared what the day before left: another run of the day does.
package reconcile
