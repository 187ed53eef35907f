package merchant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/store"
)

// Reseal seals all secrets under the newest master key, so that older keys can be removed from the
// configuration. It covers all merchants, and can be repeated after an interruption.
func (r *Registry) Reseal(ctx context.Context, by bellman.By) (done client.MerchantReseal, err error) {
	if r.masters.Current() == "" {
		return done, &bellman.Invalid{Fields: []bellman.FieldError{{Field: "master_key", Problem: ErrNoMaster.Error()}}}
	}
	for after := ""; ; {
		before := done
		var more bool
		var last string
		err := r.anew(func() (err error) {
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
	b := &store.Batch{Audits: []store.Audit{store.AuditOf(by, moment(), actionReseal, "merchants")}}
	for _, id := range ids {
		if id != r.masters.Current() {
			b.Docs = append(b.Docs, store.Doc{Kind: masterKind, Name: id})
		}
	}
	return done, r.commit(ctx, b, "note which master keys are in use")
}

func (r *Registry) resealPage(ctx context.Context, after string, done *client.MerchantReseal) (more bool, last string, err error) {
	docs, err := r.store.Docs(ctx, store.DocFilter{Kind: Kind, After: after}, pageSize)
	if err != nil {
		return false, "", fmt.Errorf("read merchants: %w", err)
	}
	b := &store.Batch{}
	for _, d := range docs {
		done.Examined++
		last = d.Name
		m, err := parse(d)
		if err == nil {
			var resealed bool
			if resealed, err = r.reseal(&m); resealed {
				done.Resealed++
				r.write(b, &m, &m)
			}
		}
		if err != nil {
			done.Unreadable++
			if done.FirstError == "" {
				done.FirstError = fmt.Sprintf("merchant %s: %v", d.Name, err)
			}
		}
	}
	if len(b.Docs) > 0 {
		if err := r.commit(ctx, b, "keep merchants"); err != nil {
			return false, "", err
		}
	}
	return len(docs) == pageSize, last, nil
}

// reseal seals the secrets of one merchant under the newest master key, and drops expired ones.
func (r *Registry) reseal(m *Merchant) (resealed bool, err error) {
	active, _ := m.Sign.active(moment())
	resealed = len(active) < len(m.Sign.Secrets)
	secrets := slices.Clone(active)
	for i := range secrets {
		s := &secrets[i]
		if id, err := SealedUnder(s.Sealed); err == nil && id == r.masters.Current() {
			continue
		}
		key, err := r.masters.Open(m.No, secretsField, s.Sealed)
		if err != nil {
			return false, err
		}
		if s.Sealed, err = r.masters.Seal(m.No, secretsField, key); err != nil {
			return false, err
		}
		resealed = true
	}
	m.Sign.Secrets = secrets
	return resealed, nil
}

// mastersInUse returns the ids of the master keys under which secrets may be sealed.
func (r *Registry) mastersInUse(ctx context.Context) (ids []string, err error) {
	for after := ""; ; {
		docs, err := r.store.Docs(ctx, store.DocFilter{Kind: masterKind, After: after}, pageSize)
		if err != nil {
			return nil, fmt.Errorf("read which master keys are in use: %w", err)
		}
		for _, d := range docs {
			ids = append(ids, d.Name)
		}
		if len(docs) < pageSize {
			return ids, nil
		}
		after = docs[len(docs)-1].Name
	}
}

// Ready returns nil if every stored secret can be opened, as far as the ids of the master keys tell. Otherwise
// the error names the missing ones.
func (r *Registry) Ready(ctx context.Context) error {
	ids, err := r.mastersInUse(ctx)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(ids, r.masters.has)
	if len(missing) == 0 {
		return nil
	}
	return &MissingMastersError{missing}
}

// A MissingMastersError lists the master keys that seal stored secrets and are not configured.
type MissingMastersError struct{ IDs []string }

func (e *MissingMastersError) Error() string {
	return "master key " + strings.Join(e.IDs, ", ") + " is missing: secrets of merchants are sealed under it, and what is theirs cannot be signed; add it to master_keys"
}

// IsMissingMaster reports whether an error is about a missing master key.
func IsMissingMaster(err error) bool {
	one, several := new(MissingMasterError), new(MissingMastersError)
	return errors.As(err, &one) || errors.As(err, &several)
}
