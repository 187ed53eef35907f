package merchant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/registry"
)

// Kind is the kind of a merchant's document; hints use it for all of them.
const Kind = "merchant"

// Options of a registry.
type Options struct {
	registry.Options

	// CheckURL returns why an address is not allowed; nil: every address is.
	CheckURL func(url string) error
}

// A Registry keeps merchants in a store, and caches some of them. It is safe for concurrent use.
type Registry struct {
	*registry.Registry[Merchant, *Merchant, deliver.Merchant]
	checkURL func(string) error
}

// New returns a registry.
func New(o Options) *Registry {
	kind := registry.Kind[Merchant, deliver.Merchant]{
		Name: Kind, IDField: "merchant_no", Recorded: recorded,
		Know: func(m *Merchant, active []registry.Secret) deliver.Merchant { return know(m, active, o.Masters) },
	}
	return &Registry{registry.New[Merchant, *Merchant](kind, o.Options), o.CheckURL}
}

// know prepares a merchant for use.
func know(m *Merchant, active []registry.Secret, masters *registry.Masters) deliver.Merchant {
	known := deliver.Merchant{
		Known: true, URL: m.NotifyURL, Success: m.Success, Schedule: m.Schedule, Timeout: m.Timeout, Concurrency: m.Concurrency, Rate: m.Rate,
	}
	known.Signer, known.Unable = signer(masters, m.ID, &m.Sign, active)
	if known.Unable != nil {
		known.Unable = fmt.Errorf("merchant %s: %w", m.ID, known.Unable)
	}
	return known
}

// Merchant is Get: it makes a Registry the merchants of a delivery.
func (r *Registry) Merchant(ctx context.Context, no string) (deliver.Merchant, error) {
	return r.Get(ctx, no)
}

// List returns up to s.Limit merchants after a place; an empty place is the beginning. The order is
// by name if the search has a name, otherwise by number. next is the place to continue from, and
// empty only at the end. List ignores s.Paused and s.Sealed.
func (r *Registry) List(ctx context.Context, s client.MerchantSearch, after string) (page []Merchant, next string, err error) {
	return r.Registry.List(ctx, registry.Search{ID: s.MerchantNo, Name: s.Name, Limit: s.Limit}, after)
}

// Put registers or changes a merchant; created reports that it did not exist. If nothing changes,
// nothing is written. It returns *[bellman.Invalid] with every wrong field, or
// *[registry.ChangedError] if the merchant has another version than expected.
func (r *Registry) Put(ctx context.Context, w Wanted, by bellman.By) (m Merchant, created bool, err error) {
	return r.Registry.Put(ctx, &request{w, r.checkURL}, by)
}

// Import registers or changes merchants. All valid ones are written in one transaction; invalid
// ones do not stop the others. Repeating an import changes nothing. With dry it only reports what
// it would do. The results are in the order of wanted.
func (r *Registry) Import(ctx context.Context, wanted []Wanted, dry bool, by bellman.By) ([]registry.Imported, error) {
	requests := make([]registry.Request[Merchant], len(wanted))
	for i := range wanted {
		requests[i] = &request{wanted[i], r.checkURL}
	}
	return r.Registry.Import(ctx, requests, dry, by)
}

// Rotate gives a merchant a new secret, which becomes the newest. The present secrets also sign for
// overlap. It returns bellman.ErrNotFound if there is no such merchant.
func (r *Registry) Rotate(ctx context.Context, no, key string, overlap time.Duration, by bellman.By) (m Merchant, err error) {
	if err := registry.CheckOverlap(overlap); err != nil {
		return Merchant{}, err
	}
	return r.Registry.Rotate(ctx, no, by, func(m *Merchant, active []registry.Secret, now time.Time) error {
		return rotate(m, active, key, overlap, registry.Sealer{Masters: r.Masters(), ID: no, Field: secretsField, Now: now})
	})
}

func rotate(m *Merchant, active []registry.Secret, key string, overlap time.Duration, s registry.Sealer) error {
	bad := new(bellman.Invalid)
	if m.Sign.Scheme == "" {
		bad.Note("secret", coded.Errorf("merchant.rotate_unsigned", "the merchant has no scheme: want sign.scheme with its secrets first"))
		return bad
	}
	secret, err := s.New(key)
	if err == nil {
		if _, there := s.Same(key, time.Time{}, active); there {
			err = coded.Errorf("registry.same_secret", "the %s has this one already", Kind)
		}
	}
	if err == nil {
		_, err = signer(s.Masters, m.ID, &m.Sign, []registry.Secret{secret})
	}
	if err != nil {
		f := bellman.FieldError{Field: "secret", Problem: err.Error(), Why: err}
		if wrong, is := errors.AsType[*signError](err); is {
			f.Problem = wrong.problem
		}
		bad.Fields = append(bad.Fields, f)
		return bad
	}
	m.Secrets = append([]registry.Secret{secret}, registry.Ending(active, s.Now, overlap)...)
	if len(m.Secrets) > maxSecrets {
		bad.Note("secret", coded.Errorf("merchant.rotate_many", "%d secrets stand side by side already: wait until some of them end, or put the merchant with those that are to stay", maxSecrets))
	}
	return bad.Err()
}
