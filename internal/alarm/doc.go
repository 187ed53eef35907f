// Package alarm tells people of conditions: tasks that are overdue, an endpoint that
// fails, a store that is slow. Each that begins becomes one task of a queue, and
// another when it is over, each in one transaction with a document that says how the
// alarm stands: so it is told once, whatever dies, and whichever node judges.
//
// Where the figures come from and how a task is attempted is the engine's business;
// the package reads [figures.Figures] and says what follows from them.
package alarm
