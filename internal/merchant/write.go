package merchant

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
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

// target returns the name of a merchant in audit records.
func target(no string) string { return "merchant/" + no }

// tries is the number of tries if other processes write at the same time.
const tries = 8

// anew runs a function that reads and then writes. Only one runs at a time in this process. If another process
// wrote in between, it runs again, so that no write is lost.
func (r *Registry) anew(do func() error) (err error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	for range tries {
		if err = do(); !errors.Is(err, bellman.ErrConflict) || errors.As(err, new(*ChangedError)) {
			return err
		}
	}
	return err
}

// A ChangedError reports that a merchant no longer has the expected version. It is a bellman.ErrConflict.
type ChangedError struct {
	No      string
	Version string    // the present version; empty: it does not exist
	At      time.Time // when it was last changed; zero: it does not exist

	// Also are the other wrong fields of the request.
	Also []bellman.FieldError
}

func (e *ChangedError) Error() string {
	return e.Unwrap().Error()
}

// Unwrap returns the error with a code.
func (e *ChangedError) Unwrap() error {
	if e.Version == "" {
		return coded.Errorf("merchant.deleted", "merchant %s was deleted meanwhile: nothing was changed", e.No)
	}
	return coded.Errorf("merchant.changed", "merchant %s was changed meanwhile, at %s: nothing of this was kept; get it, and change version %s", e.No, e.At.Format(millis), e.Version)
}

// Is says that it is a conflict.
func (e *ChangedError) Is(target error) bool { return target == bellman.ErrConflict }

// Put registers or changes a merchant; created reports that it did not exist. If nothing changes, nothing is
// written. It returns *[bellman.Invalid] with every wrong field, or *[ChangedError] if the merchant has
// another version than expected.
func (r *Registry) Put(ctx context.Context, w Wanted, by bellman.By) (m Merchant, created bool, err error) {
	err = r.anew(func() error {
		m, created, err = r.put(ctx, &w, by)
		return err
	})
	return m, created, err
}

func (r *Registry) put(ctx context.Context, w *Wanted, by bellman.By) (m Merchant, created bool, err error) {
	now := moment()
	m, was, changed, err := r.made(ctx, w, now)
	if err != nil {
		return Merchant{}, false, err
	}
	created = was == nil
	if !changed {
		return m, false, nil
	}
	b := &store.Batch{}
	r.write(b, &m, was)
	b.Audits = append(b.Audits, record(by, now, actionPut, was, &m))
	return m, created, r.commit(ctx, b, "keep merchant "+m.No)
}

// made returns a merchant as requested, and as it was; nil: it did not exist. Updated is unchanged if nothing
// else changes.
func (r *Registry) made(ctx context.Context, w *Wanted, now time.Time) (m Merchant, was *Merchant, changed bool, err error) {
	m, bad := w.merchant(r.checkURL)
	var before Merchant
	if slices.ContainsFunc(bad.Fields, func(f bellman.FieldError) bool { return f.Field == "merchant_no" }) {
		w.signed(bad, &before.Sign, r.masters, now)
		inOrder(bad.Fields)
		return m, nil, false, bad
	}
	before, err = r.read(ctx, w.MerchantNo)
	switch {
	case errors.Is(err, bellman.ErrNotFound):
		before = Merchant{Created: stamp{now}}
	case err != nil:
		return m, nil, false, fmt.Errorf("read merchant %s: %w", w.MerchantNo, err)
	default:
		was = &before
	}
	m.Created, m.Updated, m.kept = before.Created, before.Updated, before.kept
	if was == nil {
		checkNew(bad, w.MerchantNo)
	}
	m.Sign = w.signed(bad, &before.Sign, r.masters, now)
	inOrder(bad.Fields)
	if overtaken := w.stands(was); overtaken != nil {
		overtaken.Also = bad.Fields
		return m, was, false, overtaken
	}
	if err := bad.Err(); err != nil {
		return m, was, false, err
	}
	if changed = was == nil || !reflect.DeepEqual(m, before); changed {
		m.Updated = stamp{now}
	}
	return m, was, changed, nil
}

// write adds the changed documents of a merchant to a batch.
func (r *Registry) write(b *store.Batch, m, was *Merchant) {
	if was != nil && fold(was.Name) != fold(m.Name) {
		gone := named(was)
		gone.Value = nil
		b.Docs = append(b.Docs, gone)
	}
	doc := document(m, was)
	m.kept = doc.Value
	b.Docs = append(b.Docs, doc, changed(partOf(m.No)))
	if m.Name != "" {
		b.Docs = append(b.Docs, named(m))
	}
	b.Docs = append(b.Docs, ends(m)...)
	for i := range m.Sign.Secrets {
		if id, err := SealedUnder(m.Sign.Secrets[i].Sealed); err == nil {
			b.Docs = append(b.Docs, store.Doc{Kind: masterKind, Name: id, Value: []byte("{}")})
		}
	}
}

// commit writes a batch, and informs other processes.
func (r *Registry) commit(ctx context.Context, b *store.Batch, what string) error {
	err := r.store.Commit(ctx, b)
	for _, d := range b.Docs { // the commit may have succeeded even if its outcome is unknown
		if d.Kind == Kind {
			r.forget(partOf(d.Name))
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

// Delete ends a registration. Tasks to the merchant's address fail, attempt by attempt, until it is registered
// again. It returns bellman.ErrNotFound if there is no such merchant.
func (r *Registry) Delete(ctx context.Context, no string, by bellman.By) error {
	return r.anew(func() error { return r.remove(ctx, no, by) })
}

func (r *Registry) remove(ctx context.Context, no string, by bellman.By) error {
	m, err := r.read(ctx, no)
	if err != nil {
		return fmt.Errorf("merchant %s: %w", no, err)
	}
	name := named(&m)
	name.Value = nil
	return r.commit(ctx, &store.Batch{
		Docs:   []store.Doc{{Kind: Kind, Name: no, Was: m.kept}, name, changed(partOf(no))},
		Audits: []store.Audit{record(by, moment(), actionDelete, &m, nil)},
	}, "delete merchant "+no)
}

// Rotate gives a merchant a new secret, which becomes the newest. The present secrets also sign for overlap.
// It returns bellman.ErrNotFound if there is no such merchant.
func (r *Registry) Rotate(ctx context.Context, no, key string, overlap time.Duration, by bellman.By) (m Merchant, err error) {
	if overlap < 0 || overlap > MaxOverlap {
		bad := new(bellman.Invalid)
		bad.Note("overlap", coded.Errorf("merchant.overlap", "want 0s to 90d"))
		return Merchant{}, bad
	}
	err = r.anew(func() error {
		m, err = r.rotate(ctx, no, key, overlap, by)
		return err
	})
	return m, err
}

func (r *Registry) rotate(ctx context.Context, no, key string, overlap time.Duration, by bellman.By) (Merchant, error) {
	now := moment()
	m, err := r.read(ctx, no)
	if err != nil {
		return Merchant{}, fmt.Errorf("merchant %s: %w", no, err)
	}
	was := m
	bad := new(bellman.Invalid)
	if m.Sign.Scheme == "" {
		bad.Note("secret", coded.Errorf("merchant.rotate_unsigned", "the merchant has no scheme: want sign.scheme with its secrets first"))
		return Merchant{}, bad
	}
	active, _ := m.Sign.active(now)
	key = strings.TrimSpace(key) // as it is stored
	secret, err := newSecret(r.masters, no, key, now)
	if err == nil {
		if _, there := same(r.masters, no, key, time.Time{}, active); there {
			err = coded.Errorf("merchant.same_secret", "the merchant has this one already")
		}
	}
	if err == nil {
		_, err = signer(r.masters, no, &m.Sign, []Secret{secret})
	}
	if err != nil {
		f := bellman.FieldError{Field: "secret", Problem: err.Error(), Why: err}
		if wrong := new(signError); errors.As(err, &wrong) {
			f.Problem = wrong.problem
		}
		bad.Fields = append(bad.Fields, f)
		return Merchant{}, bad
	}
	m.Sign.Secrets = []Secret{secret}
	for _, s := range active {
		if until := now.Add(overlap); s.Until.IsZero() || s.Until.After(until) {
			s.Until = stamp{until}
		}
		if s.Until.After(now) {
			m.Sign.Secrets = append(m.Sign.Secrets, s)
		}
	}
	if len(m.Sign.Secrets) > MaxSecrets {
		bad.Note("secret", coded.Errorf("merchant.rotate_many", "%d secrets stand side by side already: wait until some of them end, or put the merchant with those that are to stay", MaxSecrets))
		return Merchant{}, bad
	}
	m.Updated = stamp{now}
	b := &store.Batch{Audits: []store.Audit{record(by, now, actionRotate, &was, &m)}}
	r.write(b, &m, &was)
	return m, r.commit(ctx, b, "keep merchant "+no)
}

// moment returns the present time in the stored precision.
func moment() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Note writes an audit record of a manual action on a merchant.
func (r *Registry) Note(ctx context.Context, no, action string, by bellman.By) error {
	return r.store.Commit(ctx, &store.Batch{
		Audits: []store.Audit{store.AuditOf(by, moment(), action, target(no))},
	})
}
