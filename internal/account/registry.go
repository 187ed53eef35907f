package account

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/store"
)

// Kind is the kind of an account's document; hints use it for all of them.
const Kind = "account"

// rateKind is the kind of documents that find the smallest rate of an endpoint: ENDPOINT, 0x1f, the
// rate in attempts per 10^6 seconds with twenty digits, 0x1f, ACCOUNT. The value is the rate.
const rateKind = "account-rate"

// certificateKind is the kind of documents that find what expires: TIME in Unix ms with fifteen
// digits, 0x1f, ACCOUNT, 0x1f, the certificate's name at the channel.
const certificateKind = "account-certificate"

// Options of a registry.
type Options struct {
	registry.Options // Keep: default 512 accounts with their channels

	// Check makes the channel of an account, with open keys, and returns why it cannot be made: an
	// error of package wechatpay or alipay. It also returns when the channel's certificates expire,
	// by their names.
	Check func(*config.Channel) (expires map[string]time.Time, err error)

	// CheckURL returns why an address is not allowed; nil: every address is.
	CheckURL func(url string) error

	// Limited is called when the rate of an endpoint may have changed. It must return quickly, and
	// may be nil.
	Limited func(endpoint string)
}

// A Registry keeps accounts in a store, and some of them ready for use. It is safe for concurrent
// use.
type Registry struct {
	*registry.Registry[Account, *Account, *Known]
	options Options
	rates   rates
}

// New returns a registry.
func New(o Options) *Registry {
	o.Keep = cmp.Or(o.Keep, 512)
	r := &Registry{options: o, rates: rates{known: map[string]rate{}, most: o.Keep}}
	if o.Limited != nil {
		o.Options.Touched = func(is func(string) bool) {
			for _, endpoint := range r.rates.asked() {
				if is(endpoint) {
					o.Limited(endpoint)
				}
			}
		}
	}
	r.Registry = registry.New[Account, *Account](registry.Kind[Account, *Known]{
		Name: Kind, IDField: "account", Recorded: recorded,
		Know:    func(a *Account, active []registry.Secret) *Known { return know(a, active, o.Masters) },
		Index:   func(a *Account) []store.Doc { return append(rated(a), ending(a)...) },
		Touched: func(a *Account) []string { return []string{a.reach().Endpoint()} },
	}, o.Options)
	return r
}

// Put registers or changes an account; created reports that it did not exist. If nothing changes,
// nothing is written. It returns *[bellman.Invalid] with every wrong field, or
// *[registry.ChangedError] if the account has another version than expected.
func (r *Registry) Put(ctx context.Context, w Wanted, by bellman.By) (a Account, created bool, err error) {
	return r.Registry.Put(ctx, &request{w, r.options.Check, r.options.CheckURL}, by)
}

// Import registers or changes accounts. All valid ones are written in one transaction; invalid ones
// do not stop the others. Repeating an import changes nothing. With dry it only reports what it
// would do. The results are in the order of wanted.
func (r *Registry) Import(ctx context.Context, wanted []Wanted, dry bool, by bellman.By) ([]registry.Imported, error) {
	requests := make([]registry.Request[Account], len(wanted))
	for i := range wanted {
		requests[i] = &request{wanted[i], r.options.Check, r.options.CheckURL}
	}
	return r.Registry.Import(ctx, requests, dry, by)
}

// List returns up to s.Limit accounts after a place; an empty place is the beginning. The order is
// by the name for people if the search has one, otherwise by the name in orders. next is the place
// to continue from, and empty only at the end. List ignores s.Sealed.
func (r *Registry) List(ctx context.Context, s client.AccountSearch, after string) (page []Account, next string, err error) {
	return r.Registry.List(ctx, registry.Search{ID: s.Account, Name: s.Name, Limit: s.Limit}, after)
}

// Rotate replaces the keys of an account that are given. Former keys that decrypt or verify stay
// valid for overlap. A new private key of WeChat Pay needs its Serial or Certificate. It returns
// bellman.ErrNotFound if there is no such account.
func (r *Registry) Rotate(ctx context.Context, name string, in *client.RotateAccount, overlap time.Duration, by bellman.By) (Account, error) {
	if err := registry.CheckOverlap(overlap); err != nil {
		return Account{}, err
	}
	return r.Registry.Rotate(ctx, name, by, func(a *Account, active []registry.Secret, now time.Time) error {
		return r.rotate(a, active, in, overlap, now)
	})
}

func (r *Registry) rotate(a *Account, active []registry.Secret, in *client.RotateAccount, overlap time.Duration, now time.Time) error {
	bad := new(bellman.Invalid)
	keys := given(&in.AccountKeys)
	if len(keys) == 0 {
		bad.Note(privateKey, coded.Errorf("account.no_key", "is missing, as is every other key: want those to replace"))
		return bad
	}
	otherChannel(bad, a.Channel, map[string]bool{"serial": in.Serial != ""}, keys)
	if in.AppAuthToken != "" && !a.Token && a.Channel == "alipay" {
		bad.Note(appAuthToken, coded.Errorf("account.identity", "cannot be changed: the orders of this account are known by it, as %s; register another account", a.reach().Identity()))
	}
	for _, k := range keys {
		checkFetch(bad, k.field, k)
	}
	if err := bad.Err(); err != nil {
		return err
	}
	replaced := map[string]bool{} // groups
	var secrets []registry.Secret
	for _, k := range keys {
		replaced[group(k.field)] = true
		sealer := registry.Sealer{Masters: r.Masters(), ID: a.ID, Field: k.field, Now: now}
		s, there := sealer.Same(k.text, time.Time{}, registry.Of(k.field, active))
		if !there {
			var err error
			if s, err = sealer.New(k.text); err != nil {
				bad.Note(k.field, err)
				continue
			}
		} else if group(k.field) == k.field && k.field != alipayPublicKeys {
			bad.Note(k.field, coded.Errorf("registry.same_secret", "the %s has this one already", Kind))
		}
		secrets = append(secrets, s)
	}
	for _, s := range active {
		switch {
		case !replaced[group(s.Field)]:
			secrets = append(secrets, s)
		case lasts(s.Field) && !slices.ContainsFunc(secrets, func(n registry.Secret) bool { return n.Sealed == s.Sealed }):
			secrets = append(secrets, registry.Ending([]registry.Secret{s}, now, overlap)...)
		}
	}
	a.Secrets = tooMany(bad, secrets)
	switch {
	case in.Serial != "":
		a.Serial = in.Serial
	case in.Certificate != "":
		a.Serial = "" // the certificate says it
	case in.PrivateKey != "" && a.Serial != "":
		bad.Note("serial", coded.Errorf("account.no_serial", "is missing: a new private key has a new certificate; want the serial number of that, or certificate"))
	}
	if len(bad.Fields) == 0 {
		usable(bad, a, r.Masters(), now, r.options.Check)
	}
	registry.InOrder(bad.Fields, fieldOrder)
	return bad.Err()
}

// rated returns the document that finds an account by its rate.
func rated(a *Account) []store.Doc {
	if a.Rate == 0 {
		return nil
	}
	return []store.Doc{{Kind: rateKind, Name: fmt.Sprintf("%s\x1f%020d\x1f%s", a.reach().Endpoint(), int64(a.Rate*1e6), a.ID), Value: fmt.Appendf(nil, "%g", a.Rate)}}
}

// ending returns the documents that find an account's certificates by when they expire.
func ending(a *Account) (docs []store.Doc) {
	for _, name := range slices.Sorted(maps.Keys(a.Ends)) {
		docs = append(docs, store.Doc{Kind: certificateKind, Name: fmt.Sprintf("%015d\x1f%s\x1f%s", a.Ends[name].UnixMilli(), a.ID, name), Value: []byte("{}")})
	}
	return docs
}

// A Certificate of an account expires.
type Certificate struct {
	Account, Name string
	Expires       time.Time
}

// maxCertificates limits the answer of Certificates.
const maxCertificates = 200

// Certificates returns what has expired or expires before a time, what expires first at first: 200
// at most.
func (r *Registry) Certificates(ctx context.Context, before time.Time) (all []Certificate, err error) {
	docs, err := r.options.Store.Docs(ctx, store.DocFilter{Kind: certificateKind}, maxCertificates)
	if err != nil {
		return nil, fmt.Errorf("read which certificates of accounts expire: %w", err)
	}
	for _, doc := range docs {
		parts := strings.Split(doc.Name, "\x1f")
		ms, err := strconv.ParseInt(parts[0], 10, 64)
		if err == nil && len(parts) != 3 {
			err = strconv.ErrSyntax
		}
		if err != nil {
			return nil, fmt.Errorf("read when a certificate expires, %.80q: %w", doc.Name, err)
		}
		end := time.UnixMilli(ms).UTC()
		if !end.Before(before) {
			break
		}
		all = append(all, Certificate{parts[1], parts[2], end})
	}
	return all, nil
}

// rates are the smallest rates of endpoints, as far as they were asked for lately.
type rates struct {
	most int

	mu    sync.Mutex
	known map[string]rate
}

type rate struct {
	perSecond float64 // 0: none
	mark      uint64
	read      time.Time
}

// trusted is how long a rate is used although nothing announced a change.
const trusted = time.Minute

// RateOf returns the smallest rate of all accounts with an endpoint, in requests a second; 0: none
// has one. If the store does not answer, it returns the last known one.
func (r *Registry) RateOf(ctx context.Context, endpoint string) (float64, error) {
	mark := r.Mark(ctx, endpoint)
	r.rates.mu.Lock()
	last, ok := r.rates.known[endpoint]
	r.rates.mu.Unlock()
	if ok && last.mark == mark && time.Since(last.read) < trusted {
		return last.perSecond, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	prefix := endpoint + "\x1f"
	docs, err := r.options.Store.Docs(ctx, store.DocFilter{Kind: rateKind, After: prefix}, 1)
	if err != nil {
		return last.perSecond, fmt.Errorf("read the rate of %s: %w", endpoint, err)
	}
	now := rate{mark: mark, read: time.Now()}
	if len(docs) > 0 && strings.HasPrefix(docs[0].Name, prefix) {
		if _, err := fmt.Sscan(string(docs[0].Value), &now.perSecond); err != nil {
			return last.perSecond, fmt.Errorf("read the rate of %s: %w", endpoint, err)
		}
	}
	r.rates.put(endpoint, now)
	return now.perSecond, nil
}

// put keeps a rate. When there are too many, it drops one of them.
func (r *rates) put(endpoint string, last rate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.known[endpoint]; !there && len(r.known) >= r.most {
		for other := range r.known { // in no order
			delete(r.known, other)
			break
		}
	}
	r.known[endpoint] = last
}

// asked returns the endpoints whose rates were asked for lately.
func (r *rates) asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.known))
}
