package wechatpay

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
)

const (
	// renewAfter is how old fetched certificates become before [Channel.Renew] fetches them again.
	// WeChat Pay lists a new certificate 24 hours before it signs with it, and asks for less than
	// 12 hours. https://pay.weixin.qq.com/wiki/doc/api_external/ch/apis/chapter3_3_8.shtml
	renewAfter = 6 * time.Hour

	// After a fetch the next one that an unknown serial number causes waits for firstGap. The gap
	// doubles with each fetch that brings nothing new, up to gapWithKeys, or gapWithout while there
	// is no key.
	firstGap    = 10 * time.Second
	gapWithKeys = 30 * time.Minute
	gapWithout  = time.Minute

	fetchTimeout = 10 * time.Second
)

// A Platform keeps the platform certificates that channels fetch. Channels with the same merchant,
// address and APIv3 keys share them, so that a channel that replaces another one has them at once.
// The zero Platform is ready for use. It is safe for concurrent use.
type Platform struct {
	mu   sync.Mutex
	sets map[[sha256.Size]byte]*platformKeys
}

// of returns the keys of a channel's merchant.
func (p *Platform) of(c *Channel, secrets []sign.Secret) (*platformKeys, error) {
	name := sha256.New()
	fmt.Fprintf(name, "%s\n%s\n", c.mchID, c.domains.first)
	for i, secret := range secrets {
		key, err := secret.Resolve()
		if err != nil {
			return nil, fmt.Errorf("api_v3_key[%d]: %w", i, err)
		}
		fmt.Fprintf(name, "%x\n", sha256.Sum256(key))
	}
	id := [sha256.Size]byte(name.Sum(nil))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sets == nil {
		p.sets = map[[sha256.Size]byte]*platformKeys{}
	}
	if p.sets[id] == nil {
		p.sets[id] = &platformKeys{gap: firstGap}
	}
	return p.sets[id], nil
}

// platformKeys are the platform certificates of one merchant. Several are valid at once while
// WeChat Pay changes from one to the next. Expired ones stay, and verify nothing. A fetch that
// fails leaves them as they are.
type platformKeys struct {
	mu      sync.Mutex
	keys    map[string]*sign.RSAVerifier // by serialKey; never changed, only replaced
	at      time.Time                    // of the last fetch that succeeded
	next    time.Time                    // before it no unknown serial number causes a fetch
	gap     time.Duration                // between such fetches
	running chan struct{}                // closed at the end of the fetch that is under way; nil: there is none
	err     error                        // of the last fetch
}

func (f *platformKeys) all() map[string]*sign.RSAVerifier {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keys
}

// end is when the last of the certificates ends; zero: there is none.
func (f *platformKeys) end() (last time.Time) {
	for _, key := range f.all() {
		if key.Certificate.NotAfter.After(last) {
			last = key.Certificate.NotAfter
		}
	}
	return last
}

// fetch replaces the keys by what download returns, unless it fails. It waits for a fetch that is
// under way instead of a second one. ctx limits only the waiting: others may wait for the same
// fetch.
func (f *platformKeys) fetch(ctx context.Context, now func() time.Time, download func(context.Context) (map[string]*sign.RSAVerifier, error)) error {
	f.mu.Lock()
	running := f.running
	if running == nil {
		running = make(chan struct{})
		f.running = running
		go func() {
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
			defer cancel()
			keys, err := download(within)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.learn(keys, err, now())
			f.running = nil
			close(running)
		}()
	}
	f.mu.Unlock()
	select {
	case <-running:
	case <-ctx.Done():
		return ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// learn takes the result of a fetch.
func (f *platformKeys) learn(keys map[string]*sign.RSAVerifier, err error, now time.Time) {
	news := false
	for serial := range keys {
		news = news || f.keys[serial] == nil
	}
	f.err = err
	if err == nil {
		for serial, key := range f.keys {
			if keys[serial] == nil && !now.Before(key.Certificate.NotAfter) {
				keys[serial] = key // so that verify can say when it expired
			}
		}
		f.keys, f.at = keys, now
	}
	most := gapWithKeys
	if len(f.keys) == 0 {
		most = gapWithout
	}
	f.gap = min(2*f.gap, most)
	if news {
		f.gap = firstGap
	}
	f.next = now.Add(f.gap)
}

// key returns the key of a serialKey; nil: there is none. A serial number that is not known causes
// one fetch, but not soon after another one, so that forged ones cause few.
func (c *Channel) key(ctx context.Context, serial string) *sign.RSAVerifier {
	f := c.fetched
	if key := c.keys[serial]; key != nil || f == nil {
		return key
	}
	f.mu.Lock()
	key, wait := f.keys[serial], f.running == nil && c.now().Before(f.next)
	f.mu.Unlock()
	if key != nil || wait {
		return key
	}
	if err := f.fetch(ctx, c.now, c.download); err != nil {
		c.log.Warn("WeChat Pay's platform certificates cannot be fetched", "mch_id", c.mchID, "err", err)
	}
	return f.all()[serial]
}

// Renew fetches the platform certificates if they were not fetched within six hours, or the last
// try failed. Call it about once an hour. Without [Options.Platform] it does nothing.
func (c *Channel) Renew(ctx context.Context) error {
	f := c.fetched
	if f == nil {
		return nil
	}
	f.mu.Lock()
	fresh := f.err == nil && !f.at.IsZero() && c.now().Sub(f.at) < renewAfter
	f.mu.Unlock()
	if fresh {
		return nil
	}
	return f.fetch(ctx, c.now, c.download)
}

// platformCertificates is the answer to a request for the certificates.
// https://pay.weixin.qq.com/wiki/doc/api_external/ch/apis/chapter3_3_8.shtml
type platformCertificates struct {
	Data []struct {
		SerialNo    string   `json:"serial_no"`
		Certificate resource `json:"encrypt_certificate"`
	} `json:"data"`
}

// download fetches the platform certificates.
//
// The first answer is signed with a certificate that nobody has yet. What makes it WeChat Pay's is
// the encryption: AES-GCM with the APIv3 key, which only the merchant and WeChat Pay know,
// authenticates each certificate. WeChat Pay's own SDKs trust the first download in this way:
// wechatpay-go, core/downloader/downloader.go, begins with a NullValidator; wechatpay-java,
// RSACertificateHandler, checks no chain, lest the end of an authority's certificate stops
// payments. Here the answer must also be signed now, with a certificate of before or one that it
// brings, so that an old answer cannot be played back.
func (c *Channel) download(ctx context.Context) (map[string]*sign.RSAVerifier, error) {
	a, whole, err := c.exchange(ctx, http.MethodGet, "/v3/certificates", nil)
	switch {
	case err != nil:
		return nil, err
	case !whole:
		return nil, errors.New(cmp.Or(a.Error, "there is no answer"))
	case a.Status != http.StatusOK:
		return nil, errors.New(unread(a, fmt.Errorf("HTTP status %d", a.Status)).Error)
	}
	var list platformCertificates
	if err := json.Unmarshal(a.Body, &list); err != nil {
		return nil, errors.New("the answer is not the JSON object that WeChat Pay sends")
	}
	keys, valid := make(map[string]*sign.RSAVerifier, len(list.Data)), false
	for i := range list.Data {
		one := &list.Data[i]
		text, err := c.open("certificate", &one.Certificate)
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("-----BEGIN CERTIFICATE-----")) { // as a Secret it could name a file
			return nil, fmt.Errorf("the certificate %.60q is not in PEM", one.SerialNo)
		}
		key, err := sign.NewRSAVerifier(sign.NewSecret(string(text)))
		switch {
		case err != nil:
			return nil, fmt.Errorf("the certificate %.60q cannot be used: %w", one.SerialNo, err)
		case key.Certificate == nil || serialKey(key.Serial()) != serialKey(one.SerialNo):
			return nil, fmt.Errorf("the certificate %.60q has the serial number %.60q", one.SerialNo, key.Serial())
		}
		valid = valid || c.now().Before(key.Certificate.NotAfter)
		keys[serialKey(one.SerialNo)] = key
	}
	if !valid {
		return nil, errors.New("the answer has no valid certificate")
	}
	known := maps.Clone(c.keys)
	maps.Copy(known, c.fetched.all())
	maps.Copy(known, keys)
	header := func(name string) string { return a.Header[name] }
	if err := verify("answer", header, a.Body, c.now(), func(serial string) *sign.RSAVerifier { return known[serial] }); err != nil {
		return nil, err
	}
	return keys, nil
}
