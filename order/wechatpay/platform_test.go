package wechatpay

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/order"
)

// A provider is WeChat Pay with platform certificates that change.
type provider struct {
	*httptest.Server
	t *testing.T

	mu      sync.Mutex
	now     time.Time
	key     string            // encrypts the certificates
	listed  map[string]string // certificates in PEM, by serial number
	by      *rsa.PrivateKey
	serial  string // of the certificate that signs now
	down    bool   // certificates cannot be fetched
	old     string // is sent instead of the list; empty: the list
	fetched int
}

const (
	firstSerial  = "5157F09EFDC096DE15EBE81A47057A7232F1B8E1"
	secondSerial = "50062CE505775F070CAB06E697F1BBD1AD4F4D87"
)

func newProvider(t *testing.T) *provider {
	p := &provider{t: t, now: now, key: apiV3Key, listed: map[string]string{}, by: certificateKey, serial: firstSerial}
	p.list(certificateKey, firstSerial, now.AddDate(1, 0, 0))
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

// list lists a certificate.
func (p *provider) list(key *rsa.PrivateKey, serial string, end time.Time) {
	number, _ := new(big.Int).SetString(serial, 16)
	p.listed[serial] = keytest.Certificate(key, x509.Certificate{SerialNumber: number, NotBefore: now.AddDate(-4, 0, 0), NotAfter: end})
}

// body is the list, encrypted.
func (p *provider) body() string {
	const nonce, data = "61f9c719728a", "certificate"
	var all []string
	for serial, text := range p.listed {
		all = append(all, fmt.Sprintf(`{"serial_no":%q,"effective_time":"2018-06-08T10:34:56+08:00","expire_time":"2018-12-08T10:34:56+08:00",`+
			`"encrypt_certificate":{"algorithm":"AEAD_AES_256_GCM","nonce":%q,"associated_data":%q,"ciphertext":%q}}`, serial, nonce, data, keytest.Seal(p.key, nonce, text, data)))
	}
	return `{"data":[` + strings.Join(all, ",") + `]}`
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := answer{status: 200, body: trade("SUCCESS"), by: p.by, serial: p.serial, at: p.now}
	if r.URL.Path == "/v3/certificates" {
		p.fetched++
		switch {
		case p.down:
			a = answer{status: 502, body: "<html>"}
		case p.old != "":
			a.body, a.at = p.old, p.now.Add(-time.Hour)
		default:
			a.body = p.body()
		}
	}
	a.write(w)
}

func (p *provider) options() Options {
	o := readerOptions(p.t)
	o.PlatformKeys, o.Platform = nil, new(Platform)
	o.BaseURL, o.Transport, o.Log = p.URL, p.Client().Transport, slog.New(slog.DiscardHandler)
	o.Now = func() time.Time {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.now
	}
	return o
}

// change changes what the provider does.
func (p *provider) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// reads asserts whether an answer to a query counts, and how often certificates were fetched so
// far.
func (p *provider) reads(c *Channel, want order.Reading, fetched int) {
	p.t.Helper()
	a := c.Query(p.t.Context(), &order.Order{OrderNo: orderNo})
	if a.Reading != want {
		p.t.Errorf("%v, %q; want %v", a.Reading, a.Error, want)
	}
	p.change(func() {
		if p.fetched != fetched {
			p.t.Errorf("certificates were fetched %d times; want %d", p.fetched, fetched)
		}
	})
}

// The first answer has the certificates fetched. A new one is known before it signs; one that is
// not causes one fetch. Both are valid while they change.
func TestPlatformRotates(t *testing.T) {
	p := newProvider(t)
	o := p.options()
	c := reader(t, o)
	p.reads(c, order.Paid, 1)
	p.reads(c, order.Paid, 1)
	if err := c.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.reads(c, order.Paid, 1) // it is not six hours old

	p.change(func() {
		p.now = p.now.Add(renewAfter)
		p.list(publicKey, secondSerial, now.AddDate(5, 0, 0))
	})
	if err := c.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.reads(c, order.Paid, 2)
	p.change(func() { p.by, p.serial = publicKey, secondSerial })
	p.reads(c, order.Paid, 2)
	if end := c.Certificates()["platform_keys"]; !end.Equal(now.AddDate(5, 0, 0)) {
		t.Errorf("the last certificate ends at %v; want that of the new one", end)
	}
	p.change(func() { p.by, p.serial = certificateKey, firstSerial })
	p.reads(c, order.Paid, 2)

	const third = "0A062CE505775F070CAB06E697F1BBD1AD4F4D99"
	p.change(func() {
		p.now = p.now.Add(time.Minute)
		p.list(strangersKey, third, now.AddDate(6, 0, 0))
		p.by, p.serial = strangersKey, third
	})
	p.reads(c, order.Paid, 3)

	// A channel that replaces this one has the keys at once; one with another APIv3 key has none.
	p.reads(reader(t, o), order.Paid, 3)
	o.APIv3Keys = []sign.Secret{sign.NewSecret(newAPIV3Key)}
	p.reads(reader(t, o), order.QueryError, 4)
}

// What an expired certificate signs is refused, with the time at which it expired: while the
// channel lists the certificate, and when it does not any more.
func TestPlatformExpires(t *testing.T) {
	p := newProvider(t)
	c := reader(t, p.options())
	p.reads(c, order.Paid, 1)
	p.change(func() {
		p.now = now.AddDate(1, 0, 0)
		p.list(publicKey, secondSerial, now.AddDate(5, 0, 0))
		p.by, p.serial = publicKey, secondSerial
	})
	p.reads(c, order.Paid, 2)
	for range 2 {
		late := answer{status: 200, body: notice{event: "TRANSACTION.SUCCESS", content: trade("SUCCESS")}.body(t), by: certificateKey, serial: firstSerial, at: c.now()}
		_, _, err := c.ReadNotice(&order.RawNotice{Header: raw(late).Header, Body: []byte(late.body), At: c.now()})
		want := "the notice is signed with the platform certificate \"" + firstSerial + "\", which expired at " + now.AddDate(1, 0, 0).UTC().Format(time.RFC3339)
		if err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
		p.change(func() {
			p.now = p.now.Add(renewAfter)
			delete(p.listed, firstSerial)
		})
		if err := c.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Serial numbers that somebody made up cause few fetches.
func TestPlatformIsNotFlooded(t *testing.T) {
	p := newProvider(t)
	c := reader(t, p.options())
	p.reads(c, order.Paid, 1)
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			forged := answer{status: 200, body: notice{event: "TRANSACTION.SUCCESS", content: trade("SUCCESS")}.body(t), by: strangersKey, serial: fmt.Sprintf("ABC%d", i), at: now}
			if _, _, err := c.ReadNotice(raw(forged)); err == nil || !strings.Contains(err.Error(), "not among platform_keys") {
				t.Errorf("a forged notice: %v", err)
			}
		})
	}
	group.Wait()
	p.reads(c, order.Paid, 1) // the last fetch was just now
	for range 24 * 60 {       // a day of it
		p.change(func() { p.now = p.now.Add(time.Minute) })
		forged := answer{status: 200, body: "{}", by: strangersKey, serial: "ABC", at: c.now()}
		if _, _, err := c.ReadNotice(&order.RawNotice{Header: raw(forged).Header, Body: []byte("{}"), At: c.now()}); err == nil {
			t.Fatal("a forged notice is read")
		}
	}
	p.change(func() {
		if p.fetched > 60 {
			t.Errorf("certificates were fetched %d times in a day of forged serial numbers; want at most twice an hour", p.fetched)
		}
	})
}

// A fetch that fails leaves the keys as they are, and is tried again.
func TestPlatformStays(t *testing.T) {
	p := newProvider(t)
	c := reader(t, p.options())
	p.change(func() { p.down = true })
	if err := c.Renew(t.Context()); err == nil || !strings.Contains(err.Error(), "HTTP status 502") {
		t.Errorf("Renew = %v; want the status", err)
	}
	p.reads(c, order.QueryError, 1)
	p.change(func() { p.now = p.now.Add(gapWithout) })
	p.reads(c, order.QueryError, 2)
	p.change(func() { p.now, p.down = p.now.Add(gapWithout), false })
	p.reads(c, order.Paid, 3)

	bad := map[string]func(){
		"HTTP status 502":             func() { p.down = true },
		"cannot be decrypted":         func() { p.key = newAPIV3Key },
		"no valid certificate":        func() { p.listed = map[string]string{} },
		"has the serial number":       func() { p.listed = map[string]string{secondSerial: p.listed[firstSerial]} },
		"is not in PEM":               func() { p.listed = map[string]string{secondSerial: "file:/etc/passwd"} },
		"differs from ours by 1h0m0s": func() { p.old = p.body() },
		"signature is wrong":          func() { p.by = strangersKey },
		"not among":                   func() { p.serial = secondSerial },
	}
	for want, do := range bad {
		key, listed, by, serial := p.key, p.listed, p.by, p.serial
		p.change(func() {
			do()
			p.now = p.now.Add(renewAfter)
		})
		if err := c.Renew(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Renew = %v; want %q", err, want)
		}
		p.change(func() { p.down, p.key, p.listed, p.old, p.by, p.serial = false, key, listed, "", by, serial })
		a := c.Query(t.Context(), &order.Order{OrderNo: orderNo})
		if a.Reading != order.Paid {
			t.Errorf("%s: after the fetch %v, %q; want the keys of before", want, a.Reading, a.Error)
		}
	}
}

// A public key that is configured is valid beside the certificates that are fetched.
func TestPlatformAndPublicKey(t *testing.T) {
	p := newProvider(t)
	o := p.options()
	o.PlatformKeys = map[string]sign.Secret{publicID: publicPEM(publicKey)}
	c := reader(t, o)
	p.change(func() { p.by, p.serial = publicKey, publicID })
	p.reads(c, order.Paid, 0)
	p.change(func() { p.by, p.serial = certificateKey, firstSerial })
	p.reads(c, order.Paid, 1)
	o.APIv3Keys = nil
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "api_v3_key: ") {
		t.Errorf("without an APIv3 key: %v", err)
	}
}

// The merchant's certificate says its serial number and when it ends.
func TestMerchantCertificate(t *testing.T) {
	end := now.AddDate(0, 0, 20)
	made := func(key *rsa.PrivateKey) sign.Secret {
		p := &provider{t: t, listed: map[string]string{}}
		p.list(key, serialNo, end)
		return sign.NewSecret(p.listed[serialNo])
	}
	o := options(t)
	o.SerialNo, o.Certificate = "", made(merchantKey)
	c := serve(t, o, queryRequest, signedBy(200, trade("SUCCESS"))) // which checks the serial number of the request
	if a := c.Query(t.Context(), &order.Order{OrderNo: orderNo}); a.Reading != order.Paid {
		t.Errorf("%v, %q; want PAID", a.Reading, a.Error)
	}
	if got := c.Certificates()["certificate"]; !got.Equal(end) {
		t.Errorf("the certificate ends at %v; want %v", got, end)
	}
	for want, bad := range map[string]func(*Options){
		"belongs to another key": func(o *Options) { o.Certificate = made(strangersKey) },
		"and serial is another":  func(o *Options) { o.SerialNo = secondSerial },
		"is a public key":        func(o *Options) { o.Certificate = publicPEM(merchantKey) },
	} {
		wrong := o
		bad(&wrong)
		if _, err := New(wrong); err == nil || !strings.Contains(err.Error(), want) || errors.Unwrap(err) == nil {
			t.Errorf("New = %v; want %q", err, want)
		}
	}
}

// Platform certificates are those of one merchant and one key: nobody else's verify his answers.
func TestPlatformOfEachMerchant(t *testing.T) {
	var p Platform
	of := func(mchID, base, key string) *platformKeys {
		k, err := p.of(&Channel{mchID: mchID, domains: &domains{first: base}}, []sign.Secret{sign.NewSecret(key)})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	one := of("1", "https://a", "k")
	for _, other := range []*platformKeys{of("2", "https://a", "k"), of("1", "https://b", "k"), of("1", "https://a", "l")} {
		if other == one {
			t.Error("another merchant, address or key has the same platform certificates")
		}
	}
	if of("1", "https://a", "k") != one {
		t.Error("the same merchant has other platform certificates; want the same")
	}
}

// Callers that need the certificates at one time wait for one fetch. Certificates end with the last
// of them.
func TestPlatformIsFetchedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &platformKeys{gap: firstGap}
		fetched := 0
		key := func(end time.Time) *sign.RSAVerifier {
			return &sign.RSAVerifier{Certificate: &x509.Certificate{NotAfter: end}}
		}
		end := now.AddDate(1, 0, 0)
		download := func(context.Context) (map[string]*sign.RSAVerifier, error) {
			fetched++
			time.Sleep(time.Second)
			return map[string]*sign.RSAVerifier{"a": key(now), "b": key(end), "c": key(now.AddDate(0, 1, 0))}, nil
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := f.fetch(t.Context(), time.Now, download); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if fetched != 1 || len(f.all()) != 3 {
			t.Errorf("fetched %d times, %d certificates; want one fetch of 3", fetched, len(f.all()))
		}
		for range 20 { // in any order
			if got := f.end(); !got.Equal(end) {
				t.Fatalf("the last ends at %v; want %v", got, end)
			}
		}
	})
}

// A fetch replaces the certificates, except that expired ones stay. After news the next fetch may
// come soon, and otherwise each time later.
func TestPlatformLearns(t *testing.T) {
	at := now
	key := func(end time.Time) *sign.RSAVerifier {
		return &sign.RSAVerifier{Certificate: &x509.Certificate{NotAfter: end}}
	}
	a, b, c := key(at.Add(time.Hour)), key(at.Add(2*time.Hour)), key(at.Add(3*time.Hour))
	f := &platformKeys{gap: firstGap}
	learn := func(keys map[string]*sign.RSAVerifier, err error, after time.Duration, gap time.Duration, known string) {
		t.Helper()
		f.learn(keys, err, at.Add(after))
		got := ""
		for _, serial := range []string{"a", "b", "c"} {
			if f.keys[serial] != nil {
				got += serial
			}
		}
		if got != known || f.gap != gap || !f.next.Equal(at.Add(after+gap)) || f.err != err {
			t.Errorf("after %v: certificates %q, the next fetch after %v, %v, %v; want %q, %v", after, got, f.gap, f.next, f.err, known, gap)
		}
	}
	down := errors.New("down")
	for _, gap := range []time.Duration{2 * firstGap, 4 * firstGap, gapWithout, gapWithout} {
		learn(nil, down, 0, gap, "")
	}
	learn(map[string]*sign.RSAVerifier{"a": a, "b": b}, nil, time.Minute, firstGap, "ab")
	learn(map[string]*sign.RSAVerifier{"a": a, "b": b}, nil, time.Minute, 2*firstGap, "ab")
	learn(map[string]*sign.RSAVerifier{"b": b}, nil, 2*time.Minute, 4*firstGap, "b") // a is valid, and not listed any more
	learn(map[string]*sign.RSAVerifier{"b": b, "c": c}, nil, 2*time.Minute, firstGap, "bc")
	learn(map[string]*sign.RSAVerifier{"c": c}, nil, 2*time.Hour, 2*firstGap, "bc") // b has expired
	for range 10 {
		f.learn(nil, down, at)
	}
	learn(nil, down, 2*time.Hour, gapWithKeys, "bc")
}

// A fetch that failed is repeated at the next renewal, and a list may be signed with a certificate
// of before. A list of expired certificates is none.
func TestPlatformRenews(t *testing.T) {
	p := newProvider(t)
	c := reader(t, p.options())
	p.reads(c, order.Paid, 1)
	p.change(func() {
		p.now, p.down = p.now.Add(firstGap), true
		p.by, p.serial = publicKey, secondSerial // not known
	})
	p.reads(c, order.QueryError, 2)
	p.change(func() {
		p.down = false
		p.by, p.serial = certificateKey, firstSerial
	})
	for range 2 { // the second finds them fresh
		if err := c.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.reads(c, order.Paid, 3)
	}
	p.change(func() {
		p.now = p.now.Add(renewAfter)
		delete(p.listed, firstSerial)
		p.list(publicKey, secondSerial, p.now)
	})
	if err := c.Renew(t.Context()); err == nil || !strings.Contains(err.Error(), "no valid certificate") {
		t.Errorf("Renew = %v; want no valid certificate", err)
	}
	p.change(func() { p.list(publicKey, secondSerial, p.now.Add(time.Second)) })
	if err := c.Renew(t.Context()); err != nil { // signed with the first
		t.Error(err)
	}
	if err := reader(t, readerOptions(t)).Renew(t.Context()); err != nil {
		t.Errorf("Renew of keys that are configured = %v; want nothing done", err)
	}
}
