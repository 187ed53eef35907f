// Package keytest makes the keys, certificates and signatures that tests of payment channels need.
// All functions panic on an error, which is a mistake in the test.
package keytest

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// RSA makes a key of 2048 bits.
func RSA() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) }

// PEM encodes a block of a kind, such as RSA PRIVATE KEY.
func PEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// Private returns a private key in PKCS #8.
func Private(key any) []byte { return must(x509.MarshalPKCS8PrivateKey(key)) }

// PrivatePEM returns Private in PEM.
func PrivatePEM(key any) string { return PEM("PRIVATE KEY", Private(key)) }

// Public returns the public half of a key in PKIX.
func Public(key crypto.Signer) []byte { return must(x509.MarshalPKIXPublicKey(key.Public())) }

// PublicPEM returns Public in PEM.
func PublicPEM(key crypto.Signer) string { return PEM("PUBLIC KEY", Public(key)) }

// Certificate returns the certificate in PEM that a key issues for itself.
func Certificate(key crypto.Signer, from x509.Certificate) string {
	return PEM("CERTIFICATE", must(x509.CreateCertificate(rand.Reader, &from, &from, key.Public(), key)))
}

// Sign signs a text with SHA-256 and RSA. The signature is in base64.
func Sign(key *rsa.PrivateKey, text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(must(rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])))
}

// Verified reports whether Sign made a signature of a text with a key.
func Verified(key *rsa.PrivateKey, text, signature string) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	sum := sha256.Sum256([]byte(text))
	return err == nil && rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], raw) == nil
}

// Seal encrypts a text as WeChat Pay does, with AES in Galois/Counter Mode. The result is in
// base64.
func Seal(key, nonce, text, data string) string {
	gcm := must(cipher.NewGCM(must(aes.NewCipher([]byte(key)))))
	return base64.StdEncoding.EncodeToString(gcm.Seal(nil, []byte(nonce), []byte(text), []byte(data)))
}

// WeChatHeader returns the headers of an answer or notice that WeChat Pay signs at a time. serial
// names the key.
func WeChatHeader(key *rsa.PrivateKey, serial, body string, at time.Time) http.Header {
	stamp, nonce := strconv.FormatInt(at.Unix(), 10), "d824f2e086d3c1df967785d13fcd22ef"
	return http.Header{
		"Wechatpay-Timestamp": {stamp}, "Wechatpay-Nonce": {nonce}, "Wechatpay-Serial": {serial},
		"Wechatpay-Signature": {Sign(key, stamp+"\n"+nonce+"\n"+body+"\n")},
	}
}

// WeChatNotice returns the body of a notice of WeChat Pay about a resource of a kind, sealed with
// an APIv3 key.
func WeChatNotice(key, id, event, kind, content string) string {
	const nonce, data = "fdasflkja484", "transaction"
	return fmt.Sprintf(`{"id":%q,"event_type":%q,"resource":{"original_type":%q,"algorithm":"AEAD_AES_256_GCM","ciphertext":%q,"associated_data":%q,"nonce":%q}}`,
		id, event, kind, Seal(key, nonce, content, data), data, nonce)
}

// Pairs returns the text that Alipay and UnionPay sign for these fields: name=value, sorted by name
// and joined with &.
func Pairs(fields map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		pairs = append(pairs, name+"="+fields[name])
	}
	return strings.Join(pairs, "&")
}

// Form returns fields as a form.
func Form(fields map[string]string) url.Values {
	form := url.Values{}
	for name, value := range fields {
		form.Set(name, value)
	}
	return form
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
