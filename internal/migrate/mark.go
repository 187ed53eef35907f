package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// kind is that of the documents that mark stores. They are not moved themselves.
const (
	kind   = "move"
	out    = "out"    // in a source
	in     = "in"     // in a target, until all is there
	landed = "landed" // in a target, afterwards
)

// How far a source is.
const (
	copying = "copying"
	closing = "closing"
	moved   = "moved"
)

// A mark says in one store what it has to do with another.
type mark struct {
	ID    string    `json:"id"`              // of the move, the same in both
	Store string    `json:"store"`           // the other one, as it may be shown
	State string    `json:"state,omitempty"` // of a source
	At    time.Time `json:"at"`

	kept []byte // as it stands in the store
}

// read reads a mark; nil if there is none.
func read(ctx context.Context, s store.DocReader, name string) (*mark, error) {
	doc, err := store.ReadDoc(ctx, s, kind, name)
	if errors.Is(err, bellman.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read mark %s/%s: %w", kind, name, err)
	}
	m := &mark{kept: doc.Value}
	if err := json.Unmarshal(doc.Value, m); err != nil {
		return nil, fmt.Errorf("read mark %s/%s: %w", kind, name, err)
	}
	return m, nil
}

// doc is the mark as a document, which replaces what was read.
func (m *mark) doc(name string) (store.Doc, error) {
	value, err := json.Marshal(m)
	was := m.kept
	if was == nil {
		was = []byte{}
	}
	return store.Doc{Kind: kind, Name: name, Value: value, Was: was}, err
}

// put writes the mark under these leases, with an audit record where what is not empty.
func (m *mark) put(ctx context.Context, s store.Store, name string, leases []store.Lease, what string) error {
	m.At = time.Now().UTC().Truncate(time.Millisecond)
	doc, err := m.doc(name)
	if err != nil {
		return err
	}
	b := &store.Batch{Docs: []store.Doc{doc}, Leases: leases}
	if what != "" {
		b.Audits = []store.Audit{{At: m.At, Action: "move", Target: "store", Reason: what}}
	}
	if err := s.Commit(ctx, b); err != nil {
		return fmt.Errorf("mark %s/%s: %w", kind, name, err)
	}
	m.kept = doc.Value
	return nil
}

// A RefusedError says why no server may start on a store.
type RefusedError struct {
	Moved bool // for good: its tasks are elsewhere
	text  string
}

func (e *RefusedError) Error() string { return e.text }

// Refuse returns a RefusedError if no server may start on this store, since its
// tasks were moved, or are being moved, from it or into it.
func Refuse(ctx context.Context, s store.DocReader) error {
	from, err := read(ctx, s, out)
	if err != nil {
		return err
	}
	at := func(m *mark) string { return m.At.Format(time.RFC3339) }
	switch {
	case from != nil && from.State == moved:
		return &RefusedError{true, fmt.Sprintf("the tasks of this store were moved to %s at %s: start with --store of that one", from.Store, at(from))}
	case from != nil && from.State == closing:
		return &RefusedError{false, fmt.Sprintf("the tasks of this store are being moved to %s since %s: let bellman move come to its end, or give it up with bellman move --abandon", from.Store, at(from))}
	}
	into, err := read(ctx, s, in)
	if err == nil && into != nil {
		err = &RefusedError{false, fmt.Sprintf("tasks are being moved into this store from %s since %s: it starts when bellman move has come to its end; run that again if it was stopped", into.Store, at(into))}
	}
	return err
}
