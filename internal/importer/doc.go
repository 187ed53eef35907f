// Package importer takes over unfinished notifications of other systems: rows of their tables or
// lines of a file become tasks, and their schedules continue. It only reads the other system.
//
// The key of a task is made of the origin of its row, so a repeated import creates it once.
package importer
