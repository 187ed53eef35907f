package account_test

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/account"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/invalidtest"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/order/alipay"
	"github.com/bellmanhq/bellman/order/wechatpay"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A counted store counts the documents that are read from it.
type counted struct {
	*memory.Store
	read atomic.Int64
}

func (c *counted) Docs(ctx context.Context, f store.DocFilter, limit int) ([]store.Doc, error) {
	docs, err := c.Store.Docs(ctx, f, limit)
	c.read.Add(int64(len(docs)))
	return docs, err
}

func masters(t testing.TB) *registry.Masters {
	t.Helper()
	key := make([]byte, 32)
	rand.Read(key)
	m, err := registry.NewMasters([]byte(base64.StdEncoding.EncodeToString(key)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pair returns a private key and its public key in PEM.
func pair() (private, public string) {
	key := keytest.RSA()
	return keytest.PrivatePEM(key), keytest.PublicPEM(key)
}

// channel makes the channel of an account.
func channel(c *config.Channel) (any, error) {
	if c.Kind == "alipay" {
		return alipay.New(alipay.Options{AppID: c.AppID, PrivateKey: c.PrivateKey, AlipayPublicKeys: c.AlipayKeys, AppAuthToken: c.AuthToken, SellerID: c.SellerID})
	}
	o := wechatpay.Options{MchID: c.MchID, SubMchID: c.SubMchID, SerialNo: c.Serial, Certificate: c.Certificate, PrivateKey: c.PrivateKey, PlatformKeys: c.PlatformKeys, APIv3Keys: c.APIv3Keys}
	if c.FetchKeys {
		o.Platform = new(wechatpay.Platform)
	}
	return wechatpay.New(o)
}

func open(t testing.TB, s registry.Store, m *registry.Masters) *account.Registry {
	return account.New(account.Options{
		Options: registry.Options{Store: s, Masters: m, Alone: true},
		Check: func(c *config.Channel) (map[string]time.Time, error) {
			made, err := channel(c)
			if err != nil {
				return nil, err
			}
			return made.(interface{ Certificates() map[string]time.Time }).Certificates(), nil
		},
	})
}

func wechat(private, public, name, sub string) client.PutAccount {
	return client.PutAccount{
		Account: name, Channel: "wechatpay", MchID: "1900000001", SubMchID: sub, Serial: "AB",
		AccountKeys: client.AccountKeys{PrivateKey: private, APIv3Key: strings.Repeat("k", 32), PlatformKeys: map[string]string{"PUB_KEY_ID_1": public}},
	}
}

// What is wrong with an account is said with the name of its field.
func TestWhatIsWrongWithAnAccount(t *testing.T) {
	private, public := pair()
	r := open(t, memory.New(), masters(t))
	ours := client.PutAccount{Account: "A", Channel: "alipay", AppID: "2021", AccountKeys: client.AccountKeys{PrivateKey: private, AlipayPublicKeys: []string{public}}}
	tests := []struct {
		in     client.PutAccount
		change func(*client.PutAccount)
		want   string // the fields
	}{
		{wechat(private, public, "A", ""), func(a *client.PutAccount) {}, ""},
		{ours, func(a *client.PutAccount) {}, ""},
		{wechat(private, public, "", ""), func(a *client.PutAccount) { a.Rate = "much" }, "account rate"},
		{wechat(private, public, "B", ""), func(a *client.PutAccount) { a.Channel = "stripe" }, "channel"},
		{wechat(private, public, "B", ""), func(a *client.PutAccount) { a.MchID = "x" }, "mch_id"},
		{wechat(private, public, "B", "x"), func(a *client.PutAccount) {}, "sub_mch_id"},
		{wechat(private, public, "B", ""), func(a *client.PutAccount) { a.Serial = "" }, "serial"},
		{wechat(private, public, "B", ""), func(a *client.PutAccount) { a.PrivateKey = "" }, "private_key"},
		{wechat(private, public, "B", ""), func(a *client.PutAccount) { a.AccountKeys = client.AccountKeys{} }, "private_key"}, // as an export without secrets has it
		{wechat(private, public, "B", ""), func(a *client.PutAccount) { a.PrivateKey = public }, "private_key"},
		{wechat(private, public, "B", ""), func(a *client.PutAccount) { a.PrivateKey = "file:/etc/passwd" }, "private_key"},
		{wechat(private, public, "B", ""), func(a *client.PutAccount) { a.APIv3Key = "short" }, "api_v3_key"},
		{wechat(private, public, "B", ""), func(a *client.PutAccount) { a.PlatformKeys = nil }, "platform_keys"},
		{wechat(private, public, "B", ""), func(a *client.PutAccount) { a.PlatformKeys = map[string]string{"PUB_KEY_ID_1": "none"} }, "platform_keys.PUB_KEY_ID_1"},
		{wechat(private, public, "B", ""), func(a *client.PutAccount) { a.SellerID, a.AlipayPublicKeys = "1", []string{public} }, "seller_id alipay_public_keys"},
		{wechat(private, public, "B", ""), func(a *client.PutAccount) {
			a.Former = []client.FormerKey{{Field: "private_key", Key: private}, {Field: "api_v3_key", Key: "x"}}
		}, "former[0] former[1]"},
		{wechat(private, public, "B", ""), func(a *client.PutAccount) { a.URL = "https://gateway.example/?key=***" }, "url"}, // as it is shown
		{ours, func(a *client.PutAccount) { a.Account, a.AppID = "C", "" }, "app_id"},
		{ours, func(a *client.PutAccount) { a.Account, a.AppAuthToken = "C", "token" }, "seller_id"},
		{ours, func(a *client.PutAccount) { a.Account, a.MchID = "C", "1" }, "mch_id"},
	}
	for _, tt := range tests {
		tt.change(&tt.in)
		_, _, err := r.Put(t.Context(), account.Wanted{PutAccount: tt.in}, bellman.By{})
		fields := invalidtest.Fields(err)
		if err != nil && fields == nil {
			t.Fatal(err)
		}
		slices.Sort(fields)
		want := strings.Fields(tt.want)
		slices.Sort(want)
		if tt.in.Channel == "alipay" && tt.in.Account == "A" { // is of wechatpay already
			want = []string{"channel"}
		}
		if !slices.Equal(fields, want) {
			t.Errorf("%+v: wrong fields %q (%v); want %q", tt.in.Account, fields, err, want)
		}
	}
}

// Ten thousand accounts cost no more memory than those that were used last, and the rate that they
// share is read with one document.
func TestTenThousandAccounts(t *testing.T) {
	const accounts = 10_000
	private, public := pair()
	db := &counted{Store: memory.New()}
	quick := account.New(account.Options{Options: registry.Options{Store: db, Masters: masters(t), Alone: true}}) // makes no channel to check
	for from := 0; from < accounts; from += client.MaxBatch {
		all := make([]account.Wanted, client.MaxBatch)
		for i := range all {
			all[i].PutAccount = wechat(private, public, fmt.Sprint("shop", from+i), fmt.Sprint(1900100000+from+i))
			all[i].Rate = fmt.Sprintf("%d/s", 100+from+i)
		}
		results, err := quick.Import(t.Context(), all, false, bellman.By{})
		if err != nil || !results[0].Created {
			t.Fatal(err, results[0].Err)
		}
	}
	made := 0
	use := func(name string) {
		t.Helper()
		k, err := quick.Get(t.Context(), name)
		if err != nil || k == nil {
			t.Fatal(k, err)
		}
		_, err = account.Make(k, "orders", func(c *config.Channel) (any, error) { made++; return channel(c) })
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < accounts; i += 10 { // each takes a moment to make
		use(fmt.Sprint("shop", i))
	}
	if n := quick.Known(); n > 512 {
		t.Errorf("%d accounts are in memory; want 512 at most", n)
	}
	before := made
	for range 100 {
		use("shop9990")
	}
	if made > before+1 {
		t.Errorf("the channel of one account was made %d times", made-before)
	}
	read := db.read.Load()
	for range 100 {
		if rate, err := quick.RateOf(t.Context(), "wechatpay:1900000001"); err != nil || rate != 100 {
			t.Fatalf("the shared rate is %v, %v; want 100", rate, err)
		}
	}
	if n := db.read.Load() - read; n != 1 {
		t.Errorf("%d documents were read for the rate of ten thousand accounts; want 1", n)
	}
	if err := quick.Delete(t.Context(), "shop0", bellman.By{}); err != nil {
		t.Fatal(err)
	}
	if rate, err := quick.RateOf(t.Context(), "wechatpay:1900000001"); err != nil || rate != 101 {
		t.Errorf("the shared rate is %v, %v after the smallest has gone; want 101", rate, err)
	}
}

// A server without the master key knows whose the account is, and cannot ask the channel.
func TestAccountWithoutMasterKey(t *testing.T) {
	private, public := pair()
	db := memory.New()
	if _, _, err := open(t, db, masters(t)).Put(t.Context(), account.Wanted{PutAccount: wechat(private, public, "A", "7")}, bellman.By{}); err != nil {
		t.Fatal(err)
	}
	r := open(t, db, masters(t))
	k, err := r.Get(t.Context(), "A")
	if err != nil || k.Identity != "wechatpay:1900000001:7" || !registry.IsMissingMaster(k.Unable) {
		t.Errorf("%+v, %v; want it known, and unable", k, err)
	}
	if _, err := account.Make(k, "orders", channel); !registry.IsMissingMaster(err) {
		t.Errorf("its channel: %v; want none for lack of the key", err)
	}
	if err := r.Ready(t.Context()); !registry.IsMissingMaster(err) {
		t.Errorf("ready: %v; want the missing key named", err)
	}
}

// Keys that verify overlap, and the former ones are gone at the end; the fields of a rotation that
// are left out stay.
func TestRotate(t *testing.T) {
	private, public := pair()
	_, second := pair()
	r := open(t, memory.New(), masters(t))
	if _, _, err := r.Put(t.Context(), account.Wanted{PutAccount: wechat(private, public, "A", "")}, bellman.By{}); err != nil {
		t.Fatal(err)
	}
	in := client.RotateAccount{AccountKeys: client.AccountKeys{PlatformKeys: map[string]string{"PUB_KEY_ID_2": second}}}
	a, err := r.Rotate(t.Context(), "A", &in, time.Hour, bellman.By{})
	if err != nil {
		t.Fatal(err)
	}
	shown := r.Shown(&a, false)
	if len(shown.PlatformKeys) != 1 || shown.PlatformKeys["PUB_KEY_ID_2"] == "" || len(shown.Former) != 1 || shown.Former[0].Field != "platform_keys.PUB_KEY_ID_1" || shown.APIv3Key == "" || shown.PrivateKey == "" {
		t.Errorf("keys %+v, formerly %q", shown.AccountKeys, shown.Former)
	}
	k, err := r.Get(t.Context(), "A")
	if err != nil {
		t.Fatal(err)
	}
	keys := 0
	account.Make(k, "keys", func(c *config.Channel) (int, error) { keys = len(c.PlatformKeys); return keys, nil })
	if keys != 2 {
		t.Errorf("%d platform keys verify during the overlap; want 2", keys)
	}
	for _, wrong := range []client.RotateAccount{{}, {AccountKeys: client.AccountKeys{APIv3Key: strings.Repeat("k", 32)}}, {AccountKeys: client.AccountKeys{PrivateKey: "none"}}} {
		if _, err := r.Rotate(t.Context(), "A", &wrong, 0, bellman.By{}); !errors.As(err, new(*bellman.Invalid)) {
			t.Errorf("a rotation of nothing, of the same, or of what is no key: %v", err)
		}
	}
	if _, err := r.Rotate(t.Context(), "B", &in, 0, bellman.By{}); !errors.Is(err, bellman.ErrNotFound) {
		t.Errorf("a rotation of an account that there is not: %v", err)
	}
}

// Of two platform keys with one id the newer one verifies. A former private key is not kept.
func TestRotateKeyOfTheSameName(t *testing.T) {
	private, public := pair()
	second, other := pair()
	r := open(t, memory.New(), masters(t))
	if _, _, err := r.Put(t.Context(), account.Wanted{PutAccount: wechat(private, public, "A", "")}, bellman.By{}); err != nil {
		t.Fatal(err)
	}
	a, err := r.Rotate(t.Context(), "A", &client.RotateAccount{Serial: "AB", AccountKeys: client.AccountKeys{PrivateKey: second, PlatformKeys: map[string]string{"PUB_KEY_ID_1": other}}}, time.Hour, bellman.By{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(registry.Of("private_key", a.Secrets)); n != 1 {
		t.Errorf("%d private keys are kept; want the newer one alone", n)
	}
	k, err := r.Get(t.Context(), "A")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := account.Make(k, "keys", func(c *config.Channel) (any, error) {
		if key := c.PlatformKeys["PUB_KEY_ID_1"]; len(c.PlatformKeys) != 1 || !key.Equal(sign.NewSecret(strings.TrimSpace(other))) || !c.PrivateKey.Equal(sign.NewSecret(strings.TrimSpace(second))) {
			t.Errorf("%d platform keys, and not the newer keys; want the newer ones", len(c.PlatformKeys))
		}
		return c, nil
	}); err != nil {
		t.Error(err)
	}
}

// A rotation replaces what the account has: keys of another channel, and a token that would change
// who the account is, are refused.
func TestRotationOfOtherFields(t *testing.T) {
	private, public := pair()
	r := open(t, memory.New(), masters(t))
	alipay := client.PutAccount{Account: "Z", Channel: "alipay", AppID: "2021000000000001", AccountKeys: client.AccountKeys{PrivateKey: private, AlipayPublicKeys: []string{public}}}
	for _, in := range []client.PutAccount{wechat(private, public, "W", ""), alipay} {
		if _, _, err := r.Put(t.Context(), account.Wanted{PutAccount: in}, bellman.By{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		account, field string
		in             client.RotateAccount
	}{
		{"W", "alipay_public_keys", client.RotateAccount{AccountKeys: client.AccountKeys{AlipayPublicKeys: []string{public}}}},
		{"W", "app_auth_token", client.RotateAccount{AccountKeys: client.AccountKeys{AppAuthToken: "token"}}},
		{"W", "platform_keys.certificates", client.RotateAccount{AccountKeys: client.AccountKeys{PlatformKeys: map[string]string{"certificates": "fetched"}}}},
		{"Z", "api_v3_key", client.RotateAccount{AccountKeys: client.AccountKeys{APIv3Key: strings.Repeat("k", 32)}}},
		{"Z", "platform_keys", client.RotateAccount{AccountKeys: client.AccountKeys{PlatformKeys: map[string]string{"PUB_KEY_ID_1": public}}}},
		{"Z", "serial", client.RotateAccount{AccountKeys: client.AccountKeys{PrivateKey: private}, Serial: "5157F09E"}},
		{"Z", "app_auth_token", client.RotateAccount{AccountKeys: client.AccountKeys{AppAuthToken: "token"}}},
	} {
		_, err := r.Rotate(t.Context(), tt.account, &tt.in, 0, bellman.By{})
		wrong := new(bellman.Invalid)
		if !errors.As(err, &wrong) || len(wrong.Fields) != 1 || wrong.Fields[0].Field != tt.field {
			t.Errorf("rotate %s of %s: %v; want this field refused, and no other", tt.field, tt.account, err)
		}
	}
}

// A new private key has a new certificate, so a rotation without its serial number is refused: the
// channel would refuse each request. A certificate stands in place of serial.
func TestRotationOfTheCertificate(t *testing.T) {
	private, public := pair()
	r := open(t, memory.New(), masters(t))
	if _, _, err := r.Put(t.Context(), account.Wanted{PutAccount: wechat(private, public, "A", "")}, bellman.By{}); err != nil {
		t.Fatal(err)
	}
	key := keytest.RSA()
	next := client.RotateAccount{AccountKeys: client.AccountKeys{PrivateKey: keytest.PrivatePEM(key)}}
	wrong := new(bellman.Invalid)
	if _, err := r.Rotate(t.Context(), "A", &next, 0, bellman.By{}); !errors.As(err, &wrong) || len(wrong.Fields) != 1 || wrong.Fields[0].Field != "serial" {
		t.Errorf("a new private key without its serial: %v; want serial refused", err)
	}
	now := time.Now()
	next.Certificate = keytest.Certificate(key, x509.Certificate{SerialNumber: big.NewInt(0x1234), NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(4, 0, 0)})
	a, err := r.Rotate(t.Context(), "A", &next, 0, bellman.By{})
	if err != nil || a.Serial != "" {
		t.Errorf("a new private key with its certificate: %v, serial %q; want that the certificate replaces serial", err, a.Serial)
	}
}

// Accounts whose certificates expire are found by when they do, also after the certificate was
// replaced.
func TestCertificates(t *testing.T) {
	r := open(t, memory.New(), masters(t))
	key := keytest.RSA()
	private := keytest.PrivatePEM(key)
	issued := func(serial int64, end time.Time) string {
		return keytest.Certificate(key, x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: end.AddDate(-5, 0, 0), NotAfter: end})
	}
	now := time.Now().UTC().Truncate(time.Second)
	put := func(name string, end time.Time) account.Account {
		in := wechat(private, "", name, "")
		in.Serial, in.Certificate, in.PlatformKeys = "", issued(0x1234, end), map[string]string{"certificates": "fetch"}
		a, _, err := r.Put(t.Context(), account.Wanted{PutAccount: in}, bellman.By{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	want := func(names ...string) {
		t.Helper()
		all, err := r.Certificates(t.Context(), now.AddDate(0, 0, 30))
		var got []string
		for _, c := range all {
			got = append(got, c.Account+" "+c.Name+" "+c.Expires.Format(time.DateOnly))
		}
		if err != nil || !slices.Equal(got, names) {
			t.Errorf("%q, %v; want %q", got, err, names)
		}
	}
	a := put("A", now.AddDate(0, 0, 20))
	put("B", now.AddDate(0, 0, 3))
	put("C", now.AddDate(0, 0, 40))
	want("B certificate "+now.AddDate(0, 0, 3).Format(time.DateOnly), "A certificate "+now.AddDate(0, 0, 20).Format(time.DateOnly))
	put("B", now.AddDate(5, 0, 0))
	want("A certificate " + now.AddDate(0, 0, 20).Format(time.DateOnly))
	if err := r.Delete(t.Context(), "A", bellman.By{}); err != nil {
		t.Fatal(err)
	}
	want()

	shown := r.Shown(&a, false)
	valid := func(in client.PutAccount) map[string]string {
		e, _, err := r.Put(t.Context(), account.Wanted{PutAccount: in}, bellman.By{})
		if err != nil {
			t.Fatal(err)
		}
		until := map[string]string{}
		for _, k := range r.Shown(&e, false).Keys {
			until[k.Field] = ""
			if k.Until != nil {
				until[k.Field] = k.Until.Format(time.DateOnly)
			}
		}
		return until
	}
	in := wechat(private, "", "E", "")
	in.Serial, in.Certificate, in.PlatformKeys = "", issued(0x1234, now.AddDate(0, 0, 20)), map[string]string{"5678": issued(0x5678, now.AddDate(0, 0, 50)), "PUB_KEY_ID_1": keytest.PublicPEM(key)}
	if got := valid(in); got["certificate"] != now.AddDate(0, 0, 20).Format(time.DateOnly) || got["platform_keys.5678"] != now.AddDate(0, 0, 50).Format(time.DateOnly) || got["platform_keys.PUB_KEY_ID_1"] != "" || got["private_key"] != "" {
		t.Errorf("the keys are valid until %v; want what the certificates say", got)
	}
	k, err := r.Get(t.Context(), "B")
	if err != nil || shown.PlatformKeys["certificates"] != "fetch" || strings.Contains(shown.Certificate, "BEGIN") {
		t.Errorf("%v, shown %+v; want the word fetch and no certificate", err, shown.AccountKeys)
	}
	if _, err := account.Make(k, "orders", func(c *config.Channel) (any, error) {
		if !c.FetchKeys || len(c.PlatformKeys) > 0 {
			t.Errorf("the channel fetches %t, and has %d keys", c.FetchKeys, len(c.PlatformKeys))
		}
		return channel(c)
	}); err != nil {
		t.Error(err)
	}
	wrong := wechat(private, "", "D", "")
	wrong.PlatformKeys = map[string]string{"certificates": "none"}
	if _, _, err := r.Put(t.Context(), account.Wanted{PutAccount: wrong}, bellman.By{}); err == nil || !strings.Contains(err.Error(), "want the word fetch") {
		t.Errorf("%v; want the word fetch asked for", err)
	}
}

func BenchmarkFirstUse(b *testing.B) {
	private, public := pair()
	r := account.New(account.Options{Options: registry.Options{Store: memory.New(), Masters: masters(b), Alone: true, Keep: 1}})
	for i := range 2 {
		if _, _, err := r.Put(b.Context(), account.Wanted{PutAccount: wechat(private, public, fmt.Sprint(i), "")}, bellman.By{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ { // each use evicts the other
		k, err := r.Get(b.Context(), fmt.Sprint(i%2))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := account.Make(k, "orders", channel); err != nil {
			b.Fatal(err)
		}
	}
}
