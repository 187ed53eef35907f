// Package scratch makes databases of its own in a server that runs already, for
// something to be measured in: it creates and drops them, and fills them with tasks
// that wait. It looks at a store from outside, as those do who operate the
// database.
package scratch
