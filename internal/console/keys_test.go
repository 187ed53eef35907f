package console

import (
	"bufio"
	"crypto/sha256"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/access"
)

// Keys are replaced while people are signed in: a person whose key is gone is signed out, also from
// open pages, and a person with fewer rights is shown less.
func TestKeysAreReplaced(t *testing.T) {
	s := open(t, testKeys...)
	task := "/tasks/" + s.task(t).ID.String()
	s.signIn(t, "ops")
	if got := s.get(t, task); got.StatusCode != http.StatusOK || !strings.Contains(got.body, `name="action"`) {
		t.Fatalf("signed in: %d; want the task with its actions", got.StatusCode)
	}
	less := slices.Clone(testKeys)
	at := slices.IndexFunc(less, func(k access.Key) bool { return k.Name == "ops" })
	less[at].Role = access.Read
	if err := s.SetKeys(less); err != nil {
		t.Fatal(err)
	}
	if got := s.get(t, task); got.StatusCode != http.StatusOK || strings.Contains(got.body, `name="action"`) {
		t.Errorf("with the role read: %d; want the task without actions", got.StatusCode)
	}
	live, err := s.client.Get(s.server.URL + "/live?part=figures")
	if err != nil || live.StatusCode != http.StatusOK {
		t.Fatal(live, err)
	}
	defer live.Body.Close()
	lines := bufio.NewScanner(live.Body)
	lines.Scan() // it has begun
	if err := s.SetKeys([]access.Key{{Name: "", Role: access.Read}}); err == nil {
		t.Error("a key without a name is taken")
	}
	if got := s.get(t, task); got.StatusCode != http.StatusOK {
		t.Errorf("after keys that are wrong: %d; want those that there were", got.StatusCode)
	}
	if err := s.SetKeys(slices.Delete(less, at, at+1)); err != nil {
		t.Fatal(err)
	}
	if got := s.get(t, task); got.StatusCode != http.StatusSeeOther {
		t.Errorf("without the key: %d; want to be asked to sign in", got.StatusCode)
	}
	over := false
	for lines.Scan() {
		over = over || lines.Text() == "event: over"
	}
	if !over {
		t.Error("a page that is open does not hear that its session is over")
	}
}

// The hash of an empty key is refused, and an empty key signs nobody in, whatever keys there are.
func TestEmptyKeySignsNobodyIn(t *testing.T) {
	s := open(t, testKeys...)
	if err := s.SetKeys([]access.Key{{Name: "oops", Role: access.Admin, SHA256: hash("")}}); err == nil {
		t.Error("the hash of an empty key is taken")
	}
	s.keys.Store(&[]access.Key{{Name: "oops", Role: access.Admin, SHA256: sha256.Sum256(nil)}})
	for _, key := range []string{"", "  ", "\n"} {
		if got := s.post(t, "/signin", "/signin", "name", "oops", "key", key); got.StatusCode != http.StatusUnauthorized {
			t.Errorf("signing in with the key %q: %d; want 401", key, got.StatusCode)
		}
	}
}

// A key that has expired, is limited to queues or merchants, or comes from another address signs
// nobody in, and ends the sessions of whoever signed in with it.
func TestLimitedKeysSignNobodyIn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*access.Key)
		status int
		says   string
	}{
		{"expired", func(k *access.Key) { k.Expires = time.Now().Add(-time.Second) }, http.StatusUnauthorized, "This key has expired"},
		{"not yet expired", func(k *access.Key) { k.Expires = time.Now().Add(time.Hour) }, http.StatusSeeOther, ""},
		{"from elsewhere", func(k *access.Key) { k.From = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }, http.StatusForbidden, "may not be used from your address, 127.0.0.1"},
		{"from here", func(k *access.Key) { k.From = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }, http.StatusSeeOther, ""},
		{"of a queue", func(k *access.Key) { k.Scope.Queues = []string{"pay"} }, http.StatusForbidden, "limited to some queues or merchants"},
		{"of a merchant", func(k *access.Key) { k.Scope.Merchants = []string{"M1"} }, http.StatusForbidden, "limited to some queues or merchants"},
		{"of all merchants", func(k *access.Key) { k.Scope.Merchants = []string{"*"} }, http.StatusSeeOther, ""},
	} {
		s := open(t, testKeys...)
		s.signIn(t, "ops")
		keys := slices.Clone(testKeys)
		tt.change(&keys[slices.IndexFunc(keys, func(k access.Key) bool { return k.Name == "ops" })])
		if err := s.SetKeys(keys); err != nil {
			t.Fatal(err)
		}
		good := tt.status == http.StatusSeeOther
		if got := s.get(t, "/tasks"); (got.StatusCode == http.StatusOK) != good {
			t.Errorf("%s: a session of the key gets %d; want it to go on: %t", tt.name, got.StatusCode, good)
		}
		s.client = s.browser(t)
		if got := s.post(t, "/signin", "/signin", "name", "ops", "key", "ops-key"); got.StatusCode != tt.status || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s: signing in: %d; want %d and %q", tt.name, got.StatusCode, tt.status, tt.says)
		}
		if good {
			continue
		}
		if got := s.post(t, "/signin", "/signin", "name", "ops", "key", "wrong-key"); got.StatusCode != http.StatusUnauthorized || strings.Contains(got.body, tt.says) {
			t.Errorf("%s: a wrong key is told about the right one: %d", tt.name, got.StatusCode)
		}
	}
}
