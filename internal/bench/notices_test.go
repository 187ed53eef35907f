package bench

import (
	"crypto/x509"
	"testing"
	"time"
)

// The bare loop does the whole work: it notices a wrong signature, and content that was encrypted otherwise.
func TestBareLoopVerifies(t *testing.T) {
	w, err := newWechat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	good, err := w.notice("000700000002", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	other, err := w.notice("000700000003", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if w.seal, err = newSealOf("another-key-of-the-api-32-chars-"); err != nil {
		t.Fatal(err)
	}
	unreadable, err := w.notice("000700000004", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		of   notice
		ok   bool
	}{
		{"as it was signed", good, true},
		{"the signature of another", notice{other.Header, good.Body}, false},
		{"encrypted with another key", unreadable, false},
	} {
		next, err := (&verify{Public: x509.MarshalPKCS1PublicKey(&w.key.PublicKey), Notices: []notice{tt.of}}).next()
		if err != nil {
			t.Fatal(err)
		}
		if err := next(); err == nil != tt.ok {
			t.Errorf("%s: %v; want ok %t", tt.name, err, tt.ok)
		}
	}
}
