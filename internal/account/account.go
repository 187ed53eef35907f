package account

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/schedule"
)

// An Account is an account as stored. Its ID is its name in orders. Its JSON is the document in the
// store.
type Account struct {
	registry.Head
	Channel  string  `json:"channel"` // wechatpay or alipay
	URL      string  `json:"url,omitempty"`
	MchID    string  `json:"mch_id,omitempty"`
	SubMchID string  `json:"sub_mch_id,omitempty"`
	AppID    string  `json:"app_id,omitempty"`
	SellerID string  `json:"seller_id,omitempty"`
	Serial   string  `json:"serial,omitempty"`
	Rate     float64 `json:"rate,omitempty"` // requests a second; 0: no limit

	// Token says that there is an app_auth_token: it is a part of the identity.
	Token bool `json:"token,omitempty"`

	// Ends is when the certificates among the keys expire, by their names at the channel.
	Ends map[string]registry.Stamp `json:"ends,omitempty"`
}

// The fields of keys. Those of platform keys are followed by a dot and the id.
const (
	privateKey       = "private_key"
	apiV3Key         = "api_v3_key"
	certificate      = "certificate"
	platformKeys     = "platform_keys"
	alipayPublicKeys = "alipay_public_keys"
	appAuthToken     = "app_auth_token"
	appCertificate   = "app_certificate"
	rootCertificates = "root_certificates"
)

const platformKey = platformKeys + "."

// fetched is the platform key that stands for the certificates that are fetched from WeChat Pay.
// Its text is fetch.
const (
	fetched = platformKey + "certificates"
	fetch   = "fetch"
)

// singles are the keys that an account has once: where a caller gives them, and where a channel has
// them.
var singles = []struct {
	field  string
	given  func(*client.AccountKeys) *string
	opened func(*config.Channel) *sign.Secret
}{
	{privateKey, func(k *client.AccountKeys) *string { return &k.PrivateKey }, func(c *config.Channel) *sign.Secret { return &c.PrivateKey }},
	{certificate, func(k *client.AccountKeys) *string { return &k.Certificate }, func(c *config.Channel) *sign.Secret { return &c.Certificate }},
	{appAuthToken, func(k *client.AccountKeys) *string { return &k.AppAuthToken }, func(c *config.Channel) *sign.Secret { return &c.AuthToken }},
	{appCertificate, func(k *client.AccountKeys) *string { return &k.AppCertificate }, func(c *config.Channel) *sign.Secret { return &c.AppCertificate }},
	{rootCertificates, func(k *client.AccountKeys) *string { return &k.RootCertificates }, func(c *config.Channel) *sign.Secret { return &c.RootCertificates }},
}

// lasts reports whether a former key of a field stays valid beside a newer one: keys that decrypt
// or verify do.
func lasts(field string) bool {
	return field == apiV3Key || field == alipayPublicKeys || strings.HasPrefix(field, platformKey)
}

// A key is a field with a text: a key as a caller gives it.
type key struct{ field, text string }

// given returns the keys that a caller gives.
func given(k *client.AccountKeys) (keys []key) {
	for _, s := range singles {
		if text := *s.given(k); text != "" {
			keys = append(keys, key{s.field, text})
		}
	}
	if k.APIv3Key != "" {
		keys = append(keys, key{apiV3Key, k.APIv3Key})
	}
	for _, id := range slices.Sorted(maps.Keys(k.PlatformKeys)) {
		keys = append(keys, key{platformKey + id, k.PlatformKeys[id]})
	}
	for _, text := range k.AlipayPublicKeys {
		keys = append(keys, key{alipayPublicKeys, text})
	}
	return keys
}

// group is what is given all at once: platform_keys of any platform key.
func group(field string) string {
	group, _, _ := strings.Cut(field, ".")
	return group
}

// reach returns the identity of an account without its keys.
func (a *Account) reach() *config.Channel {
	c := &config.Channel{
		Kind: a.Channel, URL: a.URL, MchID: a.MchID, SubMchID: a.SubMchID, AppID: a.AppID, SellerID: a.SellerID, Serial: a.Serial,
	}
	if a.Token {
		c.AuthToken = sign.NewSecret(" ")
	}
	return c
}

// opened returns an account as the configuration of a channel, with its keys open.
func (a *Account) opened(masters *registry.Masters, secrets []registry.Secret) (*config.Channel, error) {
	c := a.reach()
	c.AuthToken = sign.Secret{}
	for i := range secrets {
		s := &secrets[i]
		text, err := registry.Sealer{Masters: masters, ID: a.ID, Field: s.Field}.Open(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Field, err)
		}
		if strings.HasPrefix(string(text), "env:") || strings.HasPrefix(string(text), "file:") {
			return nil, fmt.Errorf("%s: names a place, and no key", s.Field) // no such key was ever sealed
		}
		secret := sign.NewSecret(string(text))
		for _, one := range singles {
			if s.Field == one.field {
				*one.opened(c) = secret
			}
		}
		switch id, platform := strings.CutPrefix(s.Field, platformKey); {
		case s.Field == apiV3Key:
			c.APIv3Keys = append(c.APIv3Keys, secret)
		case s.Field == alipayPublicKeys:
			c.AlipayKeys = append(c.AlipayKeys, secret)
		case s.Field == fetched:
			c.FetchKeys = true
		case platform:
			if c.PlatformKeys == nil {
				c.PlatformKeys = map[string]sign.Secret{}
			}
			if _, newer := c.PlatformKeys[id]; !newer {
				c.PlatformKeys[id] = secret
			}
		}
	}
	return c, nil
}

// A Known is an account that is ready for use. It makes each of its channels once, when it is first
// needed. Nil: there is no such account. It is safe for concurrent use.
type Known struct {
	Kind     string // wechatpay or alipay
	Identity string // as [config.Channel.Identity]
	Endpoint string // as [config.Channel.Endpoint]
	Owner    string // as [config.Channel.Owner]
	Sub      string // as [config.Channel.Owner]
	Unable   error  // why the channel cannot be asked; nil: it can

	channel *config.Channel // with open keys

	mu   sync.Mutex
	made map[any]any
}

func know(a *Account, active []registry.Secret, masters *registry.Masters) *Known {
	c := a.reach()
	k := &Known{Kind: a.Channel, Identity: c.Identity(), Endpoint: c.Endpoint()}
	k.Owner, k.Sub = c.Owner()
	if k.channel, k.Unable = a.opened(masters, active); k.Unable != nil {
		k.Unable = fmt.Errorf("account %s: %w", a.ID, k.Unable)
	}
	return k
}

// Make returns what make made of an account for a use. It calls make once for each use, and again
// after an error.
func Make[C any](k *Known, use any, make func(*config.Channel) (C, error)) (C, error) {
	var none C
	if k.Unable != nil {
		return none, k.Unable
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if c, ok := k.made[use].(C); ok {
		return c, nil
	}
	c, err := make(k.channel)
	if err != nil {
		return none, err
	}
	if k.made == nil {
		k.made = map[any]any{}
	}
	k.made[use] = c
	return c, nil
}

// recorded returns the fields of an account under the names of the API, with their values for an
// audit record: never a key.
func recorded(a *Account) [][2]string {
	fields := [][2]string{
		{"name", a.Name}, {"channel", a.Channel}, {"url", registry.RecordedURL(a.URL)}, {"mch_id", a.MchID}, {"sub_mch_id", a.SubMchID},
		{"app_id", a.AppID}, {"seller_id", a.SellerID}, {"serial", a.Serial}, {"rate", schedule.FormatRate(a.Rate)},
	}
	for _, field := range []string{privateKey, apiV3Key, certificate, alipayPublicKeys, appAuthToken, appCertificate, rootCertificates} {
		fields = append(fields, [2]string{field, registry.Recorded(registry.Of(field, a.Secrets))})
	}
	var platform []string
	for _, s := range a.Secrets {
		if id, is := strings.CutPrefix(s.Field, platformKey); is {
			platform = append(platform, id+": "+registry.Recorded([]registry.Secret{s}))
		}
	}
	return append(fields, [2]string{platformKeys, strings.Join(platform, ", ")})
}

// Shown returns an account as the API shows it. sealed: with sealed keys, as in an export.
func (r *Registry) Shown(a *Account, sealed bool) client.Account {
	c := a.reach()
	out := client.Account{
		Account: a.ID, Name: a.Name, Channel: a.Channel, URL: a.URL, MchID: a.MchID, SubMchID: a.SubMchID, AppID: a.AppID,
		SellerID: a.SellerID, Serial: a.Serial, Rate: schedule.FormatRate(a.Rate),
		Identity: c.Identity(), Endpoint: c.Endpoint(), Keys: []client.AccountKey{},
		Created: client.At(a.Created.Time), Updated: client.At(a.Updated.Time), Version: a.Version(),
	}
	active, _ := a.Active(time.Now())
	listed := 0 // of alipay_public_keys
	for i := range active {
		s := &active[i]
		text := s.Shown()
		switch {
		case sealed:
			text = s.Exported()
		case s.Field == fetched:
			text = fetch
		}
		show(&out, s, text)
		id, _ := registry.SealedUnder(s.Sealed) // stored secrets were checked
		k := client.AccountKey{Field: s.Field, LastFour: s.Ending, MasterID: id, Added: client.At(s.Added.Time)}
		name := s.Field
		if s.Field == alipayPublicKeys {
			name = fmt.Sprintf("%s[%d]", s.Field, listed)
			listed++
		}
		end := s.Until.Time
		if expires := a.Ends[name].Time; !expires.IsZero() && (end.IsZero() || expires.Before(end)) {
			end = expires
		}
		if !end.IsZero() {
			until := client.At(end)
			k.Until = &until
		}
		out.Keys = append(out.Keys, k)
	}
	if known := know(a, active, r.Masters()); known.Unable != nil {
		out.Problem = errors.Unwrap(known.Unable).Error()
	}
	return out
}

// show puts the text of a secret where it belongs.
func show(out *client.Account, s *registry.Secret, text string) {
	if !s.Until.IsZero() {
		out.Former = append(out.Former, client.FormerKey{Field: s.Field, Key: text})
		return
	}
	for _, one := range singles {
		if s.Field == one.field {
			*one.given(&out.AccountKeys) = text
		}
	}
	switch id, platform := strings.CutPrefix(s.Field, platformKey); {
	case s.Field == apiV3Key:
		out.APIv3Key = text
	case s.Field == alipayPublicKeys:
		out.AlipayPublicKeys = append(out.AlipayPublicKeys, text)
	case platform:
		if out.PlatformKeys == nil {
			out.PlatformKeys = map[string]string{}
		}
		out.PlatformKeys[id] = text
	}
}
