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

// kind is the kind of the documents that mark stores. A move does not copy them.
const (
	kind   = "move"
	out    = "out"    // in the source
	in     = "in"     // in the target, until everything is copied
	landed = "landed" // in the target, afterwards
)

// States of a source.
const (
	copying = "copying"
	closing = "closing"
	moved   = "moved"
)

// A mark in one store describes its part in a move.
type mark struct {
	ID    string    `json:"id"`              // of the move; the same in both stores
	Store string    `json:"store"`           // the other store, without secrets
	State string    `json:"state,omitempty"` // only in the source
	At    time.Time `json:"at"`

	kept []byte // the stored document
}

// read returns a mark; nil if there is none.
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

// doc returns the document of the mark, which replaces the one that was read.
func (m *mark) doc(name string) (store.Doc, error) {
	value, err := json.Marshal(m)
	was := m.kept
	if was == nil {
		was = []byte{}
	}
	return store.Doc{Kind: kind, Name: name, Value: value, Was: was}, err
}

// put writes the mark under these leases, with an audit record if what is not empty.
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
	err = s.Commit(ctx, b)
	if errors.Is(err, bellman.ErrConflict) {
		return fmt.Errorf("this move was given up meanwhile, or somebody began another: %w", err)
	}
	if err != nil {
		return fmt.Errorf("mark %s/%s: %w", kind, name, err)
	}
	m.kept = doc.Value
	return nil
}

// A RefusedError says why no server may start on a store.
type RefusedError struct {
	Moved bool // for good: its tasks are in another store
	text  string
}

func (e *RefusedError) Error() string { return e.text }

// Refuse returns a RefusedError if no server may start on a store, because its tasks were moved, or
// a move from it or into it is not finished.
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
