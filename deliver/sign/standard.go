package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"strconv"
	"sync"

	"github.com/bellmanhq/bellman/internal/coded"
)

// Lengths of a secret for HMAC in bytes, by the specification.
const (
	minHMACKey = 24
	maxHMACKey = 64
)

// standard signs by the Standard Webhooks specification 1.0.0: one signature over
// "id.timestamp.body" for each active secret, with the time in Unix seconds.
type standard struct {
	keys []standardKey
	size int // bytes of the signature header
}

// A standardKey makes one signature. It has the key in a function, so that printing it cannot show
// the key.
type standardKey struct {
	version string                                // "v1," or "v1a,"
	sign    func(sum, prefix, body []byte) []byte // appends to sum
	size    int                                   // bytes of the signature, in base64
}

func newStandard(secrets [][]byte) (*standard, error) {
	s := &standard{keys: make([]standardKey, len(secrets))}
	for i, secret := range secrets {
		key, err := parseStandardKey(secret)
		if err != nil {
			return nil, fmt.Errorf("secrets[%d]: %w", i, err)
		}
		s.keys[i] = key
		s.size += len(key.version) + key.size + 1
	}
	return s, nil
}

func parseStandardKey(secret []byte) (standardKey, error) {
	if text, ok := bytes.CutPrefix(secret, []byte("whsk_")); ok {
		key, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			return standardKey{}, coded.Errorf("sign.whsk_base64", "what follows whsk_ is not base64")
		}
		switch len(key) {
		case ed25519.SeedSize:
			return ed25519Key(ed25519.NewKeyFromSeed(key)), nil
		case ed25519.PrivateKeySize:
			private := ed25519.NewKeyFromSeed(key[:ed25519.SeedSize])
			if !bytes.Equal(private, key) {
				return standardKey{}, coded.Errorf("sign.whsk_pair", "whsk_ holds a private key and another's public key")
			}
			return ed25519Key(private), nil
		}
		return standardKey{}, coded.Errorf("sign.whsk_size", "whsk_ holds %d bytes: want an ed25519 key of 64, or its seed of 32", len(key))
	}
	text, ok := bytes.CutPrefix(secret, []byte("whsec_"))
	if !ok {
		return standardKey{}, coded.Errorf("sign.want_whsec", "want whsec_ and base64 of 24 to 64 bytes (HMAC), or whsk_ and base64 of an ed25519 key (its seed of 32 bytes, or 64)")
	}
	key, err := base64.StdEncoding.DecodeString(string(text))
	switch {
	case err != nil:
		return standardKey{}, coded.Errorf("sign.whsec_base64", "what follows whsec_ is not base64")
	case len(key) < minHMACKey || len(key) > maxHMACKey:
		return standardKey{}, coded.Errorf("sign.whsec_size", "whsec_ holds %d bytes: want %d to %d", len(key), minHMACKey, maxHMACKey)
	}
	return hmacKey(key), nil
}

func hmacKey(key []byte) standardKey {
	pool := &sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}
	return standardKey{version: "v1,", size: base64.StdEncoding.EncodedLen(sha256.Size),
		sign: func(sum, prefix, body []byte) []byte {
			h := pool.Get().(hash.Hash)
			defer pool.Put(h)
			h.Reset()
			h.Write(prefix)
			h.Write(body)
			return h.Sum(sum)
		}}
}

func ed25519Key(key ed25519.PrivateKey) standardKey {
	return standardKey{version: "v1a,", size: base64.StdEncoding.EncodedLen(ed25519.SignatureSize),
		sign: func(sum, prefix, body []byte) []byte {
			message := make([]byte, 0, len(prefix)+len(body))
			message = append(append(message, prefix...), body...)
			return append(sum, ed25519.Sign(key, message)...)
		}}
}

func (s *standard) Sign(m *Message) error {
	stamp := strconv.FormatInt(m.Time.Unix(), 10)
	prefix := make([]byte, 0, 64)
	prefix = append(append(append(append(prefix, m.ID...), '.'), stamp...), '.')
	signatures := make([]byte, 0, s.size)
	sum := make([]byte, 0, ed25519.SignatureSize)
	for i := range s.keys {
		if i > 0 {
			signatures = append(signatures, ' ')
		}
		signatures = append(signatures, s.keys[i].version...)
		sum = s.keys[i].sign(sum[:0], prefix, m.Body)
		signatures = base64.StdEncoding.AppendEncode(signatures, sum)
	}
	v := []string{m.ID, stamp, string(signatures)}
	m.Header["Webhook-Id"] = v[0:1:1]
	m.Header["Webhook-Timestamp"] = v[1:2:2]
	m.Header["Webhook-Signature"] = v[2:3:3]
	return nil
}

// Text returns "id.timestamp.body".
func (s *standard) Text(m *Message) ([]byte, error) {
	return append([]byte(m.ID+"."+strconv.FormatInt(m.Time.Unix(), 10)+"."), m.Body...), nil
}

func (s *standard) Check(*Message) error { return nil }

func (s *standard) Scheme() string { return StandardWebhooks }

func (s *standard) Headers() []string { return standardHeaders }

var standardHeaders = []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"}
