package bellman

// An Added is the result of adding one task.
type Added struct {
	ID       ID    // the task's, or that of the one that has its key already
	Existing bool  // its key was there with the same content; nothing was added
	Err      error // *Invalid, ErrKeyTaken (ID is set), ErrOverloaded, ErrFull, or the store's
}

// By says who did something by hand, why, and from where. It goes into the audit
// record.
type By struct {
	Who    string // the key's name; empty where nobody has to say
	Reason string
	From   string // the network address of who asked; empty where that is not known
	Job    string // the bulk job or batch that it is a part of, as Audit names it; empty: none
}
