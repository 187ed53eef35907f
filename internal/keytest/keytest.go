// Package keytest makes the keys, certificates and signatures that tests of payment channels need. All
// functions panic on an error, which is a mistake in the test.
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

// Seal encrypts a text as WeChat Pay does, with AES in Galois/Counter Mode. The result is in base64.
func Seal(key, nonce, text, data string) string {
	gcm := must(cipher.NewGCM(must(aes.NewCipher([]byte(key)))))
	return base64.StdEncoding.EncodeToString(gcm.Seal(nil, []byte(nonce), []byte(text), []byte(data)))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
