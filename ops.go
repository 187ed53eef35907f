package bellman

// An Added is the result of adding one task.
type Added struct {
	ID       ID    // the task's, or that of the existing task with its key or alias
	Existing bool  // a task with the key and the same content exists; nothing was added
	Err      error // *Invalid, ErrKeyTaken or ErrAliasTaken (ID is set), ErrOverloaded, ErrFull, ErrLocked, or the store's
}

// By says who requested a change, why, and from where. It is written to the audit log.
type By struct {
	Who    string // name of the API key; empty: no key was needed
	Reason string
	From   string // network address of the caller; empty: unknown
	Job    string // bulk job or batch that the change is a part of, as in Audit; empty: none
}
