package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Profiles are only served to clients that address this machine directly, not to pages whose host
// name resolves to it.
func TestProfilesAreDirect(t *testing.T) {
	h := direct(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for host, want := range map[string]int{"127.0.0.1:6060": 204, "localhost:6060": 204, "[::1]:6060": 204, "evil.example": 403, "evil.example:6060": 403, "127.0.0.1.evil.example": 403} {
		r := httptest.NewRequest("GET", "/debug/pprof/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("host %s: %d; want %d", host, w.Code, want)
		}
	}
}
