package sign

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/keytest"
)

// The text that people see is what the signature is over: signed with the secret, it gives the
// signature that Sign adds.
func TestText(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	key := keytest.RSA()
	private := keytest.PEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
	rsaSign, err := RSASigner(NewSecret(private))
	if err != nil {
		t.Fatal(err)
	}
	digest := func(key, text string) []byte {
		h := hmac.New(sha256.New, []byte(key))
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	decoded, err := base64.StdEncoding.DecodeString(secret[len("whsec_"):])
	if err != nil {
		t.Fatal(err)
	}
	filled := func(text string) string { return strings.Replace(text, Hidden, secret, 1) }
	tests := []struct {
		scheme, secret string
		sign           func(text string, h http.Header) string
	}{
		{StandardWebhooks, secret, func(text string, _ http.Header) string {
			return base64.StdEncoding.EncodeToString(digest(string(decoded), text))
		}},
		{TV1, secret, func(text string, _ http.Header) string { return hex.EncodeToString(digest(secret, text)) }},
		{MD5Params, secret, func(text string, _ http.Header) string { return fmt.Sprintf("%X", md5.Sum([]byte(filled(text)))) }},
		{RoncooMD5, secret, func(text string, _ http.Header) string { return fmt.Sprintf("%X", md5.Sum([]byte(filled(text)))) }},
		{HMACParams, secret, func(text string, _ http.Header) string { return fmt.Sprintf("%X", digest(secret, filled(text))) }},
		{RSA2, private, func(text string, _ http.Header) string { signature, _ := rsaSign([]byte(text)); return signature }},
		{WechatRSA, private, func(text string, h http.Header) string {
			signature, _ := rsaSign([]byte(strings.Replace(text, "NONCE", h.Get("Wechatpay-Nonce"), 1)))
			return signature
		}},
	}
	for _, tt := range tests {
		s := newSigner(t, tt.scheme, tt.secret)
		if s.Scheme() != tt.scheme {
			t.Errorf("Scheme() = %q; want %q", s.Scheme(), tt.scheme)
		}
		message := func() *Message {
			return &Message{ID: "0192f3a4-5b6c-7d8e-9f01-23456789abcd", Time: time.Unix(1614265330, 0), Header: http.Header{}, Body: []byte(`{"order_no":"1","sign":"old","amount":990}`)}
		}
		text, err := s.Text(message())
		if err != nil || strings.Contains(string(text), secret) {
			t.Errorf("%s: Text() = %q, %v; want a text without the secret", tt.scheme, text, err)
		}
		m := message()
		if err := s.Sign(m); err != nil {
			t.Fatal(err)
		}
		got := string(m.Body)
		for _, values := range m.Header {
			got += " " + values[0]
		}
		if want := tt.sign(string(text), m.Header); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nhas not the signature %s of the text %q", tt.scheme, got, want, text)
		}
	}
}

func TestSecretEqual(t *testing.T) {
	one, again, other := NewSecret("env:ONE"), NewSecret("env:ONE"), NewSecret("two")
	for _, tt := range []struct {
		a, b Secret
		want bool
	}{{one, again, true}, {one, other, false}, {one, Secret{}, false}, {Secret{}, one, false}, {Secret{}, Secret{}, true}, {Secret{}, NewSecret(""), true}} {
		if got := tt.a.Equal(tt.b); got != tt.want {
			t.Errorf("%v equals %v: %t; want %t", tt.a, tt.b, got, tt.want)
		}
	}
}
