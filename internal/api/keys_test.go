package api

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/access"
)

// Keys are replaced while the API is in use, and the stream of events of a removed key ends.
func TestKeysAreReplaced(t *testing.T) {
	m := make1(t, Options{Keys: []access.Key{{Name: "old", Role: access.Read, SHA256: hash("old-key")}}})
	s := httptest.NewServer(m)
	defer s.Close()
	get := func(path, key string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		answer, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	stream := get("/v1/events", "old-key")
	lines := bufio.NewScanner(stream.Body)
	if !lines.Scan() || lines.Text() != ": connected" {
		t.Fatalf("%d %q; want a stream", stream.StatusCode, lines.Text())
	}
	if err := m.SetKeys([]access.Key{{Name: "wrong", Role: "boss", SHA256: hash("x")}}); err == nil {
		t.Error("a role that there is not is taken")
	}
	if got := get("/v1/queues", "old-key").StatusCode; got != http.StatusOK {
		t.Errorf("after keys that are wrong: %d; want those that there were", got)
	}
	if err := m.SetKeys([]access.Key{{Name: "new", Role: access.Read, SHA256: hash("new-key")}}); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until it ends
	}
	for key, want := range map[string]int{"old-key": http.StatusUnauthorized, "new-key": http.StatusOK} {
		if got := get("/v1/queues", key).StatusCode; got != want {
			t.Errorf("%s: %d; want %d", key, got, want)
		}
	}
}

// A key that anybody would try first is refused.
func TestWeakKeysAreRefused(t *testing.T) {
	for _, text := range []string{"", "\n", "password", "secret", "admin"} {
		if err := access.Check([]access.Key{{Name: "oops", Role: access.Admin, SHA256: hash(text)}}); err == nil || !strings.Contains(err.Error(), "key oops: sha256: is the hash of ") {
			t.Errorf("the key %q: %v; want it refused", text, err)
		}
	}
}
