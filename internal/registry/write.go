package registry

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/store"
)

// Actions in audit records.
const (
	actionPut    = "put"
	actionDelete = "delete"
	actionRotate = "rotate"
	actionImport = "import"
	actionReseal = "reseal"
)

// tries is the number of tries if other processes write at the same time.
const tries = 8

// retry runs a function that reads and then writes. Only one runs at a time in this process. If
// another process wrote in between, the function runs again, so that no write is lost.
func (r *Registry[T, P, K]) retry(do func() error) (err error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	for range tries {
		if err = do(); !errors.Is(err, bellman.ErrConflict) || errors.As(err, new(*ChangedError)) {
			return err
		}
	}
	return err
}

// A ChangedError reports that an entry no longer has the expected version. It is a
// bellman.ErrConflict.
type ChangedError struct {
	Kind, ID string
	Version  string    // the present version; empty: it does not exist
	At       time.Time // when it was last changed; zero: it does not exist

	// Also are the other wrong fields of the request.
	Also []bellman.FieldError
}

func (e *ChangedError) Error() string {
	return e.Unwrap().Error()
}

// Unwrap returns the error with a code.
func (e *ChangedError) Unwrap() error {
	if e.Version == "" {
		return coded.Errorf("registry.deleted", "%s %s was deleted meanwhile: nothing was changed", e.Kind, e.ID)
	}
	return coded.Errorf("registry.changed", "%s %s was changed meanwhile, at %s: nothing of this was kept; get it, and change version %s", e.Kind, e.ID, e.At.Format(millis), e.Version)
}

// Is says that it is a conflict.
func (e *ChangedError) Is(target error) bool { return target == bellman.ErrConflict }

// Put registers or changes an entry; created reports that it did not exist. If nothing changes,
// nothing is written. It returns *[bellman.Invalid] with every wrong field, or *[ChangedError] if
// the entry has another version than expected.
func (r *Registry[T, P, K]) Put(ctx context.Context, w Request[T], by bellman.By) (e T, created bool, err error) {
	err = r.retry(func() error {
		e, created, err = r.put(ctx, w, by)
		return err
	})
	return e, created, err
}

func (r *Registry[T, P, K]) put(ctx context.Context, w Request[T], by bellman.By) (e T, created bool, err error) {
	now := moment()
	e, was, changed, err := r.made(ctx, w, now)
	if err != nil {
		var none T
		return none, false, err
	}
	created = was == nil
	if !changed {
		return e, false, nil
	}
	b := &store.Batch{}
	r.write(b, &e, was)
	b.Audits = append(b.Audits, r.record(by, now, actionPut, was, &e))
	return e, created, r.commit(ctx, b, "keep "+r.kind.Name+" "+P(&e).head().ID)
}

// made returns an entry as requested, and as it was; nil: it did not exist. Updated is unchanged if
// nothing else changes.
func (r *Registry[T, P, K]) made(ctx context.Context, w Request[T], now time.Time) (e T, was *T, changed bool, err error) {
	id, version, wrong := w.Names()
	unread := &bellman.Invalid{Fields: slices.Clip(wrong)}
	CheckID(unread, r.kind.IDField, id)
	if unread.Has(r.kind.IDField) {
		e, bad := w.Make(nil, r.masters, now)
		return e, nil, false, bad
	}
	before, err := r.read(ctx, id)
	head := P(&before).head()
	var is *Head // nil: it does not exist
	switch {
	case errors.Is(err, bellman.ErrNotFound):
		head.Created = Stamp{now}
	case err != nil:
		return e, nil, false, fmt.Errorf("read %s %s: %w", r.kind.Name, id, err)
	default:
		was, is = &before, head
	}
	e, bad := w.Make(was, r.masters, now)
	made := P(&e).head()
	made.ID, made.Created, made.Updated, made.kept = id, head.Created, head.Updated, head.kept
	if overtaken := r.kind.stands(id, version, is); overtaken != nil {
		overtaken.Also = bad.Fields
		return e, was, false, overtaken
	}
	if err := bad.Err(); err != nil {
		return e, was, false, err
	}
	if changed = was == nil || !reflect.DeepEqual(e, before); changed {
		made.Updated = Stamp{now}
	}
	return e, was, changed, nil
}

// write adds the changed documents of an entry to a batch.
func (r *Registry[T, P, K]) write(b *store.Batch, e P, was *T) {
	h := e.head()
	if was != nil {
		r.unlist(b, was, func(d store.Doc) bool { return !r.lists(e, d) })
	}
	doc := r.document(e, was)
	h.kept = doc.Value
	b.Docs = append(b.Docs, doc)
	b.Docs = append(b.Docs, r.listing(e)...)
	r.announce(b, e, was)
	b.Docs = append(b.Docs, r.ends(h)...)
	for i := range h.Secrets {
		if id, err := SealedUnder(h.Secrets[i].Sealed); err == nil {
			b.Docs = append(b.Docs, store.Doc{Kind: r.kind.masterKind(), Name: id, Value: []byte("{}")})
		}
	}
}

// listing returns the documents that find an entry.
func (r *Registry[T, P, K]) listing(e *T) (docs []store.Doc) {
	if h := P(e).head(); h.Name != "" {
		docs = append(docs, r.named(h))
	}
	if r.kind.Index != nil {
		docs = append(docs, r.kind.Index(e)...)
	}
	return docs
}

// lists reports whether a document is one of those that find an entry.
func (r *Registry[T, P, K]) lists(e *T, doc store.Doc) bool {
	return slices.ContainsFunc(r.listing(e), func(d store.Doc) bool { return d.Kind == doc.Kind && d.Name == doc.Name })
}

// unlist deletes documents that find an entry.
func (r *Registry[T, P, K]) unlist(b *store.Batch, e *T, which func(store.Doc) bool) {
	for _, d := range r.listing(e) {
		if which(d) {
			b.Docs = append(b.Docs, store.Doc{Kind: d.Kind, Name: d.Name})
		}
	}
}

// announce adds the documents of the parts that a change concerns; nil: there is no such entry.
func (r *Registry[T, P, K]) announce(b *store.Batch, entries ...*T) {
	for _, part := range r.partsOf(entries...) {
		b.Docs = append(b.Docs, r.changed(part))
	}
}

func (r *Registry[T, P, K]) partsOf(entries ...*T) (parts []uint8) {
	for _, e := range entries {
		if e == nil {
			continue
		}
		keys := []string{P(e).head().ID}
		if r.kind.Touched != nil {
			keys = append(keys, r.kind.Touched(e)...)
		}
		for _, key := range keys {
			if part := partOf(key); !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// commit writes a batch, and informs other processes.
func (r *Registry[T, P, K]) commit(ctx context.Context, b *store.Batch, what string) error {
	err := r.store.Commit(ctx, b)
	for _, d := range b.Docs { // the commit may have succeeded even if its outcome is unknown
		if part, is := r.kind.partOf(d); is {
			r.forget(part)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if r.tell != nil {
		r.tell()
	}
	return nil
}

// Delete deletes an entry. It returns bellman.ErrNotFound if there is none.
func (r *Registry[T, P, K]) Delete(ctx context.Context, id string, by bellman.By) error {
	return r.retry(func() error {
		e, err := r.Read(ctx, id)
		if err != nil {
			return err
		}
		b := &store.Batch{
			Docs:   []store.Doc{{Kind: r.kind.Name, Name: id, Was: P(&e).head().kept}},
			Audits: []store.Audit{r.record(by, moment(), actionDelete, &e, nil)},
		}
		r.unlist(b, &e, func(store.Doc) bool { return true })
		r.announce(b, &e)
		return r.commit(ctx, b, "delete "+r.kind.Name+" "+id)
	})
}

// Rotate changes the secrets of an entry. change gets it as it is, and its active secrets; an
// error, such as
// *[bellman.Invalid], leaves it. It returns bellman.ErrNotFound if there is none.
func (r *Registry[T, P, K]) Rotate(ctx context.Context, id string, by bellman.By, change func(e *T, active []Secret, now time.Time) error) (e T, err error) {
	err = r.retry(func() error {
		now := moment()
		if e, err = r.Read(ctx, id); err != nil {
			return err
		}
		was := e
		head := P(&e).head()
		active, _ := head.Active(now)
		head.Secrets = slices.Clone(head.Secrets)
		if err := change(&e, active, now); err != nil {
			return err
		}
		head.Updated = Stamp{now}
		b := &store.Batch{Audits: []store.Audit{r.record(by, now, actionRotate, &was, &e)}}
		r.write(b, &e, &was)
		return r.commit(ctx, b, "keep "+r.kind.Name+" "+id)
	})
	return e, err
}

// moment returns the present time in the stored precision.
func moment() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Note writes an audit record of a manual action on an entry.
func (r *Registry[T, P, K]) Note(ctx context.Context, id, action string, by bellman.By) error {
	return r.store.Commit(ctx, &store.Batch{
		Audits: []store.Audit{store.AuditOf(by, moment(), action, r.target(id))},
	})
}
