package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Resealed counts what a reseal did.
type Resealed struct {
	Examined   int // entries
	Resealed   int // entries whose secrets are under the newest master key now
	Unreadable int // entries whose secrets cannot be opened; they stay unchanged
	FirstError string
}

// Reseal seals all secrets under the newest master key, so that older keys can be removed from the
// configuration. It covers all entries, and can be repeated after an interruption.
func (r *Registry[T, P, K]) Reseal(ctx context.Context, by bellman.By) (done Resealed, err error) {
	if r.masters.Current() == "" {
		return done, ErrNoMaster
	}
	for after := ""; ; {
		before := done
		var more bool
		var last string
		err := r.retry(func() (err error) {
			done = before
			more, last, err = r.resealPage(ctx, after, &done)
			return err
		})
		if err != nil {
			return before, err
		}
		if !more {
			break
		}
		after = last
	}
	if done.Unreadable > 0 {
		return done, nil
	}
	ids, err := r.mastersInUse(ctx)
	if err != nil {
		return done, err
	}
	b := &store.Batch{Audits: []store.Audit{store.AuditOf(by, moment(), actionReseal, r.kind.Name+"s")}}
	for _, id := range ids {
		if id != r.masters.Current() {
			b.Docs = append(b.Docs, store.Doc{Kind: r.kind.masterKind(), Name: id})
		}
	}
	return done, r.commit(ctx, b, "note which master keys are in use")
}

func (r *Registry[T, P, K]) resealPage(ctx context.Context, after string, done *Resealed) (more bool, last string, err error) {
	docs, err := r.store.Docs(ctx, store.DocFilter{Kind: r.kind.Name, After: after}, pageSize)
	if err != nil {
		return false, "", fmt.Errorf("read %ss: %w", r.kind.Name, err)
	}
	b := &store.Batch{}
	for _, d := range docs {
		done.Examined++
		last = d.Name
		e, err := r.parse(d)
		if err == nil {
			var resealed bool
			if resealed, err = r.reseal(P(&e).head()); resealed {
				done.Resealed++
				r.write(b, &e, &e)
			}
		}
		if err != nil {
			done.Unreadable++
			if done.FirstError == "" {
				done.FirstError = fmt.Sprintf("%s %s: %v", r.kind.Name, d.Name, err)
			}
		}
	}
	if len(b.Docs) > 0 {
		if err := r.commit(ctx, b, "keep "+r.kind.Name+"s"); err != nil {
			return false, "", err
		}
	}
	return len(docs) == pageSize, last, nil
}

// reseal seals the secrets of one entry under the newest master key, and drops expired ones.
func (r *Registry[T, P, K]) reseal(h *Head) (resealed bool, err error) {
	active, _ := h.Active(moment())
	resealed = len(active) < len(h.Secrets)
	secrets := slices.Clone(active)
	for i := range secrets {
		s := &secrets[i]
		if id, err := SealedUnder(s.Sealed); err == nil && id == r.masters.Current() {
			continue
		}
		key, err := r.masters.Open(h.ID, s.Field, s.Sealed)
		if err != nil {
			return false, err
		}
		if s.Sealed, err = r.masters.Seal(h.ID, s.Field, key); err != nil {
			return false, err
		}
		resealed = true
	}
	h.Secrets = secrets
	return resealed, nil
}

// mastersInUse returns the ids of the master keys under which secrets may be sealed.
func (r *Registry[T, P, K]) mastersInUse(ctx context.Context) (ids []string, err error) {
	for d, err := range store.EachDoc(ctx, r.store, r.kind.masterKind(), "") {
		if err != nil {
			return nil, fmt.Errorf("read which master keys are in use: %w", err)
		}
		ids = append(ids, d.Name)
	}
	return ids, nil
}

// Ready returns nil if every stored secret can be opened, as far as the ids of the master keys
// tell. Otherwise the error names the missing ones.
func (r *Registry[T, P, K]) Ready(ctx context.Context) error {
	ids, err := r.mastersInUse(ctx)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(ids, r.masters.has)
	if len(missing) == 0 {
		return nil
	}
	return &MissingMastersError{missing, r.kind.Name}
}

// A MissingMastersError lists the master keys that seal stored secrets and are not configured.
type MissingMastersError struct {
	IDs  []string
	Kind string // of the entries
}

func (e *MissingMastersError) Error() string {
	return fmt.Sprintf("master key %s is missing: secrets of %ss are sealed under it, and cannot be used; add it to master_keys", strings.Join(e.IDs, ", "), e.Kind)
}

// IsMissingMaster reports whether an error is about a missing master key.
func IsMissingMaster(err error) bool {
	one, several := new(MissingMasterError), new(MissingMastersError)
	return errors.As(err, &one) || errors.As(err, &several)
}
