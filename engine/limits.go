package engine

import (
	"cmp"
)

// Limits are how much an engine holds in memory, reads and writes at once. The zero value is
// right for a server; tests shrink the limits to reach what happens at each of them. A field
// that is 0 or negative has its default.
type Limits struct {
	Line    int // due tasks that wait in memory for one line; default 4096
	Lines   int // due tasks that wait in memory for all lines together; a few of each line come on top; default 65,536
	Pending int // due tasks that the loader holds until their lines have room, at least 4 * Page; default 16,000
	Peers   int // of Pending, tasks of one line; default half of Pending
	Agenda  int // tasks in memory, due or not, at least 4 * Page; default 100,000
	Waiting int // tasks in memory that are not due yet, as far as the loader reads them; default half of Hand
	Page    int // entries of the due index read at once; default 2000
	Chunk   int // tasks whose contents are read at once, at most; default 256

	Uncommitted int // operations that wait for a commit, above which attempts wait with their outcomes; above half of it none is started; default 8192
	Batch       int // operations in one transaction, but for one larger request; default: what the store says, or 512
	Changed     int // tasks that one hint names, at most engine.MostChanged, which is the default
}

func (l Limits) withDefaults() Limits {
	l.Line = cmp.Or(max(l.Line, 0), 4096)
	l.Lines = cmp.Or(max(l.Lines, 0), 65_536)
	l.Page = cmp.Or(max(l.Page, 0), 2000)
	l.Pending = max(cmp.Or(max(l.Pending, 0), 16_000), 4*l.Page)
	l.Peers = cmp.Or(max(l.Peers, 0), max(l.Pending/2, 1))
	l.Agenda = max(cmp.Or(max(l.Agenda, 0), 100_000), 4*l.Page)
	l.Waiting = cmp.Or(max(l.Waiting, 0), max(l.Agenda/2, 1))
	l.Chunk = cmp.Or(max(l.Chunk, 0), 256)
	l.Uncommitted = cmp.Or(max(l.Uncommitted, 0), 8192)
	l.Batch = max(l.Batch, 0)
	l.Changed = min(cmp.Or(max(l.Changed, 0), MostChanged), MostChanged)
	return l
}
