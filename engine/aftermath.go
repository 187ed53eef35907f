package engine

// aftermath is the rest of the engine, as the committer sees it.
type aftermath struct {
	*runner
	chains *chains
	intake *intake
}

var _ afterCommit = aftermath{}

func (a aftermath) passTurn(c chain, p passing) { a.chains.push(c, p) }

func (a aftermath) reconcile(f *flight) { a.recorder.reconcile(f) }

func (a aftermath) reread() { a.loader.wake() }

func (a aftermath) committed() { a.intake.crowd() }
