package account

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/schedule"
)

// maxKeys is how many keys of an account may be valid at one time.
const maxKeys = 32

// A Wanted is the requested state of an account.
type Wanted struct {
	client.PutAccount

	// Wrong are fields that could not be parsed. They are reported together with all other errors.
	Wrong []bellman.FieldError
}

// A request is a Wanted with what its check needs.
type request struct {
	Wanted
	check    func(*config.Channel) (map[string]time.Time, error)
	checkURL func(string) error
}

// Names implements [registry.Request].
func (w *request) Names() (id, version string, wrong []bellman.FieldError) {
	return w.Account, w.Version, w.Wrong
}

// fieldOrder is the order of reported errors: that of the document.
var fieldOrder = []string{
	"account", "name", "channel", "url", "mch_id", "sub_mch_id", "app_id", "seller_id", "serial", privateKey, apiV3Key, certificate, platformKeys,
	alipayPublicKeys, appAuthToken, appCertificate, rootCertificates, "former", "rate",
}

// Make implements [registry.Request].
func (w *request) Make(was *Account, masters *registry.Masters, now time.Time) (Account, *bellman.Invalid) {
	bad := &bellman.Invalid{Fields: slices.Clip(w.Wrong)}
	a := Account{
		Head: registry.Head{ID: w.Account, Name: w.Name}, Channel: w.Channel, URL: w.URL, MchID: w.MchID, SubMchID: w.SubMchID,
		AppID: w.AppID, SellerID: w.SellerID, Serial: w.Serial,
	}
	if !bad.Has("account") {
		registry.CheckID(bad, "account", w.Account)
	}
	if was == nil {
		registry.CheckNew(bad, "account", w.Account)
		was = new(Account)
	}
	registry.Text(bad, "name", w.Name, registry.MaxEntryName)
	w.fits(bad)
	registry.Address(bad, "url", w.URL, w.checkURL)
	var ok bool
	if a.Rate, ok = schedule.ParseRate(w.Rate); !ok || a.Rate != 0 && (a.Rate < schedule.MinRate || a.Rate > schedule.MaxRate) {
		bad.Note("rate", coded.Errorf("account.rate", "want a rate such as 300/s, 30/m or 100/h, from 1/h to 1000000/s, or nothing"))
	}
	a.Secrets = w.sealed(bad, was, masters, now)
	a.Token = len(registry.Of(appAuthToken, a.Secrets)) > 0
	if a.Token && a.SellerID == "" {
		bad.Note("seller_id", coded.Errorf("account.seller", "is missing: with app_auth_token it says which of the application's sellers this is"))
	}
	w.stays(bad, &a, was)
	if len(bad.Fields) == 0 && len(a.Secrets) == 0 {
		bad.Note(privateKey, coded.Errorf("account.keyless", "is missing, as is every other key: give the keys; an export has them only with --secrets"))
	}
	if len(bad.Fields) == 0 {
		usable(bad, &a, masters, now, w.check)
	}
	registry.InOrder(bad.Fields, fieldOrder)
	return a, bad
}

// fits reports fields that the account's channel does not have.
func (w *request) fits(bad *bellman.Invalid) {
	if _, ok := otherFields[w.Channel]; !ok {
		if !bad.Has("channel") {
			bad.Note("channel", coded.Errorf("account.channel", "%.40q is no channel: want wechatpay or alipay", w.Channel))
		}
		return
	}
	has := map[string]bool{"seller_id": w.SellerID != "", "mch_id": w.MchID != "", "sub_mch_id": w.SubMchID != "", "serial": w.Serial != ""}
	otherChannel(bad, w.Channel, has, given(&w.AccountKeys))
}

// otherFields are the fields that an account of a channel does not have.
var otherFields = map[string][]string{
	"wechatpay": {"seller_id", alipayPublicKeys, appAuthToken, appCertificate, rootCertificates},
	"alipay":    {"mch_id", "sub_mch_id", "serial", apiV3Key, certificate, platformKeys},
}

// otherChannel reports the given fields and keys that an account of a channel does not have.
func otherChannel(bad *bellman.Invalid, channel string, has map[string]bool, keys []key) {
	for _, k := range keys {
		has[group(k.field)] = true
	}
	for _, field := range otherFields[channel] {
		if has[field] {
			bad.Note(field, coded.Errorf("account.other_channel", "is not of the channel %s: leave it out", channel))
		}
	}
}

// stays reports a changed identity: the orders of the account are known by it.
func (w *request) stays(bad *bellman.Invalid, a, was *Account) {
	is, before := a.reach(), was.reach()
	if was.Channel == "" || is.Identity() == before.Identity() {
		return
	}
	for _, f := range [...][3]string{
		{"channel", was.Channel, a.Channel}, {"mch_id", was.MchID, a.MchID}, {"sub_mch_id", was.SubMchID, a.SubMchID},
		{"app_id", was.AppID, a.AppID}, {"seller_id", was.SellerID, a.SellerID}, {appAuthToken, fmt.Sprint(was.Token), fmt.Sprint(a.Token)},
	} {
		if f[1] != f[2] {
			bad.Note(f[0], coded.Errorf("account.identity", "cannot be changed: the orders of this account are known by it, as %s; register another account", before.Identity()))
			return
		}
	}
}

// sealed returns the keys that the account is to have, and reports errors. It drops expired ones.
func (w *request) sealed(bad *bellman.Invalid, was *Account, masters *registry.Masters, now time.Time) (secrets []registry.Secret) {
	active, _ := was.Active(now)
	var current, former []registry.Secret
	for _, s := range active {
		if s.Until.IsZero() {
			current = append(current, s)
		} else {
			former = append(former, s)
		}
	}
	changed := map[string]bool{} // groups
	add := func(field, place, text string, present []registry.Secret) {
		changed[group(field)] = true
		if !strings.HasPrefix(text, "sealed:") && !checkFetch(bad, place, key{field, text}) {
			return
		}
		if !registry.Text(bad, place, field, 2*bellman.MaxName) {
			return
		}
		s, err := registry.Sealer{Masters: masters, ID: w.Account, Field: field, Now: now}.Wanted(text, registry.Of(field, present))
		if err != nil {
			bad.Note(place, err)
			return
		}
		if strings.HasPrefix(place, "former[") && s.Until.IsZero() {
			bad.Note(place, coded.Errorf("account.unended", "has no end: want sealed:… until TIME, as an export has it"))
			return
		}
		secrets = append(secrets, s)
	}
	for _, k := range given(&w.AccountKeys) {
		add(k.field, k.field, k.text, current)
	}
	for _, s := range current {
		if !changed[group(s.Field)] {
			secrets = append(secrets, s)
		}
	}
	if w.Former == nil {
		return tooMany(bad, append(secrets, former...))
	}
	for i, k := range w.Former {
		place := registry.Place("former", i)
		if !lasts(k.Field) {
			bad.Note(place, coded.Errorf("account.former", "no former key of this field is used: leave it out"))
			continue
		}
		add(k.Field, place, k.Key, former)
	}
	return tooMany(bad, secrets)
}

// checkFetch reports platform_keys.certificates with another text than the word fetch.
func checkFetch(bad *bellman.Invalid, place string, k key) bool {
	if k.field != fetched || k.text == fetch {
		return true
	}
	bad.Note(place, coded.Errorf("account.fetch", "want the word fetch, or keys by their ids"))
	return false
}

// tooMany reports too many keys. It returns them by field, and of each field the newest first.
func tooMany(bad *bellman.Invalid, secrets []registry.Secret) []registry.Secret {
	if len(secrets) > maxKeys {
		bad.Note(privateKey, coded.Errorf("account.many_keys", "are %d keys with all others, of which %d may stand at one time", len(secrets), maxKeys))
	}
	slices.SortStableFunc(secrets, func(a, b registry.Secret) int {
		ended := func(s *registry.Secret) int64 { // what has no end comes first, then what ends last
			if s.Until.IsZero() {
				return 0
			}
			return 1<<62 - s.Until.UnixMilli()
		}
		return cmp.Or(strings.Compare(a.Field, b.Field), cmp.Compare(ended(&a), ended(&b)))
	})
	return secrets
}

// usable makes the account's channel, and reports why it cannot be made. It notes when certificates
// expire.
func usable(bad *bellman.Invalid, a *Account, masters *registry.Masters, now time.Time, check func(*config.Channel) (map[string]time.Time, error)) {
	active, _ := a.Active(now)
	c, err := a.opened(masters, active)
	var ends map[string]time.Time
	if err == nil && check != nil {
		ends, err = check(c)
	}
	if a.Ends = nil; len(ends) > 0 {
		a.Ends = make(map[string]registry.Stamp, len(ends))
	}
	for name, end := range ends {
		a.Ends[name] = registry.Stamp{Time: end.UTC().Truncate(time.Millisecond)}
	}
	if err == nil {
		return
	}
	wrong, is := errors.AsType[*bellman.Invalid](err)
	if !is {
		bad.Note("channel", err)
		return
	}
	for _, f := range wrong.Fields {
		if group, _, _ := strings.Cut(f.Field, "["); group == apiV3Key { // of an account it is one text
			f.Field = group
		}
		bad.Fields = append(bad.Fields, f)
	}
}
