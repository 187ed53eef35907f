package bellman

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	// ErrNotFound means that the task, key or record does not exist.
	ErrNotFound = errors.New("bellman: not found")

	// ErrConflict means that the task changed since it was read, or that its state does not allow
	// the change. Nothing was written.
	ErrConflict = errors.New("bellman: conflict with the present state")

	// ErrSuperseded means that a later task of the same ordering key superseded the task, so it
	// cannot be resent. It wraps ErrConflict.
	ErrSuperseded = fmt.Errorf("%w: a later task of its ordering key superseded it", ErrConflict)

	// ErrKeyTaken means that another task with different content has this key in its queue.
	ErrKeyTaken = errors.New("bellman: key exists with other content")

	// ErrAliasTaken means that another task of the store has this alias.
	ErrAliasTaken = errors.New("bellman: another task has this alias")

	// ErrWaiting means that the attempt that the caller waited for was not made or not answered in
	// time.
	ErrWaiting = errors.New("bellman: the attempt is still to come")

	// ErrNotPaused means that the queue, endpoint or merchant to resume is not paused. Nothing was
	// changed.
	ErrNotPaused = errors.New("bellman: not paused")

	// ErrFenced means that the lease is not the newest of its shard: another node owns the shard.
	// Nothing was written.
	ErrFenced = errors.New("bellman: lease fenced off")

	// ErrUnknown means that a commit may or may not have been written. Claim the shards again, then
	// read, before writing again.
	ErrUnknown = errors.New("bellman: outcome of the commit is unknown")

	// ErrUnreachable means that the database of a store did not answer or closed the connection.
	// Nothing was written. The call can be retried.
	ErrUnreachable = errors.New("bellman: the database cannot be reached")

	// ErrFull means that the store has no room. Nothing was written. The call can be retried when
	// there is room.
	ErrFull = errors.New("bellman: store is full")

	// ErrLocked means that an open transaction of another program has added the key or the alias of
	// the task, or has locked the whole table. Nothing was written. The call can be retried when
	// that transaction has ended.
	ErrLocked = errors.New("bellman: an open transaction of another program holds the key, or the table")

	// ErrOverloaded means that the engine accepts no new tasks at present because too many wait.
	// Retry later.
	ErrOverloaded = errors.New("bellman: overloaded")

	// ErrClosed means that the store or the engine is closed.
	ErrClosed = errors.New("bellman: closed")
)

// Invalid is the error for invalid input. It names every invalid field.
type Invalid struct {
	Fields []FieldError
}

// A FieldError says what is wrong with one field, and what would be right.
type FieldError struct {
	Field   string // as in the JSON of the API: "schedule", "headers.X-Id"
	Problem string
	Why     error // the error whose text is Problem; nil: there is only the text
}

// InvalidField returns the error about one invalid field.
func InvalidField(field, problem string) *Invalid {
	return &Invalid{Fields: []FieldError{{Field: field, Problem: problem}}}
}

// Add adds an invalid field.
func (e *Invalid) Add(field, problem string) {
	e.Fields = append(e.Fields, FieldError{Field: field, Problem: problem})
}

// Note adds an invalid field with its error.
func (e *Invalid) Note(field string, why error) {
	e.Fields = append(e.Fields, FieldError{Field: field, Problem: why.Error(), Why: why})
}

// Has reports whether a field is invalid.
func (e *Invalid) Has(field string) bool {
	return slices.ContainsFunc(e.Fields, func(f FieldError) bool { return f.Field == field })
}

// Err returns e, or nil if there is no invalid field.
func (e *Invalid) Err() error {
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

func (e *Invalid) Error() string {
	texts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		texts[i] = f.Field + ": " + f.Problem
	}
	return strings.Join(texts, "; ")
}
