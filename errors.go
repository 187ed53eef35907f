package bellman

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNotFound is returned when there is no such task, key or record.
	ErrNotFound = errors.New("bellman: not found")

	// ErrConflict is returned for a change whose version is no longer the
	// task's: somebody else changed it, and nothing of this change was written.
	ErrConflict = errors.New("bellman: changed by another")

	// ErrSuperseded is returned when a task is to be sent again that a later one of its
	// ordering key has superseded. It is an ErrConflict too.
	ErrSuperseded = fmt.Errorf("%w: a later task of its ordering key superseded it", ErrConflict)

	// ErrKeyTaken is returned when a task's key exists in its queue already,
	// with other content.
	ErrKeyTaken = errors.New("bellman: key exists with other content")

	// ErrWaiting is returned when a caller waited for an attempt, and it was not made or
	// not answered in that time.
	ErrWaiting = errors.New("bellman: the attempt is still to come")

	// ErrNotPaused is returned for a resume of what is not paused. Nothing was changed.
	ErrNotPaused = errors.New("bellman: not paused")

	// ErrFenced is returned when a lease is no longer the newest of its shard:
	// another node owns it now, and nothing was written.
	ErrFenced = errors.New("bellman: lease fenced off")

	// ErrUnknown is returned by Commit when it cannot tell whether the batch was
	// written. Claim the shards anew and read before writing again.
	ErrUnknown = errors.New("bellman: outcome of the commit is unknown")

	// ErrUnreachable is returned when a store's database cannot be reached, or broke
	// off: nothing was written. The same call works when it is back.
	ErrUnreachable = errors.New("bellman: the database cannot be reached")

	// ErrFull is returned when there is no room to keep anything more. Nothing
	// was written; the same call works when there is room again.
	ErrFull = errors.New("bellman: store is full")

	// ErrOverloaded is returned before anything is accepted that could not be
	// kept up with. Try again later.
	ErrOverloaded = errors.New("bellman: overloaded")

	// ErrClosed is returned by calls on a store or engine that was closed.
	ErrClosed = errors.New("bellman: closed")
)

// Invalid is the error for input that cannot be accepted. It names every wrong
// field at once.
type Invalid struct {
	Fields []FieldError
}

// A FieldError says what is wrong with one field, and what would be right.
type FieldError struct {
	Field   string // as in the JSON of the API: "schedule", "headers.X-Id"
	Problem string
	Why     error // what Problem is the text of; nil: it came as text
}

// Add notes a wrong field.
func (e *Invalid) Add(field, problem string) {
	e.Fields = append(e.Fields, FieldError{Field: field, Problem: problem})
}

// Note notes a field that is wrong for a reason.
func (e *Invalid) Note(field string, why error) {
	e.Fields = append(e.Fields, FieldError{Field: field, Problem: why.Error(), Why: why})
}

// Err returns e, or nil if no field is wrong.
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
