package sign

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// minRSA is the length in bits that WeChat Pay and Alipay ask of a key.
const minRSA = 2048

// RSASigner returns a function that signs a text with an RSA private key: SHA-256, PKCS #1 v1.5, in
// base64, as WeChat Pay v3 and Alipay's RSA2 do. The secret is the key in PEM (PKCS #8 or PKCS #1),
// or base64 without PEM lines, as Alipay's key tool writes it. The key has 2,048 bits or more. The
// function is safe for concurrent use, and nothing can print its key.
func RSASigner(secret Secret) (func(text []byte) (signature string, err error), error) {
	key, err := readPrivate(secret)
	if err != nil {
		return nil, err
	}
	return func(text []byte) (string, error) {
		sum := sha256.Sum256(text)
		signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
		if err != nil {
			return "", errors.New("the RSA key cannot sign")
		}
		return base64.StdEncoding.EncodeToString(signature), nil
	}, nil
}

func readPrivate(secret Secret) (*rsa.PrivateKey, error) {
	text, err := secret.Resolve()
	if err != nil {
		return nil, err
	}
	der, kind := unarmour(text)
	var parsed any
	switch kind {
	case "RSA PRIVATE KEY":
		parsed, err = x509.ParsePKCS1PrivateKey(der)
	case "PRIVATE KEY":
		parsed, err = x509.ParsePKCS8PrivateKey(der)
	case "": // base64 does not say which of the two
		if parsed, err = x509.ParsePKCS8PrivateKey(der); err != nil {
			parsed, err = x509.ParsePKCS1PrivateKey(der)
		}
	default:
		return nil, fmt.Errorf("want an RSA private key in PEM or base64, not %.40q", kind)
	}
	if err != nil {
		return nil, errors.New("want an RSA private key in PEM or base64, PKCS #8 or PKCS #1") // err may quote the key
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("the private key is not an RSA key")
	}
	if key.N.BitLen() < minRSA {
		return nil, fmt.Errorf("an RSA key of %d bits is too short: want %d or more", key.N.BitLen(), minRSA)
	}
	return key, nil
}

// An RSAVerifier verifies signatures of the kind that RSASigner makes. It is safe for concurrent
// use.
type RSAVerifier struct {
	Certificate *x509.Certificate // that contains the key; nil: the key had no certificate
	key         *rsa.PublicKey
}

// NewRSAVerifier reads a certificate or a public key (PKIX or PKCS #1) in PEM, or a public key
// (PKIX) in base64 without PEM lines. It does not check the issuer and the validity of a
// certificate.
func NewRSAVerifier(secret Secret) (*RSAVerifier, error) {
	text, err := secret.Resolve()
	if err != nil {
		return nil, err
	}
	var (
		v      = new(RSAVerifier)
		parsed any
	)
	switch der, kind := unarmour(text); kind {
	case "CERTIFICATE":
		if v.Certificate, err = x509.ParseCertificate(der); err == nil {
			parsed = v.Certificate.PublicKey
		}
	case "RSA PUBLIC KEY":
		parsed, err = x509.ParsePKCS1PublicKey(der)
	case "PUBLIC KEY", "":
		parsed, err = x509.ParsePKIXPublicKey(der)
	default: // perhaps a private key, so the error shows nothing of it
		return nil, errors.New("want a certificate or an RSA public key, in PEM")
	}
	if err != nil {
		return nil, errors.New("want a certificate or an RSA public key, in PEM")
	}
	key, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("the public key is not an RSA key")
	}
	if key.N.BitLen() < minRSA {
		return nil, fmt.Errorf("an RSA key of %d bits is too short: want %d or more", key.N.BitLen(), minRSA)
	}
	v.key = key
	return v, nil
}

// Serial returns the certificate's serial number in upper-case hex, without leading zeros; empty if
// there is no certificate.
func (v *RSAVerifier) Serial() string {
	if v.Certificate == nil {
		return ""
	}
	return upperHex(v.Certificate.SerialNumber.Bytes())
}

func upperHex(b []byte) string { return strings.ToUpper(hex.EncodeToString(b)) }

// Verify reports whether signature, in base64, is a valid signature of text.
func (v *RSAVerifier) Verify(text []byte, signature string) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return false
	}
	sum := sha256.Sum256(text)
	return rsa.VerifyPKCS1v15(v.key, crypto.SHA256, sum[:], raw) == nil
}

// unarmour decodes the first PEM block of a text, and returns its content and type. A text without
// a block is decoded as base64; then kind is empty. der is nil if that fails too.
func unarmour(text []byte) (der []byte, kind string) {
	if block, _ := pem.Decode(text); block != nil {
		return block.Bytes, block.Type
	}
	compact := strings.Join(strings.Fields(string(text)), "")
	der, err := base64.StdEncoding.DecodeString(compact)
	if err != nil {
		return nil, ""
	}
	return der, ""
}
