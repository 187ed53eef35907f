package bench

import (
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The bare loop does the whole work: it notices a wrong signature, and content that was encrypted
// otherwise.
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

// A sender sends what a channel does, over connections that stay open, and takes no answer but 204.
func TestSenderOfNotices(t *testing.T) {
	w, err := newWechat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n, err := w.notice("000700000002", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	status := http.StatusNoContent
	from := make(map[string]bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from[r.RemoteAddr] = true
		body, err := io.ReadAll(r.Body)
		r.Header.Del("Content-Length")
		if err != nil || string(body) != string(n.Body) || !reflect.DeepEqual(r.Header, n.Header) || r.URL.Path != "/notices/orders" {
			t.Errorf("%s %v, body %s, %v", r.URL, r.Header, body, err)
		}
		w.Header().Set("X-Request-Id", "1")
		w.WriteHeader(status)
		if status != http.StatusNoContent {
			io.WriteString(w, "it is not")
		}
	}))
	defer server.Close()
	s := newSender(server.Listener.Addr().String())
	defer s.close()
	for range 3 {
		if err := s.send(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
	}
	if len(from) != 1 {
		t.Errorf("%d connections, want 1", len(from))
	}
	status = http.StatusInternalServerError
	if err := s.send(t.Context(), &n); err == nil || !strings.Contains(err.Error(), "500") || !strings.Contains(err.Error(), "it is not") {
		t.Errorf("an answer 500: %v", err)
	}
}
