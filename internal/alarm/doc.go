// Package alarm reports conditions to people: overdue tasks, an endpoint that fails, a slow store.
// An alarm that is raised adds one task to a queue, and an alarm that ends adds another. Each task
// is committed in one transaction with the document of the alarm. Therefore each change is reported
// once, whatever crashes and whichever node evaluates the rules.
//
// The package reads [figures.Figures]. It does not collect them, and it does not attempt tasks: the
// engine does both.
package alarm
