package store

import "context"

// As finds an ability of a store, such as [Backup]. It looks at the store itself first, then at the
// store inside a [Wrapper], and so on. So a wrapper has the abilities of the store inside. A store
// around another that is no Wrapper has only its own abilities.
func As[Ability any](s any) (Ability, bool) {
	for s != nil {
		if a, has := s.(Ability); has {
			return a, true
		}
		w, wraps := s.(Wrapper)
		if !wraps {
			break
		}
		s = w.Unwrap()
	}
	var none Ability
	return none, false
}

// A Wrapper is a store around another one.
type Wrapper interface {
	Unwrap() Store
}

// Traits is the ability of a store to say how an engine should use it. A store without this ability
// has the zero [Use], which suits every store.
type Traits interface {
	// Use returns the same at every call.
	Use() Use
}

// A Use says how an engine should use a store.
type Use struct {
	// Exclusive means that only this Store value changes the store until it is closed: another
	// process cannot open it. Then an engine need not read again to learn what others changed, and
	// a second engine does not run on it.
	Exclusive bool

	// BatchSize is how many rows a commit should have at most. Zero: the engine decides.
	BatchSize int
}

// UseOf returns how an engine should use s.
func UseOf(s any) Use {
	if t, has := As[Traits](s); has {
		return t.Use()
	}
	return Use{}
}

// A Counter is a store that counts due tasks faster than it reads them. Use [CountDue].
type Counter interface {
	// CountDue returns how many entries Due would append with the limit most. It may also count the
	// entries of from.VisibleAt that are at or before from.ID.
	CountDue(ctx context.Context, shards []uint16, from Position, to, most int64) (int64, error)
}

// A DueReader reads due entries. Every [Store] is one.
type DueReader interface {
	Due(ctx context.Context, shards []uint16, from Position, to int64, limit int, buf []Entry) ([]Entry, error)
}

// CountDue counts as a [Counter] does. If s is no Counter, it reads pages of entries.
func CountDue(ctx context.Context, s DueReader, shards []uint16, from Position, to, most int64) (n int64, err error) {
	if c, can := As[Counter](s); can {
		return c.CountDue(ctx, shards, from, to, most)
	}
	const step = 4096
	var page []Entry
	for n < most {
		if page, err = s.Due(ctx, shards, from, to, step, page[:0]); err != nil {
			return n, err
		}
		n += int64(len(page))
		if len(page) < step {
			return min(n, most), nil
		}
		last := page[step-1]
		from = Position{VisibleAt: last.VisibleAt, ID: last.ID}
	}
	return min(n, most), nil
}

// Health is the ability of a store in this process to report its health without a read.
type Health interface {
	// Health returns nil if the store accepts new tasks; [bellman.ErrFull] if it has no room for
	// them; and the cause if the store is broken: then the process must be restarted.
	Health() error

	// Broken is closed when the store breaks. What was committed before is safe.
	Broken() <-chan struct{}
}

// Backup is the ability of a store to copy itself while it is in use.
type Backup interface {
	// Backup writes a copy of the store, as it is at one moment, to a directory of that name. The
	// directory must not exist. The copy can be opened as a store of the same kind.
	Backup(dir string) error
}

// Checker is the ability of a store to verify its own data.
type Checker interface {
	// Check reads the whole store, as it is at one moment, and compares its rows, indexes and
	// counters. Commits can go on meanwhile. Disagreements are in the report; the error says why
	// the check did not end.
	Check(ctx context.Context) (CheckReport, error)
}

// A CheckReport is the result of a check.
type CheckReport struct {
	Tasks, Pending, Ended int64
	Attempts              int64
	Wrong                 int64    // number of disagreements
	Problems              []string // the first hundred disagreements
}

// Figures is the ability of a store to measure itself, for monitoring.
type Figures interface {
	// Figures returns the figures of the moment, each name once. It does not read the store's
	// tasks.
	Figures() []Figure
}

// A Figure is one number that a store measures.
type Figure struct {
	Name    string // in Prometheus's style, without a prefix: "disk_bytes"
	Help    string // what it counts, in a sentence
	Counter bool   // it only grows while the process runs, and its name ends in _total
	Value   float64
}

// An AddressError reports an invalid address of a database, or an invalid parameter of one. A retry
// cannot help.
type AddressError struct{ Cause error }

func (e *AddressError) Error() string { return e.Cause.Error() }

// Unwrap returns what is wrong.
func (e *AddressError) Unwrap() error { return e.Cause }
