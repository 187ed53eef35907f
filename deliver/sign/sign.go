// Package sign signs a request when it is sent, so that a retry hours later carries a fresh time.
// It has the schemes that receivers of payment notifications verify, and a [Secret] type that never
// prints its key. It sends nothing.
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
	MD5Key           = "md5_key"            // a field, MD5 over parameters as Params say
	RSA2             = "rsa2"               // fields "sign" and "sign_type", RSA-SHA256 over sorted parameters, as Alipay
	TV1              = "t_v1"               // a header t=TIME,v1=SIGNATURE: HMAC-SHA256 over "TIME.body", as Stripe
)

// Schemes lists the names of the schemes.
func Schemes() []string {
	return []string{StandardWebhooks, WechatRSA, MD5Params, HMACParams, JeepayMD5, RoncooMD5, MD5Key, RSA2, TV1}
}

// Weak reports whether a scheme signs with MD5. Use one only for receivers that verify nothing
// better.
func Weak(scheme string) bool {
	return scheme == MD5Params || scheme == JeepayMD5 || scheme == RoncooMD5 || scheme == MD5Key
}

// A Config says how requests are signed. The zero Config: they are not signed.
type Config struct {
	Scheme string // one of Schemes

	// Secrets are the active secrets, newest first. Standard Webhooks and t_v1 sign with each of
	// them, so that receivers can rotate at any time. The other schemes sign with the first secret
	// only, and check that the others are usable.
	Secrets []Secret

	// Serial is the value of Wechatpay-Serial, for wechat_rsa only. Empty: the serial number of the
	// certificate in the secret or, without a certificate, the first 20 bytes of the SHA-256 of the
	// public key (PKIX form). Both are in upper-case hex.
	Serial string

	// Params say what is signed, for md5_key only.
	Params Params

	// Header has the signature, for t_v1 only. Default Stripe-Signature.
	Header string
}

// A Message is a request about to be sent.
type Message struct {
	ID     string      // the task's id
	Time   time.Time   // of this attempt
	Header http.Header // Sign sets signatures in it and reads Content-Type
	Query  string      // of the address, encoded, without the question mark
	Body   []byte      // Sign replaces it, and never changes its bytes
}

// Hidden stands for a secret in a text that people see.
const Hidden = "***"

// A Signer signs messages. It is safe for concurrent use. For a scheme of your own, implement
// Signer and return it as deliver.Merchant.Signer.
type Signer interface {
	// Sign adds the signature to m. An error says what in m cannot be signed, and contains no value
	// of m.
	Sign(m *Message) error

	// Check returns the error that Sign would return for m, without the cost of a signature. It is
	// called when a task is added: m has no ID and no Time then.
	Check(m *Message) error

	// Headers returns the canonical names of the headers that Sign sets. The caller must not change
	// the slice.
	Headers() []string

	// Scheme returns the name of the scheme.
	Scheme() string

	// Text returns what Sign signs of m, for people who compare it with a receiver's. [Hidden]
	// stands for the secret if that is a part of it, and NONCE for a random part.
	Text(m *Message) ([]byte, error)
}

// New returns the signer of c; nil for the zero Config. The secrets are read now. An error names
// the variable or file that is missing, and contains no secret.
func New(c Config) (Signer, error) {
	if c.Scheme == "" && len(c.Secrets) == 0 && c.Serial == "" && c.Header == "" && c.Params.IsZero() {
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
	if !c.Params.IsZero() && c.Scheme != MD5Key {
		return nil, coded.Errorf("sign.params_other", "params: only %s has them", MD5Key)
	}
	if c.Header != "" && c.Scheme != TV1 {
		return nil, coded.Errorf("sign.header_other", "header: only %s has one", TV1)
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
	case RSA2:
		return newRSA2(c.Secrets)
	case TV1:
		return newTV1(keys, c.Header)
	default:
		return newParams(keys, c.Scheme, c.Params)
	}
}
