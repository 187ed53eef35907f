// Package sign signs a request at the moment it is sent, so that a retry hours
// later carries a fresh time. It knows the schemes that receivers of payment
// notifications check, and secrets that do not show themselves. It sends nothing.
package sign

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/coded"
)

// The schemes.
const (
	StandardWebhooks = "standard_webhooks"  // headers, HMAC-SHA256 or ed25519
	WechatRSA        = "wechat_rsa"         // headers, RSA-SHA256 as WeChat Pay v3
	MD5Params        = "md5_params"         // a field "sign", MD5 over sorted parameters
	HMACParams       = "hmac_sha256_params" // a field "sign", HMAC-SHA256 over the same
	JeepayMD5        = "jeepay_md5"         // a field "sign", MD5 as jeepay and xxpay sort
	RoncooMD5        = "roncoo_md5"         // a field "sign", MD5 as roncoo-pay writes the secret
)

// Schemes lists the names of the schemes.
func Schemes() []string {
	return []string{StandardWebhooks, WechatRSA, MD5Params, HMACParams, JeepayMD5, RoncooMD5}
}

// Weak reports whether a scheme signs with MD5: it is for receivers that check nothing better.
func Weak(scheme string) bool {
	return scheme == MD5Params || scheme == JeepayMD5 || scheme == RoncooMD5
}

// A Config says how requests are signed. The zero Config: not at all.
type Config struct {
	Scheme string // one of Schemes

	// Secrets are the active ones, the newest first. Standard Webhooks signs with
	// each of them, so that receivers can change over in their own time. The other
	// schemes have room for one signature: the first secret makes it, and the
	// others are only checked to be usable.
	Secrets []Secret

	// Serial names the key in Wechatpay-Serial, for wechat_rsa alone. Empty: the
	// serial number of the certificate that stands beside the key in the secret,
	// or, where there is none, the first 20 bytes of the SHA-256 of the public key
	// (PKIX form), both in upper-case hex.
	Serial string
}

// A Message is a request about to be sent.
type Message struct {
	ID     string      // the task's id
	Time   time.Time   // of this attempt
	Header http.Header // signatures are set here; Content-Type is read here
	Query  string      // of the address, encoded, without the question mark
	Body   []byte      // never changed in place: a signed body replaces it
}

// A Signer signs messages. It is safe for concurrent use.
type Signer interface {
	// Sign adds the signature to m. An error says what of m cannot be signed, and
	// shows nothing of its values.
	Sign(m *Message) error

	// Check reports whether a message of this form can be signed, without the
	// cost of doing so.
	Check(m *Message) error

	// Headers are the names of the headers that Sign sets, in canonical form. They are
	// shared, and must not be changed.
	Headers() []string
}

// New returns the signer that c describes; nil if c is the zero Config. The
// secrets are read now: an error names the variable or file that is missing.
func New(c Config) (Signer, error) {
	if c.Scheme == "" && len(c.Secrets) == 0 && c.Serial == "" {
		return nil, nil
	}
	if !slices.Contains(Schemes(), c.Scheme) {
		return nil, coded.Errorf("sign.scheme", "scheme: %.40q is not one of %s", c.Scheme, strings.Join(Schemes(), ", "))
	}
	if len(c.Secrets) == 0 {
		return nil, coded.Errorf("sign.none", "secrets: %s needs at least one", c.Scheme)
	}
	if c.Serial != "" && c.Scheme != WechatRSA {
		return nil, coded.Errorf("sign.serial_other", "serial: only %s has one", WechatRSA)
	}
	keys := make([][]byte, len(c.Secrets))
	for i, s := range c.Secrets {
		key, err := s.Resolve()
		if err == nil && len(key) == 0 {
			err = coded.Errorf("sign.empty", "is empty")
		}
		if err != nil {
			return nil, fmt.Errorf("secrets[%d]: %w", i, err)
		}
		keys[i] = key
	}
	switch c.Scheme {
	case StandardWebhooks:
		return newStandard(keys)
	case WechatRSA:
		return newWechat(keys, c.Serial)
	default:
		return newParams(keys, c.Scheme), nil
	}
}
