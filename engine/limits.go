package engine

import (
	"cmp"
)

// Limits bound what an engine holds in memory, reads in one page and writes in one transaction. The
// zero value is right for a server; tests use small limits to reach the behaviour at each bound. A
// field that is 0 or negative has its default.
type Limits struct {
	Line    int // due tasks in memory for one line; default 4096
	Lines   int // due tasks in memory for all lines together, plus a few for each line; default 65,536
	Pending int // due tasks that the loader holds while their lines are full; at least 4 * Page; default 16,000
	Peers   int // of Pending, tasks of one line; default half of Pending
	Agenda  int // tasks in memory, due or not; at least 4 * Page; default 100,000
	Waiting int // tasks in memory that are not due yet; default half of Agenda
	Page    int // entries of the due index in one read; default 2000
	Chunk   int // most tasks whose contents are read at once; default 256

	Uncommitted int // most rows that wait for a commit; at half of it no attempt starts; default 8192
	Batch       int // rows of one transaction; a larger single request is not split; default: what the store says, or 512
	Changed     int // tasks in one hint; default and maximum MostChanged
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
