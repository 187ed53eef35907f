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

// What is done by hand, in audit records.
const (
	actionPut    = "put"
	actionDelete = "delete"
	actionRotate = "rotate"
	actionImport = "import"
	actionReseal = "reseal"
)

// target names a merchant in audit records.
func target(no string) string { return "merchant/" + no }

// tries is how often something is done anew that another process was quicker with.
const tries = 8

// anew does what reads something and writes it, one after the other here, and again
// where another process wrote in between: so what it wrote is not lost.
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

// A ChangedError says that a merchant is not what somebody changed it from. It is a
// bellman.ErrConflict.
type ChangedError struct {
	No      string
	Version string    // as it is now; empty: there is none
	At      time.Time // when it was changed last; zero: there is none

	// Also are the fields of what was wanted that are wrong besides.
	Also []bellman.FieldError
}

func (e *ChangedError) Error() string {
	return e.Unwrap().Error()
}

// Unwrap returns the same with a code.
func (e *ChangedError) Unwrap() error {
	if e.Version == "" {
		return coded.Errorf("merchant.deleted", "merchant %s was deleted meanwhile: nothing was changed", e.No)
	}
	return coded.Errorf("merchant.changed", "merchant %s was changed meanwhile, at %s: nothing of this was kept; get it, and change version %s", e.No, e.At.Format(millis), e.Version)
}

// Is says that it is a conflict.
func (e *ChangedError) Is(target error) bool { return target == bellman.ErrConflict }

// Put makes a merchant what is wanted; created says that there was none. What is the
// same already is not written again. An *[bellman.Invalid] names every wrong field, a
// *[ChangedError] says that it is of another version than was wanted.
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

// made is a merchant as it is wanted, and as it was; nil: there was none. Its Updated
// stays where nothing changes.
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

// write adds to a batch what makes a merchant what it is, where it was another.
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

// commit writes a batch, and lets everybody know.
func (r *Registry) commit(ctx context.Context, b *store.Batch, what string) error {
	err := r.store.Commit(ctx, b)
	for _, d := range b.Docs { // it may have been written, also where that is not known
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

// Delete ends a registration. Tasks that go to the merchant's address wait on their
// schedules, and fail there unless it is registered again. bellman.ErrNotFound if
// there is none.
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

// Rotate gives a merchant a new secret, the newest. Those that it has go on signing
// beside it for overlap, and no longer. bellman.ErrNotFound if there is no such
// merchant.
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
	key = strings.TrimSpace(key) // as it is kept
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

// moment is the time as it is kept.
func moment() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Note records something done by hand to a merchant.
func (r *Registry) Note(ctx context.Context, no, action string, by bellman.By) error {
	return r.store.Commit(ctx, &store.Batch{
		Audits: []store.Audit{store.AuditOf(by, moment(), action, target(no))},
	})
}
