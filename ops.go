package bellman

// An Added says what became of one task that was handed in.
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

// A Settled says what became of one task that was to be settled.
type Settled struct {
	ID   ID
	Task *Task // as it is now, with Last; nil if it cannot be read
	Err  error // nil: settled; ErrNotFound, ErrWaiting, or the store's
}

// A ResendMode says what a manual resend is.
type ResendMode string

// The modes of a manual resend.
const (
	ResendOnce    ResendMode = "once"    // one attempt now; the schedule stays where it is
	ResendRestart ResendMode = "restart" // the schedule begins anew, now
)

// An Event is a change of a task, told after it was committed.
type Event struct {
	Task    *Task    // as it is now; without Last. Shared: must not be changed
	Attempt *Attempt // the attempt that caused the change; nil if none did
	Added   bool     // the task was just added
}
