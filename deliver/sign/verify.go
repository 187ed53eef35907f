package sign

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The schemes that messages are verified by, beside [StandardWebhooks].
const (
	HMACBody = "hmac_sha256" // a header: HMAC-SHA256 over the body
	RSABody  = "rsa_sha256"  // a header: RSA-SHA256 (PKCS #1 v1.5) over the body
	Stripe   = "stripe"      // a header t=TIME,v1=SIGNATURE: HMAC-SHA256 over "TIME.body"
)

// VerifySchemes lists the names of the schemes that messages are verified by.
func VerifySchemes() []string { return []string{HMACBody, RSABody, StandardWebhooks, Stripe} }

// A VerifyConfig says how the messages of one sender are verified.
type VerifyConfig struct {
	Scheme string // one of VerifySchemes

	// Header is the header that has the signature. hmac_sha256 and rsa_sha256 need it; stripe has
	// Stripe-Signature as default; standard_webhooks has headers of its own and takes none.
	Header string

	// Secrets are valid at the same time, so that they can rotate. hmac_sha256 and stripe: the key
	// as the sender shows it, of 16 bytes or more. rsa_sha256: a certificate or a public key.
	// standard_webhooks: whsec_… or, for ed25519, whpk_….
	Secrets []Secret

	// Tolerance is how far the time that was signed may be from now, in either direction. Default 5
	// minutes. hmac_sha256 and rsa_sha256 sign no time and take none.
	Tolerance time.Duration
}

const (
	defaultTolerance = 5 * time.Minute

	// minKey is the least length of a key of HMAC-SHA256, in bytes. An attacker who guesses the key
	// can sign notices.
	minKey = 16

	// maxSignatures bounds the work for one message.
	maxSignatures = 10
)

// A Verifier verifies messages. It remembers none: a message that is sent again is valid again, as
// long as its time is. It is safe for concurrent use.
type Verifier struct {
	// A function, so that printing a Verifier cannot show a key.
	verify func(header http.Header, body []byte, now time.Time) error
}

// Verify returns nil for a message that one of the secrets signed, over exactly these bytes. If the
// scheme signs a time, that time must be near now. Otherwise the error says in one line what is
// wrong.
func (v *Verifier) Verify(header http.Header, body []byte, now time.Time) error {
	return v.verify(header, body, now)
}

// NewVerifier returns the verifier of c. The secrets are read now. An error names the field that is
// wrong, and contains no secret.
func NewVerifier(c VerifyConfig) (*Verifier, error) {
	timed := c.Scheme == StandardWebhooks || c.Scheme == Stripe
	switch {
	case !slices.Contains(VerifySchemes(), c.Scheme):
		return nil, fmt.Errorf("scheme: %.40q is not one of %s", c.Scheme, strings.Join(VerifySchemes(), ", "))
	case len(c.Secrets) == 0:
		return nil, fmt.Errorf("secrets: %s needs at least one", c.Scheme)
	case c.Tolerance < 0:
		return nil, errors.New("tolerance: want a duration above 0s")
	case !timed && c.Tolerance != 0:
		return nil, fmt.Errorf("tolerance: %s signs no time", c.Scheme)
	case c.Scheme == StandardWebhooks && c.Header != "":
		return nil, fmt.Errorf("header: %s has Webhook-Signature", c.Scheme)
	case !timed && c.Header == "":
		return nil, fmt.Errorf("header: %s needs the name of the header with the signature", c.Scheme)
	}
	var checks []check
	for i, secret := range c.Secrets {
		one, err := newCheck(c.Scheme, secret)
		if err != nil {
			return nil, fmt.Errorf("secrets[%d]: %w", i, err)
		}
		checks = append(checks, one)
	}
	c.Tolerance = cmp.Or(c.Tolerance, defaultTolerance)
	v := new(Verifier)
	switch c.Scheme {
	case StandardWebhooks:
		v.verify = func(header http.Header, body []byte, now time.Time) error {
			return verifyStandard(checks, header, body, now, c.Tolerance)
		}
	case Stripe:
		name := c.Header
		name = cmp.Or(name, "Stripe-Signature")
		v.verify = func(header http.Header, body []byte, now time.Time) error {
			return verifyStripe(checks, header.Values(name), body, now, c.Tolerance)
		}
	default:
		v.verify = func(header http.Header, body []byte, _ time.Time) error {
			signatures := split(header.Values(c.Header))
			if len(signatures) == 0 {
				return fmt.Errorf("it is not signed: it has no header %s", http.CanonicalHeaderKey(c.Header))
			}
			return anyOf(checks, signatures, body)
		}
	}
	return v, nil
}

// A check reports whether a signature of a text was made with one secret. Sums are compared in
// constant time.
type check func(text []byte, signature string) bool

func newCheck(scheme string, secret Secret) (check, error) {
	if scheme == RSABody {
		v, err := NewRSAVerifier(secret)
		if err != nil {
			return nil, err
		}
		return v.Verify, nil
	}
	key, err := secret.Resolve()
	switch {
	case err != nil:
		return nil, err
	case len(key) == 0:
		return nil, errors.New("is empty")
	case scheme == StandardWebhooks:
		return newStandardCheck(key)
	case len(key) < minKey:
		return nil, fmt.Errorf("has %d bytes: want %d or more, such as those that `openssl rand -hex 32` writes", len(key), minKey)
	}
	return func(text []byte, signature string) bool {
		sum, err := readSum(signature)
		h := hmac.New(sha256.New, key)
		h.Write(text)
		return hmac.Equal(h.Sum(nil), sum) && err == nil
	}, nil
}

// readSum reads a SHA-256 sum in hex or in base64, with or without "sha256=" before it.
func readSum(signature string) ([]byte, error) {
	signature = strings.TrimPrefix(signature, "sha256=")
	if len(signature) == 2*sha256.Size {
		return hex.DecodeString(signature)
	}
	return base64.StdEncoding.DecodeString(signature)
}

// newStandardCheck reads a secret of Standard Webhooks. The signatures that its check reads have
// their version before them, as in the header.
func newStandardCheck(secret []byte) (check, error) {
	text, isPublic := bytes.CutPrefix(secret, []byte("whpk_"))
	switch {
	case isPublic:
		key, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("want whpk_ and the base64 of an ed25519 key of %d bytes", ed25519.PublicKeySize)
		}
		return func(text []byte, signature string) bool {
			encoded, ours := strings.CutPrefix(signature, "v1a,")
			raw, err := base64.StdEncoding.DecodeString(encoded)
			return ours && err == nil && ed25519.Verify(key, text, raw)
		}, nil
	case bytes.HasPrefix(secret, []byte("whsk_")):
		return nil, errors.New("is the sender's private key: want its public key, whpk_…")
	}
	key, err := parseStandardKey(secret)
	if err != nil {
		return nil, err
	}
	return func(text []byte, signature string) bool {
		encoded, ours := strings.CutPrefix(signature, key.version)
		raw, err := base64.StdEncoding.DecodeString(encoded)
		return hmac.Equal(key.sign(nil, nil, text), raw) && ours && err == nil
	}, nil
}

func verifyStandard(checks []check, header http.Header, body []byte, now time.Time, tolerance time.Duration) error {
	id, stamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	signatures := strings.Fields(strings.Join(header.Values("Webhook-Signature"), " "))
	if id == "" || stamp == "" || len(signatures) == 0 {
		return errors.New("it is not signed: it needs Webhook-Id, Webhook-Timestamp and Webhook-Signature")
	}
	if err := near(stamp, now, tolerance); err != nil {
		return err
	}
	return anyOf(checks, signatures, append([]byte(id+"."+stamp+"."), body...))
}

// verifyStripe reads t=TIME,v1=SIGNATURE,v1=… in any order. Other names, such as v0,
// are ignored. https://docs.stripe.com/webhooks/signature
func verifyStripe(checks []check, values []string, body []byte, now time.Time, tolerance time.Duration) error {
	var stamps, signatures []string
	for _, item := range split(values) {
		switch name, value, _ := strings.Cut(item, "="); name {
		case "t":
			stamps = append(stamps, value)
		case "v1":
			signatures = append(signatures, value)
		}
	}
	switch {
	case len(stamps) == 0 || len(signatures) == 0:
		return errors.New("it is not signed: its signature header needs t=… and v1=…")
	case len(stamps) > 1:
		return errors.New("its signature header has more than one t=…")
	}
	if err := near(stamps[0], now, tolerance); err != nil {
		return err
	}
	return anyOf(checks, signatures, append([]byte(stamps[0]+"."), body...))
}

// anyOf returns nil if one signature passes one check.
func anyOf(checks []check, signatures []string, text []byte) error {
	if len(signatures) > maxSignatures {
		return fmt.Errorf("it has %d signatures: want %d or fewer", len(signatures), maxSignatures)
	}
	for _, valid := range checks {
		for _, signature := range signatures {
			if valid(text, signature) {
				return nil
			}
		}
	}
	return errors.New("its signature is wrong")
}

// near returns an error unless stamp, in Unix seconds, is at most tolerance from now.
func near(stamp string, now time.Time, tolerance time.Duration) error {
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return errors.New("its timestamp is no time in seconds")
	}
	if skew := time.Unix(seconds, 0).Sub(now.Truncate(time.Second)); skew.Abs() > tolerance {
		return fmt.Errorf("the time at which it was signed differs from ours by %v, and at most %v is allowed: is the clock right?", skew.Abs(), tolerance)
	}
	return nil
}

// split returns the parts of header values between commas and white space.
func split(values []string) []string {
	return strings.FieldsFunc(strings.Join(values, ","), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}
