package sign

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/keytest"
)

// The certificate, text and signature with which WeChat Pay tests its own SDK
// (wechatpay-go, core/auth/verifiers/sha256withrsa_verifier_test.go).
const (
	vectorCertificate = `-----BEGIN CERTIFICATE-----
MIIDVzCCAj+gAwIBAgIJAPV2V1YAL913MA0GCSqGSIb3DQEBCwUAMEIxCzAJBgNV
BAYTAlhYMRUwEwYDVQQHDAxEZWZhdWx0IENpdHkxHDAaBgNVBAoME0RlZmF1bHQg
Q29tcGFueSBMdGQwHhcNMjEwNDI3MDg0MDMyWhcNMzEwNDI1MDg0MDMyWjBCMQsw
CQYDVQQGEwJYWDEVMBMGA1UEBwwMRGVmYXVsdCBDaXR5MRwwGgYDVQQKDBNEZWZh
dWx0IENvbXBhbnkgTHRkMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA
2VCTd91fnUn73Xy9DLvt/V62TVxRTEEstVdeRaZ3B3leO0pldE806mXO4RwdHXag
HQ4vGeZN0yqm++rDsGK+U3AH7kejyD2pXshNP9Cq5YwbptiLGtjcquw4HNxJQUOm
DeJf2vg6byms9RUipiq4SzbJKqJFlUpbuIPDpSpWz10PYmyCNeDGUUK65E5h2B83
4uxl1zNLYQCrkdBzb8oUxwYeP5a2DNxmjL5lsJML7DGr5znsevnoqGRwTm9fxCGf
y8wus7hwKz6clt3Whmmda7UAdb1c08hEQFVRbF14AR73xbnd8N0obCWJPCbzMCtk
aSef4FdEEgEXJiw0VAJT8wIDAQABo1AwTjAdBgNVHQ4EFgQUT1c7nd/SUO76HSoZ
umNUJv1R5PwwHwYDVR0jBBgwFoAUT1c7nd/SUO76HSoZumNUJv1R5PwwDAYDVR0T
BAUwAwEB/zANBgkqhkiG9w0BAQsFAAOCAQEAM+tslqBxYwqL9fdvGG6hfy69sjfX
UhBtBLWYugKKQCOWWLeq5dDWm3i5Cx2Rgiy9uc7RfmJNxQfIKlcoCNP85BjDoG1B
YnVc6znlcrT9uHgseha3987WwZsFAQbcy8TLUYHzVB8gmDgq8O08xdIe0eczatI8
t3Rg8WXO6Gs66JJ4JR+rD01o3FiSOQCRWhn19NSyDydsgPlOR2t9B9L+MkJwlsMG
Krn85TnwL3qcInzRnU8X86faXXJrI0IJi44tECKw8ftngCl6vyNwNNKPDwdkcuuV
8y3iBixO5IuKxEKEp2wGPV/4W1AXO73Z3Gb7z/1oxdgeO0hVqz1hBasTCQ==
-----END CERTIFICATE-----`
	vectorSignature = "BKyAfU4iMCuvXMXS0Wzam3V/cnxZ+JaqigPM5OhljS2iOT95OO6Fsuml2JkFANJU9" +
		"K6q9bLlDhPXuoVz+pp4hAm6pHU4ld815U4jsKu1RkyaII+1CYBUYC8TK0XtJ8FwUXXz8vZHh58rrAVN1XwNyv" +
		"D1vfpxrMT4SL536GLwvpUHlCqIMzoZUguLli/K8V29QiOhuH6IEqLNJn8e9b3nwNcQ7be3CzYGpDAKBfDGPCq" +
		"Cv8Rw5zndhlffk2FEA70G4hvMwe51qMN/RAJbknXG23bSlObuTCN7Ndj1aJGH6/L+hdwfLpUtJm4QYVazzW7D" +
		"FD27EpSQEqA8bX9+8m1rLg=="
)

func TestRSAVector(t *testing.T) {
	v, err := NewRSAVerifier(NewSecret(vectorCertificate))
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Serial(); got != "F5765756002FDD77" {
		t.Errorf("Serial() = %s; want F5765756002FDD77", got)
	}
	for text, want := range map[string]bool{"source": true, "Source": false, "": false} {
		if got := v.Verify([]byte(text), vectorSignature); got != want {
			t.Errorf("Verify(%q) = %t; want %t", text, got, want)
		}
	}
	if v.Verify([]byte("source"), vectorSignature[:100]) || v.Verify([]byte("source"), "?") || v.Verify([]byte("source"), "") {
		t.Error("a signature that is none verifies")
	}
}

// A key in every usual form signs, and its public half in every usual form verifies.
func TestRSAForms(t *testing.T) {
	key := keytest.RSA()
	pkcs1, pkcs8, pkix := x509.MarshalPKCS1PrivateKey(key), keytest.Private(key), keytest.Public(key)
	wrapped := base64.StdEncoding.EncodeToString(pkcs8)
	wrapped = wrapped[:64] + "\r\n  " + wrapped[64:] + "\n"
	privates := []string{
		keytest.PEM("RSA PRIVATE KEY", pkcs1),
		keytest.PEM("PRIVATE KEY", pkcs8),
		base64.StdEncoding.EncodeToString(pkcs1),
		base64.StdEncoding.EncodeToString(pkcs8),
		wrapped,
	}
	publics := []string{
		keytest.PEM("PUBLIC KEY", pkix),
		keytest.PEM("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&key.PublicKey)),
		keytest.Certificate(key, x509.Certificate{SerialNumber: big.NewInt(0x0A0B)}),
		base64.StdEncoding.EncodeToString(pkix),
	}
	text := []byte("a=1&b=中文")
	for i, private := range privates {
		sign, err := RSASigner(NewSecret(private))
		if err != nil {
			t.Errorf("RSASigner of form %d: %v", i, err)
			continue
		}
		signature, err := sign(text)
		if err != nil {
			t.Fatal(err)
		}
		for j, public := range publics {
			v, err := NewRSAVerifier(NewSecret(public))
			if err != nil || !v.Verify(text, signature) || v.Verify(text[1:], signature) {
				t.Errorf("private key in form %d, public in form %d: %v; want the one text to verify", i, j, err)
			}
		}
	}
}

func TestRSARefuses(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	short := shortKey(t)
	private := keytest.PEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(keytest.RSA()))
	newVerifier := func(s Secret) error { _, err := NewRSAVerifier(s); return err }
	newSigner := func(s Secret) error { _, err := RSASigner(s); return err }
	for _, tt := range []struct {
		name, secret string
		read         func(Secret) error
		want         string
	}{
		{"no key", "", newSigner, "want an RSA private key"},
		{"no base64", "s3cret!", newSigner, "want an RSA private key"},
		{"base64 of something else", "czNjcmV0", newSigner, "want an RSA private key"},
		{"a certificate to sign with", vectorCertificate, newSigner, "want an RSA private key"},
		{"a broken key", keytest.PEM("RSA PRIVATE KEY", []byte("s3cret")), newSigner, "want an RSA private key"},
		{"another kind of key", keytest.PrivatePEM(ec), newSigner, "not an RSA key"},
		{"a short key", keytest.PEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(short)), newSigner, "1024 bits is too short"},
		{"a variable that is missing", "env:BELLMAN_TEST_UNSET", newSigner, "BELLMAN_TEST_UNSET is not set"},
		{"no public key", "", newVerifier, "want a certificate or an RSA public key"},
		{"a private key to verify with", private, newVerifier, "want a certificate or an RSA public key"},
		{"a broken certificate", keytest.PEM("CERTIFICATE", []byte("s3cret")), newVerifier, "want a certificate or an RSA public key"},
		{"another kind of public key", keytest.PublicPEM(ec), newVerifier, "not an RSA key"},
		{"a short public key", keytest.PublicPEM(short), newVerifier, "1024 bits is too short"},
		{"a variable that is missing", "env:BELLMAN_TEST_UNSET", newVerifier, "BELLMAN_TEST_UNSET is not set"},
	} {
		err := tt.read(NewSecret(tt.secret))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v; want %q, and nothing of the key", tt.name, err, tt.want)
		}
	}
}
