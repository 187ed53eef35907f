package deliver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
)

func TestHeaderText(t *testing.T) {
	tests := []struct {
		name   string
		header http.Header
		want   string
	}{
		{"none", nil, ""},
		{"the telling ones first", http.Header{"Age": {"1"}, "X-Trace": {"a", "b"}, "Server": {"nginx"}, "Content-Type": {"text/html"}},
			"Content-Type: text/html\nServer: nginx\nAge: 1\nX-Trace: a, b\n"},
		{"credentials", http.Header{"Set-Cookie": {"sid=1"}, "X-Csrf-Token": {"2"}, "Authorization": {"3"}, "Authentication-Info": {"4"}, "X-Api-Key": {"5"},
			"Proxy-Authorization": {"6"}, "X-Session-Id": {"7"}, "Www-Authenticate": {`Basic realm="shop"`}}, "Www-Authenticate: Basic realm=\"shop\"\n"},
		{"a redirect", http.Header{"Location": {"https://user:pw@m.example/signin?ticket=1#x"}}, "Location: https://m.example/signin\n"},
		{"a redirect to nowhere", http.Header{"Location": {"https://m.example:no/?ticket=1"}}, ""},
		{"no text", http.Header{"Server": {"\x00a\xff\nb"}, "Via": {""}}, "Server:  a\uFFFD b\n"},
	}
	for _, tt := range tests {
		if got := headerText(tt.header); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	many := http.Header{"Server": {"nginx"}}
	for i := range 26 {
		many["X-Long-"+string(rune('a'+i))] = []string{strings.Repeat("v", 500)}
	}
	many["Z"] = []string{"fits"}
	if got := headerText(many); len(got) > bellman.MaxResponseHeader || !strings.HasPrefix(got, "Server: nginx\nX-Long-a: vvv") || !strings.HasSuffix(got, "\nZ: fits\n") {
		t.Errorf("a long header: %d bytes, %q", len(got), got)
	}
}

// The header is kept of every answer that is not accepted, and of no other.
func TestHeaderIsKept(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil
		w.Header().Set("Retry-After", "7")
		switch r.URL.Path {
		case "/busy":
			w.WriteHeader(503)
		case "/broken":
			w.Header().Set("Content-Length", "100")
		case "/accepted":
			w.Write([]byte("success"))
		}
	}))
	defer server.Close()
	h := newHandler(t, Options{AllowPrivate: true}, Rules{})
	for path, want := range map[string]string{
		"/busy": "Content-Length: 0\nRetry-After: 7\n", "/refused": "Content-Length: 0\nRetry-After: 7\n", "/broken": "Content-Length: 100\nRetry-After: 7\n", "/accepted": "",
	} {
		if v := h.Attempt(t.Context(), &bellman.Task{URL: server.URL + path}, 1); v.Header != want || v.Timing.FirstByte <= 0 {
			t.Errorf("%s: %v %d, %q after %v; want %q and the time of the first byte", path, v.Result, v.Status, v.Header, v.Timing.FirstByte, want)
		}
	}
}
