package wechatpay

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order/states"
)

// The addresses of WeChat Pay's API.
// https://pay.weixin.qq.com/doc/v3/merchant/4013070356
const (
	Domestic = "https://api.mch.weixin.qq.com"  // leads to the nearest entry
	Backup   = "https://api2.mch.weixin.qq.com" // leads to an entry elsewhere
)

// preset is what WeChat Pay's answers mean.
const preset = "wechat_v3"

// Options of a Channel. MchID, PrivateKey, SerialNo or Certificate, and PlatformKeys or Platform
// are needed.
type Options struct {
	MchID    string // 商户号: the number of the merchant, or of the service provider if there is a SubMchID
	SubMchID string // 子商户号: whose orders a service provider asks about; empty: the merchant's own

	// SerialNo is the serial number of the merchant's API certificate, in hex, and
	// PrivateKey the key that belongs to it (apiclient_key.pem).
	SerialNo   string
	PrivateKey sign.Secret

	// Certificate is the merchant's API certificate (apiclient_cert.pem). It says the SerialNo, and
	// when the certificate ends. The zero Secret: only SerialNo is known.
	Certificate sign.Secret

	// PlatformKeys verify answers, by the name in Wechatpay-Serial: a platform certificate by its
	// serial number in hex, WeChat Pay's public key by its id, PUB_KEY_ID_…. During a rotation
	// WeChat Pay signs with either, so list both.
	PlatformKeys map[string]sign.Secret

	// Platform fetches further platform certificates from WeChat Pay and keeps them, which needs
	// APIv3Keys. nil: none are fetched. See [Channel.Renew].
	Platform *Platform

	// APIv3Keys (APIv3 密钥, of 32 bytes) decrypt notices. Each is tried, so that keys can rotate.
	// None: no notice can be read.
	APIv3Keys []sign.Secret

	// AppID is the application (应用 ID, or a service provider's or sub-merchant's) whose payments'
	// notices are read. Empty: those of every application of the merchant.
	AppID string

	BaseURL string // scheme and host, asked alone; default Domestic, and Backup while Domestic gives no answer

	Transport http.RoundTripper // nil: http.DefaultTransport
	Log       *slog.Logger      // told when requests go to the other address; nil: slog.Default
	Now       func() time.Time  // nil: time.Now
}

// New returns the channel of one account. The keys are read now. An error wraps a
// *[bellman.Invalid] that names every wrong option as the configuration does (private_key for
// PrivateKey), and contains no key.
func New(o Options) (*Channel, error) {
	c := &Channel{mchID: o.MchID, subMchID: o.SubMchID, appID: o.AppID, serial: o.SerialNo, transport: cmp.Or(o.Transport, http.DefaultTransport), now: o.Now, log: cmp.Or(o.Log, slog.Default())}
	if c.now == nil {
		c.now = time.Now
	}
	bad := new(bellman.Invalid)
	if !isNumber(o.MchID) {
		bad.Add("mch_id", "want the merchant's number, of digits")
	}
	if o.SubMchID != "" && !isNumber(o.SubMchID) {
		bad.Add("sub_mch_id", "want the sub-merchant's number, of digits")
	}
	if !isHex(o.SerialNo) && (o.SerialNo != "" || o.Certificate == sign.Secret{}) {
		bad.Add("serial", "want the serial number of the merchant's API certificate, in hex")
	}
	if len(o.PlatformKeys) == 0 && o.Platform == nil {
		bad.Add("platform_keys", "want at least one, for no answer counts unverified")
	}
	if len(o.APIv3Keys) == 0 && o.Platform != nil {
		bad.Add("api_v3_key", "want the APIv3 key, with which WeChat Pay encrypts the platform certificates that are fetched")
	}
	var err error
	c.domains = &domains{first: Domestic, second: Backup}
	if o.BaseURL != "" {
		c.domains.second = ""
		if c.domains.first, err = parseBase(o.BaseURL); err != nil {
			bad.Note("url", err)
		}
	}
	if c.sign, err = sign.RSASigner(o.PrivateKey); err != nil {
		bad.Note("private_key", err)
	}
	if (o.Certificate != sign.Secret{}) {
		if err := c.readCertificate(o.Certificate); err != nil {
			bad.Note("certificate", err)
		}
	}
	c.keys, c.publicKey = readKeys(bad, o.PlatformKeys)
	c.decrypt = newOpeners(bad, o.APIv3Keys)
	if err := bad.Err(); err != nil {
		return nil, fmt.Errorf("wechatpay: %w", err)
	}
	if o.Platform != nil {
		if c.fetched, err = o.Platform.of(c, o.APIv3Keys); err != nil {
			return nil, fmt.Errorf("wechatpay: %w", err)
		}
	}
	if c.query, err = states.CompileQuery(preset); err != nil {
		return nil, fmt.Errorf("wechatpay: %w", err)
	}
	if c.close, err = states.CompileClose(preset); err != nil {
		return nil, fmt.Errorf("wechatpay: %w", err)
	}
	return c, nil
}

// readCertificate takes the serial number and the end of the merchant's certificate.
func (c *Channel) readCertificate(secret sign.Secret) error {
	own, err := sign.NewRSAVerifier(secret)
	if err != nil {
		return err
	}
	if own.Certificate == nil {
		return errors.New("is a public key: want apiclient_cert.pem")
	}
	if c.sign != nil { // else the private key is wrong already
		probe, err := c.sign([]byte("probe"))
		if err != nil || !own.Verify([]byte("probe"), probe) {
			return errors.New("belongs to another key than private_key")
		}
	}
	if c.serial != "" && serialKey(c.serial) != serialKey(own.Serial()) {
		return fmt.Errorf("has the serial number %s, and serial is another", own.Serial())
	}
	c.serial, c.ends = own.Serial(), own.Certificate.NotAfter
	return nil
}

// Certificates returns the end of validity of each certificate, by its option's name. Those that
// were fetched replace one another: of them it returns the one that is valid longest. It is safe
// for concurrent use.
func (c *Channel) Certificates() map[string]time.Time {
	valid := make(map[string]time.Time, len(c.keys)+2)
	for _, key := range c.keys {
		if key.Certificate != nil {
			valid["platform_keys."+key.Serial()] = key.Certificate.NotAfter
		}
	}
	if !c.ends.IsZero() {
		valid["certificate"] = c.ends
	}
	if c.fetched != nil {
		if end := c.fetched.end(); !end.IsZero() {
			valid["platform_keys"] = end
		}
	}
	return valid
}

// readKeys returns the keys by the names that answers use. public is the name of WeChat Pay's
// public key; empty: there is none.
func readKeys(bad *bellman.Invalid, secrets map[string]sign.Secret) (keys map[string]*sign.RSAVerifier, publicKey string) {
	keys = make(map[string]*sign.RSAVerifier, len(secrets))
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		field := "platform_keys." + fmt.Sprintf("%.60s", name)
		key, err := sign.NewRSAVerifier(secrets[name])
		if err != nil {
			bad.Note(field, err)
			continue
		}
		switch isID := strings.HasPrefix(name, publicKeyPrefix); {
		case isID && key.Certificate != nil:
			bad.Add(field, "is a certificate: name it by its serial number, "+key.Serial())
		case isID:
			publicKey = max(publicKey, name)
		case key.Certificate == nil:
			bad.Add(field, "is a public key: name it by its id, "+publicKeyPrefix+"…")
		case serialKey(key.Serial()) != serialKey(name):
			bad.Add(field, "the certificate has the serial number "+key.Serial())
		}
		keys[serialKey(name)] = key
	}
	return keys, publicKey
}

func parseBase(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("want scheme and host alone, such as " + Domestic)
	}
	return u.Scheme + "://" + u.Host, nil
}

func isNumber(s string) bool { return s != "" && len(s) <= 32 && strings.Trim(s, "0123456789") == "" }

func isHex(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}
